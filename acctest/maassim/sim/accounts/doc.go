// Package accounts has the operations on users and on what is theirs: API keys,
// SSH keys and certificates.
package accounts

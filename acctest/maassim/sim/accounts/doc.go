// Package accounts has the operations on users, API keys, SSH keys and certificates.
package accounts

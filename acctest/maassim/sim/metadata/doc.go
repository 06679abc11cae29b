// Package metadata is MAAS's metadata service, which deployed machines ask at
// their first boot and report to, and what the installer leaves them for it.
package metadata

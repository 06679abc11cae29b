// Package boot runs user-data as cloud-init does on the first boot of a machine:
// cloud-configs, MIME multi-parts, archives and scripts, which a small shell runs. It does
// not touch the computer that it runs on. The result is an [LXD].
package boot

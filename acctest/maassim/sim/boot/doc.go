// Package boot runs user-data as cloud-init does on the first boot of a
// machine: cloud-configs, MIME multi-parts and archives, and scripts, by a
// little shell. Nothing of it touches the computer that it runs on. [LXD] is
// what comes of it.
package boot

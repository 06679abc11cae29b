// Package e2elxd proves the first boot of LXD hosts with the real programs.
//
// Its tests begin where a user begins: with a host's spec. The engine deploys
// the host on a simulated MAAS, whose machines are containers. Each container
// boots systemd and cloud-init from a small Debian image. It finds its
// metadata, its network and its user-data as MAAS's installer leaves them, and
// sets up Debian's LXD accordingly. The tests look at the result from outside:
// over LXD's HTTPS API, with the client certificate that LXD was told to trust.
//
//	make e2e-lxd
//	go test ./acctest/e2elxd -e2e -v
//
// It needs root on Debian and the packages that "make e2e-lxd" installs.
// Everything runs in namespaces of its own, with a network of its own. So
// nothing is left behind however it ends.
//
// Three parts are not real. snapd cannot run in such a container: a stand-in
// with its command line installs LXD where a test wants that. Debian has no
// kubeadm: a stand-in records its call. MAAS's installer does not run.
package e2elxd

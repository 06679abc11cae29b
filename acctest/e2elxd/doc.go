// Package e2elxd proves the first boot of LXD hosts with the real programs.
//
// Its tests begin where a user does, with a host's spec. The engine brings it
// about on a simulated MAAS, whose machines are containers: each boots systemd
// and cloud-init from a small Debian image, finds its metadata, its network and
// its user-data as MAAS's installer leaves them, and makes of Debian's LXD what
// was asked for. What came of it is seen from outside, over LXD's HTTPS API,
// with the client certificate that was to be trusted.
//
//	make e2e-lxd
//	go test ./acctest/e2elxd -e2e -v
//
// It needs root on Debian and the packages that "make e2e-lxd" installs. All of
// it runs in namespaces of its own, with a network of its own, so nothing is
// left behind however it ends.
//
// Not real are snapd, which cannot run in such a container (a stand-in with its
// command line installs LXD where a test wants that), kubeadm, which Debian does
// not have (a stand-in records its call), and the installer's own work.
package e2elxd

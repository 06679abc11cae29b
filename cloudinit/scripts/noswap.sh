#!/bin/sh
# Written by maaslxd: a kubelet does not start on a machine with swap.
swapoff -a || :
if [ -f /etc/fstab ]; then
	sed -i -E '/^[^#]\S*\s+\S+\s+swap\s/s/^/#/' /etc/fstab
fi
rm -f /swap.img
systemctl mask swap.target >/dev/null 2>&1 || :

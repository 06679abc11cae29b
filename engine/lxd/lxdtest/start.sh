# Becomes an LXD in namespaces of its own: what it mounts and makes goes with
# it. The argument is its folder; "machine" in it, where there is one, is the
# hardware that LXD is to see.
set -eu
folder=$1
mkdir "$folder/lxd" "$folder/cgroup" "$folder/pools"
# LXD reads interfaces from /sys, which shows those of who mounted it.
mount --rbind /sys/fs/cgroup "$folder/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$folder/cgroup" /sys/fs/cgroup
if [ -d "$folder/machine" ]; then
	for part in cpu memory node; do
		mount --bind "$folder/machine/$part" "/sys/devices/system/$part"
	done
	mount --bind "$folder/machine/meminfo" /proc/meminfo
fi
# LXD makes VMs only where /dev/kvm is, those that are never started too. qemu does
# without it: see exec.sh.
if ! [ -e /dev/kvm ]; then
	mkdir "$folder/dev"
	mount --rbind /dev "$folder/dev"
	mount -t tmpfs -o mode=755 tmpfs /dev
	find "$folder/dev" -mindepth 1 -maxdepth 1 ! -type d -exec cp -a -t /dev {} +
	for below in $(find "$folder/dev" -mindepth 1 -maxdepth 1 -type d); do
		mkdir "/dev/${below##*/}"
		mount --rbind "$below" "/dev/${below##*/}"
	done
	: >/dev/kvm
fi
ip link set lo up
PATH=$folder/bin:$PATH LXD_EXEC_PATH=$folder/bin/lxd-exec LXD_DIR=$folder/lxd exec lxd --group root --logfile "$folder/lxd.log"

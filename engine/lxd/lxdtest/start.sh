# Becomes an LXD in namespaces of its own: what it mounts and makes goes with
# it. The first argument is its folder, the others are bridges of its machine.
set -eu
folder=$1
shift
mkdir "$folder/lxd" "$folder/cgroup"
# LXD reads interfaces from /sys, which shows those of who mounted it.
mount --rbind /sys/fs/cgroup "$folder/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$folder/cgroup" /sys/fs/cgroup
ip link set lo up
for bridge in "$@"; do
	ip link add "$bridge" type bridge
	ip link set "$bridge" up
done
LXD_DIR=$folder/lxd exec lxd --group root --logfile "$folder/lxd.log"

# cloud-init runs this at every boot, before the network and snapd are up. So
# the first time it leaves the work to a unit between two of cloud-init's
# stages: after "config", in which MAAS's vendor-data tells snapd of the proxy;
# before "final", in which cloud-init's module for LXD applies the preseed.
instance=${0%/*}/..
done_once=$instance/sem/maaslxd_lxd

# keep_made_pools: LXD forgets by which disk a pool was made, and would refuse
# the same preseed a second time. Where all such pools are there, cloud-init is
# told that its module has run: this is its own mark.
keep_made_pools() {
	[ -n "$DISK_POOLS" ] || return 0
	for pool in $DISK_POOLS; do
		has_pool "${pool%:*}" "${pool#*:}" || return 0
	done
	say "the pools on disks exist: the preseed was applied before"
	: >"$instance/sem/config_lxd"
}

# spare_disks: an LXD that cannot be told to wipe a disk (before 5.21) has ZFS take
# it by force, whatever it carries. Where it carries something, cloud-init is told
# that its module has run, so that LXD is told of no disk; the last script fails,
# with the reason that is left here.
spare_disks() {
	[ -n "$ZFS_DISKS" ] || return 0
	! lxc query /1.0 | grep -q '"storage_pool_source_wipe"' || return 0
	for pool in $ZFS_DISKS; do
		disk=${pool#*:}
		[ -e "$disk" ] || continue
		! has_pool "${pool%%:*}" zfs || continue
		found=$(wipefs --noheadings --output TYPE "$disk" 2>&1) || found="what nobody can tell: $found"
		[ -n "$found" ] || continue
		refusal="$disk carries $(echo "$found" | tr '\n' ' ')and LXD before 5.21 would overwrite it; empty it with wipefs --all, or take the channel 5.21/stable"
		say "$refusal"
		echo "$refusal" >"$instance/sem/maaslxd_refusal"
		: >"$instance/sem/config_lxd"
	done
}

case ${1:-} in
install)
	ensure_lxd
	await_lxd
	keep_made_pools
	spare_disks
	: >"$done_once"
	;;
*)
	[ ! -e "$done_once" ] || exit 0
	mkdir -p "$instance/sem"
	systemd-run --no-block --unit=maaslxd-lxd \
		--description='LXD for MAAS, before cloud-init configures it' \
		--property=Type=oneshot --property=TimeoutStartSec=1800 \
		--property='After=network-online.target snapd.seeded.service cloud-config.service' \
		--property=Before=cloud-final.service \
		--property=StandardOutput=append:/var/log/cloud-init-output.log \
		--property=StandardError=append:/var/log/cloud-init-output.log \
		/bin/sh "$0" install
	;;
esac

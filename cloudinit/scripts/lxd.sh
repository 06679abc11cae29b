# Both scripts begin with this. CHANNEL is set above.
PATH=$PATH:/snap/bin
export PATH

say() { echo "maaslxd: $*"; }

fail() {
	echo "maaslxd: $*" >&2
	report "$*" || true
	exit 1
}

# report SENTENCE: MAAS keeps it in the machine's event log, where cloud-init
# was told to report to it. cloud-init itself would name no more than the
# script. MAAS takes ASCII only, and a name with a slash for no whole stage.
report() {
	command -v python3 >/dev/null || return 0
	timeout 60 python3 - "$1" >/dev/null 2>&1 <<'PYTHON'
import sys
from cloudinit import reporting, util
from cloudinit.reporting import events
reporting.update_configuration(util.read_conf_with_confd("/etc/cloud/cloud.cfg").get("reporting") or {})
sentence = ("maaslxd: " + sys.argv[1]).encode("ascii", "replace").decode()
events.report_finish_event("modules-final/maaslxd", sentence, events.status.FAIL)
getattr(reporting, "flush_events", lambda: None)()
PYTHON
}

# retry COMMAND...: the store, or the network behind it, may not be there yet;
# snapd may be busy with the same snap.
retry() {
	tries=1
	until "$@"; do
		[ "$tries" -lt 5 ] || return 1
		tries=$((tries + 1))
		sleep 15
	done
}

# ensure_lxd: LXD is there, from CHANNEL. What runs instances is not touched:
# another channel restarts LXD, and cannot always be left again.
ensure_lxd() {
	if ! command -v snap >/dev/null; then
		command -v lxd >/dev/null || fail "this image has neither snapd nor LXD; deploy one with snapd, such as Ubuntu's"
		say "there is no snapd: LXD stays as it is"
		return
	fi
	snap wait system seed.loaded
	if ! snap list lxd >/dev/null 2>&1; then
		say "installing LXD from $CHANNEL"
		retry snap install lxd --channel="$CHANNEL" || fail "cannot install LXD from $CHANNEL: is the snap store, or its proxy, within reach?"
		return
	fi
	tracking=$(snap list lxd | awk 'NR > 1 { print $4 }')
	[ "$tracking" != "$CHANNEL" ] || return 0
	await_lxd
	instances=$(lxc query '/1.0/instances?recursion=1&all-projects=true') || fail "cannot list LXD's instances"
	if printf '%s\n' "$instances" | grep -q '"status": *"Running"'; then
		say "LXD stays at $tracking instead of $CHANNEL: it runs instances"
		return
	fi
	say "refreshing LXD from $tracking to $CHANNEL"
	retry snap refresh lxd --channel="$CHANNEL" || fail "cannot refresh LXD from $tracking to $CHANNEL; going back to an older LXD is not possible"
}

await_lxd() {
	lxd waitready --timeout=300 || fail "LXD did not answer within 300 s"
}

# has_pool NAME DRIVER: there is such a pool.
has_pool() {
	lxc query "/1.0/storage-pools/$1" 2>/dev/null | grep -q "\"driver\": *\"$2\""
}

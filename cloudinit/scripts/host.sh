# Runs last, once. It adds what a preseed cannot carry, and fails where
# cloud-init has not done what it was told: cloud-init itself can end "done"
# with LXD as it was.

# want_pool NAME DRIVER
want_pool() {
	has_pool "$1" "$2" || fail "there is no storage pool $1 of the driver $2: $preseed_failed"
}

# want_network NAME: LXD made this bridge.
want_network() {
	lxc query "/1.0/networks/$1" 2>/dev/null | grep -q '"managed": *true' || fail "LXD has no network $1 of its own: $preseed_failed"
}

# want_project NAME
want_project() {
	lxc query "/1.0/projects/$1" >/dev/null 2>&1 || fail "there is no project $1: $preseed_failed"
}

# want_listening
want_listening() {
	[ -n "$(lxc config get core.https_address)" ] || fail "LXD does not listen on the network: $preseed_failed"
}

# want_interface NAME WHOSE: LXD takes a profile whose bridge does not exist.
want_interface() {
	waited=0
	until ip link show dev "$1" >/dev/null 2>&1; do
		[ "$waited" -lt 120 ] || fail "there is no interface $1 after 120 s: $2"
		waited=$((waited + 2))
		sleep 2
	done
}

# ensure_profile NAME PROJECT: the profile from standard input, unless one with
# devices is there. A new project has an empty one named default. Newer lxc read
# standard input in more commands than one, so only the last gets it.
ensure_profile() {
	if ! found=$(lxc query "/1.0/profiles/$1?project=$2" 2>/dev/null </dev/null); then
		lxc profile create "$1" --project "$2" </dev/null || fail "cannot make the profile $1 in the project $2"
	elif ! printf '%s\n' "$found" | grep -q '"devices": *{}'; then
		say "the profile $1 stays as it is"
		return
	fi
	lxc profile edit "$1" --project "$2" || fail "cannot write the profile $1 in the project $2"
}

# ensure_trust FINGERPRINT PROJECT: the certificate from standard input is
# trusted, for the project alone.
ensure_trust() {
	if found=$(lxc query "/1.0/certificates/$1" 2>/dev/null </dev/null); then
		printf '%s\n' "$found" | grep -q '"restricted": *true' || say "the certificate $1 is trusted without restriction, and stays so"
		return
	fi
	lxc config trust add - --name "maaslxd-$(printf %.12s "$1")" --restricted --projects "$2" || fail "cannot trust the certificate $1"
	say "trusts the certificate $1 for the project $2"
}

# In our own words, where it was not tried; else in LXD's, where cloud-init noted
# them: it goes on when the preseed fails.
refusal=$(cat "${0%/*}/../sem/maaslxd_refusal" 2>/dev/null || awk '/^Command: .*lxd.*init.*--preseed/ { lxd = 1 }
	lxd && sub(/^Stderr: (Error: )?/, "") { last = $0; lxd = 0 }
	sub(/.*failed to install packages/, "cannot install") { sub(/: .*/, ""); last = $0 }
	END { print last }' /var/log/cloud-init.log 2>/dev/null) || refusal=""
preseed_failed="the preseed was not applied: ${refusal:-/var/log/cloud-init.log says why}"

package cloudinit

import (
	"strconv"
	"strings"
)

// IsTooNewForMAAS tells whether a channel brings, or will one day bring, an LXD on
// which MAAS cannot compose; an empty one is DefaultChannel. MAAS up to 3.8, the
// last that has VM hosts, sends security.secureboot with each VM
// (provisioningserver/drivers/pod/lxd.py), which LXD refuses from 6.7 on. The
// tracks 6 and latest move past that. Validate takes such a channel: the host
// works, but for new VMs of MAAS.
func IsTooNewForMAAS(channel string) bool {
	major, minor, ok := parseTrack(channel)
	if !ok {
		return strings.HasPrefix(channel, "latest/")
	}
	return major > 6 || major == 6 && (minor == movingMinor || minor >= 7)
}

// isTooOldForMAAS tells whether a channel brings an LXD that MAAS refuses: its driver
// wants extensions that came with 4.16 (provisioningserver/drivers/pod/lxd.py).
func isTooOldForMAAS(channel string) bool {
	major, minor, ok := parseTrack(channel)
	return ok && (major < 4 || major == 4 && minor != movingMinor && minor < 16)
}

// movingMinor is the minor version of a track that goes on to the next one.
const movingMinor = -1

// parseTrack reads the version in a channel, if its track is one.
func parseTrack(channel string) (major, minor int, ok bool) {
	track, _, _ := strings.Cut(valueOr(channel, DefaultChannel), "/")
	majorText, minorText, _ := strings.Cut(track, ".")
	major, err := strconv.Atoi(majorText)
	if err != nil {
		return 0, 0, false
	}
	if minor, err = strconv.Atoi(minorText); err != nil {
		minor = movingMinor
	}
	return major, minor, true
}

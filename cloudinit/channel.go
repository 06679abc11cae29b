package cloudinit

import (
	"strconv"
	"strings"
)

// IsTooNewForMAAS reports whether a channel has, or will have, an LXD on which MAAS cannot
// compose. An empty channel is DefaultChannel.
//
// MAAS up to 3.8, the last with VM hosts, sends security.secureboot with each VM
// (provisioningserver/drivers/pod/lxd.py). LXD refuses that from 6.7 on, and the tracks 6
// and latest move past 6.7. Validate accepts such a channel: only new VMs of MAAS fail on
// the host.
func IsTooNewForMAAS(channel string) bool {
	major, minor, ok := parseTrack(channel)
	if !ok {
		return strings.HasPrefix(channel, "latest/")
	}
	return major > 6 || major == 6 && (minor == movingMinor || minor >= 7)
}

// isTooOldForMAAS reports whether a channel has an LXD that MAAS refuses: its driver needs
// extensions that came with 4.16 (provisioningserver/drivers/pod/lxd.py).
func isTooOldForMAAS(channel string) bool {
	major, minor, ok := parseTrack(channel)
	return ok && (major < 4 || major == 4 && minor != movingMinor && minor < 16)
}

// movingMinor is the minor version of a track that follows new minor versions.
const movingMinor = -1

// parseTrack returns the version in a channel. ok is false if the track is no version.
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

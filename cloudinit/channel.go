package cloudinit

import (
	"strconv"
	"strings"
)

// OutrunsMAAS tells whether a channel brings, or will one day bring, an LXD on
// which MAAS cannot compose; an empty one is DefaultChannel. MAAS up to 3.8, the
// last that has VM hosts, sends security.secureboot with each VM
// (provisioningserver/drivers/pod/lxd.py), which LXD refuses from 6.7 on. The
// tracks 6 and latest move past that. Validate takes such a channel: the host
// works, but for new VMs of MAAS.
func OutrunsMAAS(channel string) bool {
	major, minor, ok := trackOf(channel)
	if !ok {
		return strings.HasPrefix(channel, "latest/")
	}
	return major > 6 || major == 6 && (minor == moving || minor >= 7)
}

// tooOld tells whether a channel brings an LXD that MAAS refuses: its driver
// wants extensions that came with 4.16 (provisioningserver/drivers/pod/lxd.py).
func tooOld(channel string) bool {
	major, minor, ok := trackOf(channel)
	return ok && (major < 4 || major == 4 && minor != moving && minor < 16)
}

// moving is the minor version of a track that goes on to the next one.
const moving = -1

// trackOf reads the version in a channel, if its track is one.
func trackOf(channel string) (major, minor int, ok bool) {
	track, _, _ := strings.Cut(or(channel, DefaultChannel), "/")
	majorText, minorText, _ := strings.Cut(track, ".")
	major, err := strconv.Atoi(majorText)
	if err != nil {
		return 0, 0, false
	}
	if minor, err = strconv.Atoi(minorText); err != nil {
		minor = moving
	}
	return major, minor, true
}

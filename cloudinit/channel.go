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
	track, _, _ := strings.Cut(or(channel, DefaultChannel), "/")
	majorText, minorText, fixed := strings.Cut(track, ".")
	major, err := strconv.Atoi(majorText)
	if err != nil {
		return track == "latest"
	}
	minor, err := strconv.Atoi(minorText)
	return major > 6 || major == 6 && (!fixed || err != nil || minor >= 7)
}

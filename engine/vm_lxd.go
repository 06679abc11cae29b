package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TooNew tells that MAAS cannot make VMs on the host: it sends
// security.secureboot with each VM (provisioningserver/drivers/pod/lxd.py, up
// to MAAS 3.8), which LXD refuses from 6.7 on.
func (h VMHost) TooNew() bool {
	major, rest, _ := strings.Cut(h.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(major)
	n, _ := strconv.Atoi(minor)
	return err == nil && (m > 6 || m == 6 && n >= 7)
}

// unusable says why MAAS can make no VM at all on the host; empty: it can.
func (h VMHost) unusable() string {
	if !h.TooNew() {
		return ""
	}
	return fmt.Sprintf("MAAS cannot make VMs on LXD %s", h.Version)
}

// usable refuses a named host that placement would pass over.
func (h VMHost) usable() error {
	why := h.unusable()
	if why == "" {
		return nil
	}
	return &SpecError{
		Field: "vm_host", Message: fmt.Sprintf("VM host %s: %s, which refuses what MAAS up to 3.8 sends", h.Name, why),
		Hint: fmt.Sprintf("Choose another VM host, or install LXD from %s there.", cloudinit.DefaultChannel), Err: ErrConflict,
	}
}

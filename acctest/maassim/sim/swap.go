package sim

import (
	"slices"
	"strconv"
	"strings"
)

// readSwapSize reads swap_size, in bytes or with a suffix; nil: it is not given
// (forms/__init__.py, NodeForm.clean_swap_size).
func (c *call) readSwapSize(errs formErrors) *int64 {
	text := c.field("swap_size")
	if text == "" {
		return nil
	}
	unit := int64(1)
	for suffix, bytes := range map[string]int64{"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = number, bytes
		}
	}
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		errs.add("swap_size", "Invalid size for swap: "+c.field("swap_size"))
		return nil
	}
	size *= unit
	return &size
}

// makesSwap tells whether what boots after a deployment has swap. MAAS leaves it
// to curtin, which makes /swap.img, unless swap_size is 0; and it passes swap_size
// on for Ubuntu only (preseed.py). What runs from memory has none, and a script of
// the user-data may turn it off.
func (m *machine) makesSwap() bool {
	if m.ephemeral || m.osystem == "ubuntu" && m.swapSize != nil && *m.swapSize == 0 {
		return false
	}
	parts, _ := readParts(m.userData)
	return !slices.ContainsFunc(parts, func(p part) bool { return strings.Contains(p.text, "swapoff -a") })
}

// Package pci gives the devices of a VM their PCI ports, as LXD does.
package pci

import (
	"fmt"
	"maps"
	"slices"
)

const (
	// firstPort is the PCI port of a VM's first device, and sparePorts are those that it has for
	// devices that come while it runs (lxd/instance/drivers/driver_qemu.go, qemuPCIDeviceIDStart and
	// generateQemuConfigFile).
	firstPort  = 4
	sparePorts = 4
)

// Ports are the PCI ports of a VM that runs, by the names of its devices. The zero value is that
// of a VM whose ports nobody needed to know since its start.
type Ports struct {
	of  map[string]int
	end int // the first one that it does not have
}

// portsOf are the ports that devices have after a start: in the order of their names.
func portsOf(devices map[string]map[string]string) Ports {
	p := Ports{of: map[string]int{}, end: firstPort}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		if slices.Contains([]string{"gpu", "nic", "pci"}, devices[name]["type"]) {
			p.of[name] = p.end
			p.end++
		}
	}
	p.end += sparePorts
	return p
}

// Change unplugs the NICs that go from a VM that runs, and plugs those in that come. A NIC takes the
// port by its place among the names of all NICs, as if the VM had started with them (driver_qemu.go,
// deviceAttachNIC). The name of the first NIC for which there is none is told, with LXD's words.
func (p Ports) Change(before, after map[string]map[string]string) (now Ports, name, problem string) {
	if p.of == nil {
		p = portsOf(before)
	}
	now = Ports{of: maps.Clone(p.of), end: p.end}
	for name, d := range before {
		if d["type"] == "nic" && !maps.Equal(d, after[name]) {
			delete(now.of, name)
		}
	}
	port := firstPort
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name]["type"] != "nic" {
			continue
		}
		if _, isPlugged := now.of[name]; !isPlugged {
			if problem := now.problem(port); problem != "" {
				return p, name, problem
			}
			now.of[name] = port
		}
		port++
	}
	return now, "", ""
}

// problem is QEMU's word against a device at a port.
func (p Ports) problem(port int) string {
	if port >= p.end {
		return "Bus not found"
	}
	for device, taken := range p.of {
		if taken == port {
			return fmt.Sprintf("PCI: slot 0 function 0 not available for virtio-net-pci, in use by %s", device)
		}
	}
	return ""
}

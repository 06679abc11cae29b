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
	portByDevice map[string]int
	portLimit    int // the first one that it does not have
}

// portsOf are the ports that devices have after a start: in the order of their names.
func portsOf(devices map[string]map[string]string) Ports {
	p := Ports{portByDevice: map[string]int{}, portLimit: firstPort}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		if slices.Contains([]string{"gpu", "nic", "pci"}, devices[name]["type"]) {
			p.portByDevice[name] = p.portLimit
			p.portLimit++
		}
	}
	p.portLimit += sparePorts
	return p
}

// Replug unplugs the NICs that go from a VM that runs, and plugs those in that come. A NIC takes the
// port by its place among the names of all NICs, as if the VM had started with them (driver_qemu.go,
// deviceAttachNIC). The name of the first NIC for which there is none is told, with LXD's words.
func (p Ports) Replug(before, after map[string]map[string]string) (now Ports, name, problem string) {
	if p.portByDevice == nil {
		p = portsOf(before)
	}
	now = Ports{portByDevice: maps.Clone(p.portByDevice), portLimit: p.portLimit}
	for name, d := range before {
		if d["type"] == "nic" && !maps.Equal(d, after[name]) {
			delete(now.portByDevice, name)
		}
	}
	port := firstPort
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name]["type"] != "nic" {
			continue
		}
		if _, isPlugged := now.portByDevice[name]; !isPlugged {
			if problem := now.plugProblem(port); problem != "" {
				return p, name, problem
			}
			now.portByDevice[name] = port
		}
		port++
	}
	return now, "", ""
}

// plugProblem is QEMU's word against a device at a port.
func (p Ports) plugProblem(port int) string {
	if port >= p.portLimit {
		return "Bus not found"
	}
	for device, taken := range p.portByDevice {
		if taken == port {
			return fmt.Sprintf("PCI: slot 0 function 0 not available for virtio-net-pci, in use by %s", device)
		}
	}
	return ""
}

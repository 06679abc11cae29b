// Package pci assigns PCI ports to the devices of a VM, as LXD does.
package pci

import (
	"fmt"
	"maps"
	"slices"
)

const (
	// firstPort is the PCI port of a VM's first device. sparePorts are the ports for
	// devices that are added while it runs (lxd/instance/drivers/driver_qemu.go,
	// qemuPCIDeviceIDStart and generateQemuConfigFile).
	firstPort  = 4
	sparePorts = 4
)

// Ports are the PCI ports of a running VM, by device name. The zero value means that the
// ports were not needed since the VM's start.
type Ports struct {
	portByDevice map[string]int
	portLimit    int // the first port that does not exist
}

// portsOf are the ports after a start, which follow the order of the device names.
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

// Replug unplugs removed NICs from a running VM and plugs in new ones. A new NIC gets the
// port of its position among the names of all NICs, as if the VM had started with them
// (driver_qemu.go, deviceAttachNIC). If a port is missing, it returns the name of the
// first such NIC and LXD's message.
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

// plugProblem is QEMU's message if it cannot plug a device into a port.
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

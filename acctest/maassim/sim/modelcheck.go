package sim

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// withDefaults fills in the fields that a model leaves empty.
func (m Model) withDefaults() Model {
	m.MAASVersion = cmp.Or(m.MAASVersion, Version34)
	m.AdminKey = cmp.Or(m.AdminKey, DefaultAdminKey)
	m.UserKey = cmp.Or(m.UserKey, DefaultUserKey)
	if m.Images == nil {
		m.Images = []string{"ubuntu/jammy", "ubuntu/noble"}
	}
	if len(m.Architectures) == 0 {
		m.Architectures = []string{"amd64"}
	}
	if len(m.Subnets) == 0 {
		m.Subnets = []SubnetModel{{DHCP: true}}
	}
	m.Subnets = slices.Clone(m.Subnets)
	for i := range m.Subnets {
		m.Subnets[i].CIDR = cmp.Or(m.Subnets[i].CIDR, fmt.Sprintf("10.77.%d.0/24", i))
		m.Subnets[i].Name = cmp.Or(m.Subnets[i].Name, m.Subnets[i].CIDR)
	}
	m.Hosts = slices.Clone(m.Hosts)
	for i := range m.Hosts {
		m.Hosts[i] = m.Hosts[i].withDefaults(i)
	}
	m.Machines = slices.Clone(m.Machines)
	for i := range m.Machines {
		m.Machines[i] = m.Machines[i].withDefaults()
	}
	return m
}

func (h HostModel) withDefaults(i int) HostModel {
	h.Zone, h.Pool = cmp.Or(h.Zone, "default"), cmp.Or(h.Pool, "default")
	h.Project = cmp.Or(h.Project, "default")
	h.Architecture = cmp.Or(h.Architecture, world.DefaultArchitecture)
	h.Address = cmp.Or(h.Address, fmt.Sprintf("https://10.200.%d.%d:8443", i/250, i%250+2))
	h.LXDVersion = cmp.Or(h.LXDVersion, "5.21.3")
	h.OSystem, h.Series = cmp.Or(h.OSystem, "ubuntu"), cmp.Or(h.Series, "jammy")
	h.CPUOvercommit, h.MemoryOvercommit = cmp.Or(h.CPUOvercommit, 1), cmp.Or(h.MemoryOvercommit, 1)
	if len(h.StoragePools) == 0 {
		h.StoragePools = []StoragePoolModel{{Name: "default", SizeGB: 500}}
	}
	h.StoragePools = slices.Clone(h.StoragePools)
	for i, p := range h.StoragePools {
		p.Driver = cmp.Or(p.Driver, "zfs")
		p.SizeBytes = cmp.Or(p.SizeBytes, p.SizeGB*1e9)
		h.StoragePools[i] = p
	}
	if !slices.ContainsFunc(h.StoragePools, func(p StoragePoolModel) bool { return p.Default }) {
		h.StoragePools[0].Default = true
	}
	return h
}

func (m MachineModel) withDefaults() MachineModel {
	m.Cores, m.MemoryMiB = cmp.Or(m.Cores, 4), cmp.Or(m.MemoryMiB, 8192)
	m.DiskGB = cmp.Or(m.DiskGB, 100)
	m.Status, m.Architecture = cmp.Or(m.Status, "Ready"), cmp.Or(m.Architecture, world.DefaultArchitecture)
	m.Zone, m.Pool, m.Domain = cmp.Or(m.Zone, "default"), cmp.Or(m.Pool, "default"), cmp.Or(m.Domain, "maas")
	return m
}

// check finds contradictions in a model with defaults. The error names the field.
func (m Model) check() error {
	if !versions.IsKnown(m.MAASVersion) {
		return fmt.Errorf("maas_version: %q is not one of %s", m.MAASVersion, strings.Join(versions.Names(), ", "))
	}
	for name, d := range m.Latency.durations() {
		if *d < 0 {
			return fmt.Errorf("latency.%s: %v is negative", name, *d)
		}
	}
	if l := m.Latency; l.FirstBootMost != 0 && l.FirstBootMost < l.FirstBoot {
		return fmt.Errorf("latency.first_boot_most: %v is shorter than first_boot, %v", l.FirstBootMost, l.FirstBoot)
	}
	for _, check := range []func() error{m.RandomFaults.check, m.checkLXDListen, m.checkKeys, m.checkNames, m.checkSubnets, m.checkHosts, m.checkMachines} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (m Model) checkKeys() error {
	for field, key := range map[string]string{"admin_key": m.AdminKey, "user_key": m.UserKey} {
		parts := strings.Split(key, ":")
		if len(parts) != 3 || slices.Contains(parts, "") {
			return fmt.Errorf("%s: want consumer:token:secret", field)
		}
	}
	if strings.Split(m.AdminKey, ":")[1] == strings.Split(m.UserKey, ":")[1] {
		return errors.New("user_key: has the token of admin_key")
	}
	return nil
}

func (m Model) checkNames() error {
	for field, names := range map[string][]string{"zones": slices.Concat(m.Zones, []string{"default"}), "pools": slices.Concat(m.Pools, []string{"default"}), "domains": slices.Concat(m.Domains, []string{"maas"}), "tags": m.Tags, "images": m.Images, "architectures": m.Architectures} {
		seen := map[string]bool{}
		for _, name := range names {
			if name == "" {
				return fmt.Errorf("%s: a name is empty", field)
			}
			if seen[name] {
				return fmt.Errorf("%s: %q is given twice (MAAS has its defaults anyway)", field, name)
			}
			seen[name] = true
		}
	}
	for _, image := range m.Images {
		if osystem, series, ok := strings.Cut(image, "/"); !ok || osystem == "" || series == "" {
			return fmt.Errorf(`images: %q is not like "ubuntu/noble"`, image)
		}
	}
	for image, architectures := range m.ImageArchitectures {
		if !slices.Contains(m.Images, image) || len(architectures) == 0 || slices.Contains(architectures, "") {
			return fmt.Errorf("image_architectures: %q is not among images, or has no architectures", image)
		}
	}
	return nil
}

func (m Model) checkSubnets() error {
	seen, known := map[string]bool{}, false
	for i, s := range m.Subnets {
		network, err := netip.ParsePrefix(s.CIDR)
		if err != nil || !network.Addr().Is4() || network != network.Masked() || network.Bits() > world.MaxPrefixBits {
			return fmt.Errorf("subnets[%d].cidr: %q is not an IPv4 network of at least 4 addresses", i, s.CIDR)
		}
		if seen[s.CIDR] || seen[s.Name] {
			return fmt.Errorf("subnets[%d]: %s is given twice", i, s.Name)
		}
		seen[s.CIDR], seen[s.Name] = true, true
		known = known || !s.Learned
		for field, text := range map[string]string{"gateway": s.Gateway, "dynamic_start": s.DynamicStart, "dynamic_end": s.DynamicEnd, "reserved_start": s.ReservedStart, "reserved_end": s.ReservedEnd} {
			ip, err := netip.ParseAddr(text)
			if text != "" && (err != nil || !network.Contains(ip)) {
				return fmt.Errorf("subnets[%d].%s: %q is not an address of %s", i, field, text, s.CIDR)
			}
		}
	}
	if !known {
		return errors.New("subnets: all are learned, but MAAS needs one at the start")
	}
	return nil
}

func (m Model) checkHosts() error {
	names, places := map[string]bool{}, map[string]int{}
	for i, h := range m.Hosts {
		field := fmt.Sprintf("hosts[%d]", i)
		place := world.NormalizeLXDAddress(h.Address) + " " + h.Project
		first, shared := places[world.NormalizeLXDAddress(h.Address)]
		_, taken := places[place]
		switch {
		case !rest.IsValidLabel(h.Name):
			return fmt.Errorf("%s.name: %q is not a hostname", field, h.Name)
		case names[h.Name]:
			return fmt.Errorf("%s.name: %q is given twice", field, h.Name)
		case h.Cores < 1:
			return fmt.Errorf("%s.cores: want at least 1, have %d", field, h.Cores)
		case h.MemoryMiB < 1024:
			return fmt.Errorf("%s.memory_mib: want at least 1024, have %d", field, h.MemoryMiB)
		case !m.hasZone(h.Zone):
			return fmt.Errorf("%s.zone: %q is not among zones", field, h.Zone)
		case !m.hasPool(h.Pool):
			return fmt.Errorf("%s.pool: %q is not among pools", field, h.Pool)
		case h.CPUOvercommit < 0 || h.CPUOvercommit > 10 || h.MemoryOvercommit < 0 || h.MemoryOvercommit > 10:
			return fmt.Errorf("%s: over-commit ratios must be 0 to 10", field)
		case taken:
			return fmt.Errorf("%s.address: another host has the same address and project", field)
		case shared && !hasSameHardware(m.Hosts[first], h):
			return fmt.Errorf("%s.address: hosts[%d] has the same address but other cores, memory, storage pools or architecture", field, first)
		}
		if _, err := daemon.ParseVersion(h.LXDVersion); err != nil {
			return fmt.Errorf("%s.lxd_version: %w", field, err)
		}
		names[h.Name], places[place] = true, i
		if !shared {
			places[world.NormalizeLXDAddress(h.Address)] = i
		}
		if err := m.checkHostParts(field, h); err != nil {
			return err
		}
	}
	return nil
}

func hasSameHardware(a, b HostModel) bool {
	return a.Cores == b.Cores && a.MemoryMiB == b.MemoryMiB && a.Architecture == b.Architecture && slices.Equal(a.StoragePools, b.StoragePools)
}

func (m Model) checkHostParts(field string, h HostModel) error {
	seen, defaults := map[string]bool{}, 0
	for _, p := range h.StoragePools {
		if p.Name == "" || seen[p.Name] || p.SizeBytes <= 0 {
			return fmt.Errorf("%s.storage_pools: %q needs a name of its own and a size", field, p.Name)
		}
		if seen[p.Name] = true; p.Default {
			defaults++
		}
	}
	if defaults > 1 {
		return fmt.Errorf("%s.storage_pools: more than one is the default", field)
	}
	for _, name := range h.Subnets {
		if !m.hasSubnet(name) {
			return fmt.Errorf("%s.subnets: %q is not among subnets", field, name)
		}
	}
	if !world.IsArchitecture(h.Architecture) {
		return fmt.Errorf(`%s.architecture: %q is not like "arm64/generic"`, field, h.Architecture)
	}
	if h.NICSubnet != "" && !m.hasSubnet(h.NICSubnet) {
		return fmt.Errorf("%s.nic_subnet: %q is not among subnets", field, h.NICSubnet)
	}
	return nil
}

func (m Model) checkMachines() error {
	names := map[string]bool{}
	for _, h := range m.Hosts {
		names[h.Name] = !h.Unregistered
	}
	for i, machine := range m.Machines {
		field := fmt.Sprintf("machines[%d]", i)
		switch {
		case !rest.IsValidLabel(machine.Hostname):
			return fmt.Errorf("%s.hostname: %q is not a hostname", field, machine.Hostname)
		case names[machine.Hostname]:
			return fmt.Errorf("%s.hostname: %q is given twice", field, machine.Hostname)
		case !m.hasZone(machine.Zone):
			return fmt.Errorf("%s.zone: %q is not among zones", field, machine.Zone)
		case !m.hasPool(machine.Pool):
			return fmt.Errorf("%s.pool: %q is not among pools", field, machine.Pool)
		case machine.Domain != "maas" && !slices.Contains(m.Domains, machine.Domain):
			return fmt.Errorf("%s.domain: %q is not among domains", field, machine.Domain)
		case !slices.Contains([]string{"New", "Ready", "Allocated", "Deployed", "Broken"}, machine.Status):
			return fmt.Errorf("%s.status: %q is not one of New, Ready, Allocated, Deployed, Broken", field, machine.Status)
		case machine.Cores < 1 || machine.MemoryMiB < 1 || machine.DiskGB < 1:
			return fmt.Errorf("%s: cores, memory_mib and disk_gb must be positive", field)
		case slices.ContainsFunc(machine.MoreDisksGB, func(sizeGB int64) bool { return sizeGB < 1 }):
			return fmt.Errorf("%s.more_disks_gb: a size is not positive", field)
		case !strings.Contains(machine.Architecture, "/"):
			return fmt.Errorf(`%s.architecture: %q is not like "amd64/generic"`, field, machine.Architecture)
		case !machine.FirstBoot.isValid():
			return fmt.Errorf("%s.first_boot: %q is not one of ok, fails, never, real", field, machine.FirstBoot)
		}
		names[machine.Hostname] = true
	}
	return nil
}

func (m Model) hasZone(name string) bool { return name == "default" || slices.Contains(m.Zones, name) }

func (m Model) hasSubnet(name string) bool {
	return slices.ContainsFunc(m.Subnets, func(s SubnetModel) bool { return s.Name == name || s.CIDR == name })
}

func (m Model) hasPool(name string) bool { return name == "default" || slices.Contains(m.Pools, name) }

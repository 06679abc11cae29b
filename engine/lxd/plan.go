package lxd

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

const (
	// maxInstanceName is LXD's limit for the length of an instance name, in bytes.
	maxInstanceName = 63
	rootDevice      = "root"
)

// plan is a VM as LXD is to make it.
type plan struct {
	host    serverSurvey
	comp    engine.Composition
	post    api.InstancesPost
	volumes []volume
	macs    []string // one for each NIC
	salt    int      // changes the MACs that are generated
	taken   map[string]bool
	// isOfRenamedVM reports whether the MACs belong to a VM that has another name now.
	isOfRenamedVM func(macs []string) (bool, error)
}

// planVM checks a VM against the survey of the host and plans how to make it. The check of
// bridges is needed: LXD itself accepts a bridge that does not exist.
func (h serverSurvey) planVM(comp engine.Composition, taken map[string]bool) (plan, error) {
	p := plan{host: h, comp: comp, taken: taken}
	if comp.Hostname == "" || len(comp.Hostname) > maxInstanceName {
		return p, &engine.SpecError{
			Field: fieldpath.New("name"), Message: fmt.Sprintf("%q has %d bytes, and LXD names instances with 1 to %d", comp.Hostname, len(comp.Hostname), maxInstanceName),
			Hint: "Choose a shorter name.", Err: engine.ErrInvalid,
		}
	}
	profiles, err := h.profilesFor(comp.Profile)
	if err == nil {
		err = h.vmHost().CheckBootMode(comp.Config)
	}
	if err != nil {
		return p, err
	}
	architecture, err := h.lxdArchitecture(comp.Architecture)
	if err != nil {
		return p, err
	}
	p.post = api.InstancesPost{Name: comp.Hostname, Type: api.InstanceTypeVM, Source: api.InstanceSource{Type: api.SourceTypeNone}}
	p.post.Architecture, p.post.Profiles = architecture, profiles
	p.post.Config, p.post.Devices = h.instanceConfig(comp), map[string]map[string]string{}
	if err := p.addDisks(); err != nil {
		return p, err
	}
	if err := p.addNICs(); err != nil {
		return p, err
	}
	if err := p.addDevices(); err != nil {
		return p, err
	}
	if err := p.checkWantedMACs(); err != nil {
		return p, err
	}
	p.chooseMACs()
	return p, nil
}

// addDevices adds the other devices of the VM. A device of the VM would replace a device of
// the same name from a profile, such as a NIC, so that is refused.
func (p *plan) addDevices() error {
	for _, name := range slices.Sorted(maps.Keys(p.comp.Devices)) {
		for _, profile := range p.post.Profiles {
			if kind, brings := p.host.profileDevices[profile][name]; brings {
				return &engine.SpecError{
					Field: fieldpath.New("devices").Key(name), Message: fmt.Sprintf("the LXD profile %q brings a device %s already, of the type %s", profile, name, kind),
					Hint: "Choose another name.", Err: engine.ErrInvalid,
				}
			}
		}
		p.post.Devices[name] = p.comp.Devices[name].LXDProperties()
	}
	return nil
}

// instanceConfig returns the config that MAAS gives an instance (drivers/pod/lxd.py), the
// marks of its owner, and the wanted options. The wanted options come last, because they
// may change how it boots.
func (h serverSurvey) instanceConfig(comp engine.Composition) map[string]string {
	config := map[string]string{
		"limits.cpu":              cpuLimit(comp),
		"limits.memory":           strconv.FormatInt(comp.MemoryMiB, 10) + "MiB",
		"limits.memory.hugepages": strconv.FormatBool(comp.HugePages),
		keyConfig:                 string(comp.Key),
		markerConfig:              comp.Marker,
	}
	maps.Copy(config, noSecureBootConfig(h.bootMode))
	maps.Copy(config, comp.Config)
	return config
}

// noSecureBootConfig returns the option that lets a VM boot unsigned images.
func noSecureBootConfig(hasBootMode bool) map[string]string {
	if hasBootMode {
		return map[string]string{"boot.mode": "uefi-nosecureboot"}
	}
	return map[string]string{"security.secureboot": "false"}
}

// cpuLimit returns a number of cores, or the list of the host's cores. A single core is
// written as a range, because LXD would read one number as a count.
func cpuLimit(comp engine.Composition) string {
	switch len(comp.PinnedCores) {
	case 0:
		return strconv.Itoa(comp.Cores)
	case 1:
		return fmt.Sprintf("%d-%d", comp.PinnedCores[0], comp.PinnedCores[0])
	}
	cores := make([]string, len(comp.PinnedCores))
	for n, core := range comp.PinnedCores {
		cores[n] = strconv.Itoa(core)
	}
	return strings.Join(cores, ",")
}

// bootModeExtension is the API extension of an LXD that has boot.mode.
const bootModeExtension = "instance_boot_mode"

// hasBootMode reports whether VMs have boot.mode instead of security.secureboot.
func hasBootMode(info api.Server) bool {
	return slices.Contains(info.APIExtensions, bootModeExtension) || isBootModeVersion(info.Environment.ServerVersion)
}

// isBootModeVersion reports whether this LXD refuses security.secureboot: version 6.7 and
// later.
func isBootModeVersion(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	first, err := strconv.Atoi(major)
	if err != nil {
		return false
	}
	second, err := strconv.Atoi(minor)
	return first > 6 || first == 6 && err == nil && second >= 7
}

// profilesFor returns the profiles of a VM. It is never nil: for nil, LXD would choose its
// own.
func (h serverSurvey) profilesFor(wanted string) ([]string, error) {
	switch {
	case wanted != "":
		return []string{wanted}, h.vmHost().CheckProfile(wanted)
	case slices.Contains(h.profiles, engine.StandardProfile):
		return []string{engine.StandardProfile}, nil
	}
	return []string{}, nil
}

// lxdArchitecture returns LXD's name for MAAS's "amd64/generic"; empty for LXD's own
// architecture.
func (h serverSurvey) lxdArchitecture(wanted string) (string, error) {
	name, _, _ := strings.Cut(wanted, "/")
	for kernel, known := range maasArchitectures {
		if known == name && slices.Contains(h.architectures, kernel) {
			return kernel, nil
		}
	}
	if name == "" {
		return "", nil
	}
	return "", &engine.Error{
		Type: engine.VMCreationFailed, Host: h.Name, Message: fmt.Sprintf("its LXD runs no VMs of architecture %s", wanted),
		Hint: fmt.Sprintf("It runs: %s.", strings.Join(h.architectures, ", ")),
	}
}

// addDisks adds the root disk and the volumes.
func (p *plan) addDisks() error {
	for n, d := range p.comp.Disks {
		in := d.Pool
		if in == "" {
			in = p.host.defaultPool()
		}
		if !slices.Contains(p.host.poolNames(), in) {
			return &engine.SpecError{
				Field: fieldpath.New("disks").Key(d.Name).Child("pool"), Message: fmt.Sprintf("the LXD of host %s has no storage pool %q", p.host.Name, in),
				Hint: fmt.Sprintf("It has: %s.", strings.Join(p.host.poolNames(), ", ")),
			}
		}
		size := d.SizeGB * bytesPerGB
		if n == 0 {
			p.post.Devices[rootDevice] = map[string]string{
				"type": "disk", "path": "/", "pool": in, "size": strconv.FormatInt(size, 10), "boot.priority": "0",
			}
			continue
		}
		device := fmt.Sprintf("disk%d", n)
		v := volume{device: device, pool: in, name: volumeName(p.comp.Hostname, device), bytes: size}
		p.volumes = append(p.volumes, v)
		p.post.Devices[device] = map[string]string{"type": "disk", "pool": in, "source": v.name}
	}
	return nil
}

// addNICs joins the VM to networks. It sets no MACs.
func (p *plan) addNICs() error {
	bridges := make([]string, 0, len(p.comp.Interfaces))
	for _, nic := range p.comp.Interfaces {
		name, err := p.host.findBridge(nic)
		if err != nil {
			return err
		}
		bridges = append(bridges, name)
	}
	if len(bridges) == 0 {
		name, err := p.host.findBootBridge()
		if err != nil {
			return err
		}
		bridges = append(bridges, name)
	}
	for n, bridge := range bridges {
		name := nicName(n)
		nic := p.host.nicDevice(name, bridge)
		if n == 0 {
			nic["boot.priority"] = "1"
		}
		p.post.Devices[name] = nic
	}
	p.macs = make([]string, len(bridges))
	return nil
}

// nicDevice returns a NIC on a bridge, without a MAC.
func (h serverSurvey) nicDevice(name, bridge string) map[string]string {
	if h.networks[bridge] { // a restricted project may allow only LXD's own networks
		return map[string]string{"type": "nic", "name": name, "network": bridge}
	}
	return map[string]string{"type": "nic", "name": name, "nictype": "bridged", "parent": bridge}
}

// findBridge returns the bridge that joins a NIC to its subnet, or checks the bridge that
// the NIC names. A bridge without an address shows no subnet. If it is on the VLAN of
// another bridge of the host, only its name tells them apart.
func (h serverSurvey) findBridge(nic engine.NIC) (string, error) {
	for _, b := range h.Bridges {
		into := slices.ContainsFunc(b.Subnets, func(s engine.Subnet) bool { return s.CIDR == nic.CIDR })
		if _, there := h.networks[b.Name]; into && there && (nic.Bridge == "" || nic.Bridge == b.Name) {
			return b.Name, nil
		}
	}
	err := h.noBridgeError(fmt.Sprintf("into subnet %s", nic.CIDR))
	err.Field = nic.Field("subnet")
	if nic.Bridge != "" {
		err = h.noBridgeError(fmt.Sprintf("%s into subnet %s", nic.Bridge, nic.CIDR))
		err.Field = nic.Field("bridge")
	}
	return "", err
}

// findBootBridge returns a bridge with DHCP, for a VM that names no subnet.
func (h serverSurvey) findBootBridge() (string, error) {
	for _, b := range h.Bridges {
		serves := slices.ContainsFunc(b.Subnets, func(s engine.Subnet) bool { return s.DHCP })
		if _, there := h.networks[b.Name]; serves && there {
			return b.Name, nil
		}
	}
	return "", h.noBridgeError("on a VLAN where MAAS serves DHCP")
}

// noBridgeError lists the bridges that MAAS and LXD know: both must know the bridge.
func (h serverSurvey) noBridgeError(where string) *engine.SpecError {
	var known []string
	for _, b := range h.Bridges {
		name := b.Name
		if _, there := h.networks[name]; !there {
			name += " (not in LXD)"
		}
		known = append(known, name)
	}
	if len(known) == 0 {
		known = []string{"none"}
	}
	return &engine.SpecError{
		Field: fieldpath.New("interfaces"), Message: fmt.Sprintf("host %s has no bridge %s that both MAAS and its LXD know", h.Name, where),
		Hint: fmt.Sprintf("Bridges that MAAS knows there: %s. Make one on the machine in MAAS before it is deployed, or name another subnet.", strings.Join(known, ", ")),
	}
}

// chooseMACs gives each NIC its wanted MAC, or one in LXD's own range that no known
// instance has. LXD makes two instances with the same MAC, but starts only one of them.
//
// The MACs are the same each time that the VM is made on this host.
func (p *plan) chooseMACs() {
	for p.generateMACs(); slices.ContainsFunc(p.generatedMACs(), func(m string) bool { return p.taken[m] }); p.generateMACs() {
		p.salt++
	}
}

// wantedMAC returns the MAC that the spec gives the NIC; empty if there is none.
func (p *plan) wantedMAC(n int) string {
	if n >= len(p.comp.Interfaces) {
		return ""
	}
	return p.comp.Interfaces[n].MAC
}

// generatedMACs returns the MACs that are not from the spec.
func (p *plan) generatedMACs() []string {
	var macs []string
	for n, mac := range p.macs {
		if p.wantedMAC(n) == "" {
			macs = append(macs, mac)
		}
	}
	return macs
}

// checkWantedMACs refuses a MAC that another instance of the fleet has. If another machine
// has the MAC, MAAS refuses the VM when it is enlisted.
func (p *plan) checkWantedMACs() error {
	for _, nic := range p.comp.Interfaces {
		if nic.MAC != "" && p.taken[nic.MAC] {
			return &engine.SpecError{
				Field: nic.Field("mac_address"), Message: fmt.Sprintf("another instance of the fleet has the MAC address %s", nic.MAC),
				Hint: "Choose another one, or leave it out.", Err: engine.ErrInvalid,
			}
		}
	}
	return nil
}

func (p *plan) generateMACs() {
	for n := range p.macs {
		p.macs[n] = cmp.Or(p.wantedMAC(n), p.generateMAC(n, p.salt))
		p.post.Devices[nicName(n)]["hwaddr"] = p.macs[n]
	}
}

// generateMAC returns a MAC for the NIC with this number.
func (p *plan) generateMAC(n, salt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", p.comp.Marker, p.host.MachineID, n, salt))
	return fmt.Sprintf("00:16:3e:%02x:%02x:%02x", sum[0], sum[1], sum[2])
}

// useMACsOf takes over the MACs of an existing instance. Its profiles may give it NICs that
// are not in the plan.
func (p *plan) useMACsOf(i api.Instance) {
	for n := range p.macs {
		name := nicName(n)
		p.macs[n] = strings.ToLower(cmp.Or(i.Devices[name]["hwaddr"], i.ExpandedConfig["volatile."+name+".hwaddr"], p.macs[n]))
	}
}

// describeDifference returns how an instance differs from the plan; empty if it does not.
func (p plan) describeDifference(i api.Instance) string {
	if p.comp.Profile != "" && !slices.Equal(i.Profiles, p.post.Profiles) {
		return fmt.Sprintf("its profiles are %q, and not %q", i.Profiles, p.post.Profiles)
	}
	names := append([]string{"limits.cpu", "limits.memory", "limits.memory.hugepages"}, slices.Sorted(maps.Keys(p.comp.Config))...)
	for _, name := range names {
		if i.Config[name] != p.post.Config[name] {
			return fmt.Sprintf("%s is %s, and not %s", name, i.Config[name], p.post.Config[name])
		}
	}
	for name, want := range p.post.Devices {
		for key, value := range want {
			if have := i.Devices[name][key]; have != value && key != "hwaddr" {
				return fmt.Sprintf("%s of device %s is %q, and not %q", key, name, have, value)
			}
		}
	}
	for name := range i.Devices {
		if _, wanted := p.post.Devices[name]; !wanted {
			return fmt.Sprintf("it has a device %s", name)
		}
	}
	return ""
}

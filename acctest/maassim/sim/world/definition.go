package world

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// Definition is the instance as LXD's API shows it. The instance's cores, memory, disks
// and NICs are derived from it.
type Definition struct {
	CreatedAt, StartedAt time.Time
	Description          string
	Profiles             []string
	Config               map[string]string // without volatile keys
	Devices              map[string]map[string]string
	NICNames             []string // device names of macs and subnets
	UUID                 string
	OnStopped            []func() // called when the instance stops
}

// NewRandomUUID is a UUID that does not depend on the seed.
func NewRandomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// WriteDefinition writes the definition of an instance that was not made through LXD's
// API.
func (i *Instance) WriteDefinition() {
	i.CreatedAt, i.UUID, i.Profiles = time.Now(), NewRandomUUID(), []string{"default"}
	i.Config = map[string]string{
		"limits.cpu": strconv.Itoa(i.Cores), "limits.memory": strconv.FormatInt(i.MemoryMiB<<20, 10),
	}
	i.Devices = map[string]map[string]string{}
	for n, d := range i.Disks {
		name, device := "root", map[string]string{"type": "disk", "pool": d.Pool, "boot.priority": "0"}
		if n == 0 {
			device["path"], device["size"] = "/", strconv.FormatInt(d.SizeBytes, 10)
		} else {
			name = "disk" + strconv.Itoa(n)
			device["source"] = "maas-" + NewRandomUUID() // as the driver of MAAS names it
			key := VolumeKey{d.Pool, i.Server.OwnerProject(i.Project, "features.storage.volumes"), device["source"]}
			i.Server.Volumes[key] = &CustomVolume{SizeBytes: d.SizeBytes, Config: map[string]string{}, CreatedAt: i.CreatedAt, ComposedFor: i}
		}
		i.Devices[name] = device
	}
	for n, s := range i.Subnets {
		name := "eth" + strconv.Itoa(n)
		device := map[string]string{"type": "nic", "name": name, "nictype": "bridged", "parent": i.Server.InterfaceOn(s)}
		if n == 0 {
			device["boot.priority"] = "1"
		}
		i.NICNames = append(i.NICNames, name)
		i.Devices[name] = device
	}
}

// LocalConfig is the configuration with LXD's own volatile keys.
func (i *Instance) LocalConfig() map[string]string {
	config := maps.Clone(i.Config)
	config["volatile.uuid"] = i.UUID
	config["volatile.uuid.generation"] = i.UUID
	config["volatile.last_state.power"] = strings.ToUpper(i.InstanceStatus().String())
	for n, name := range i.NICNames {
		if i.Devices[name]["hwaddr"] == "" {
			config["volatile."+name+".hwaddr"] = i.MACs[n]
		}
	}
	return config
}

// ExpandedConfig is the configuration of the profiles, overridden by the instance's own.
func (i *Instance) ExpandedConfig() map[string]string {
	config := map[string]string{}
	for _, name := range i.Profiles {
		if p := i.Server.Profile(i.Project, name); p != nil {
			maps.Copy(config, p.Config)
		}
	}
	maps.Copy(config, i.LocalConfig())
	return config
}

// ExpandedDevices are the devices of the profiles, overridden by the instance's own.
func (i *Instance) ExpandedDevices() map[string]map[string]string {
	devices := map[string]map[string]string{}
	for _, name := range i.Profiles {
		if p := i.Server.Profile(i.Project, name); p != nil {
			maps.Copy(devices, p.Devices)
		}
	}
	maps.Copy(devices, i.Devices)
	maps.DeleteFunc(devices, func(_ string, d map[string]string) bool { return d["type"] == "none" })
	return devices
}

// HugePagesMiB is the part of an instance's memory in huge pages.
func (i *Instance) HugePagesMiB() int64 {
	if on, err := strconv.ParseBool(i.ExpandedConfig()["limits.memory.hugepages"]); err != nil || !on {
		return 0
	}
	return i.MemoryMiB
}

// ApplyDefinition derives the instance's fields, which MAAS and the resource counts use,
// from the definition. NICs keep their MACs.
func (i *Instance) ApplyDefinition(w *World) {
	config, devices := i.ExpandedConfig(), i.ExpandedDevices()
	i.Cores = CoresIn(config["limits.cpu"])
	i.MemoryMiB = i.Server.MemoryIn(config["limits.memory"])
	macs := map[string]string{}
	for n, name := range i.NICNames {
		macs[name] = i.MACs[n]
	}
	i.Disks, i.NICNames, i.MACs, i.Subnets = nil, nil, nil, nil
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		switch d := devices[name]; {
		case d["type"] == "nic":
			mac := cmp.Or(cmp.Or(strings.ToLower(d["hwaddr"]), i.Config["volatile."+name+".hwaddr"]), macs[name])
			i.NICNames, i.MACs = append(i.NICNames, name), append(i.MACs, cmp.Or(mac, w.NewMAC()))
			i.Subnets = append(i.Subnets, i.Server.SubnetOf(d))
		case IsRoot(d):
			i.Disks = slices.Insert(i.Disks, 0, Volume{SizeBytes: SizeOr(d["size"], VMDefaultDiskBytes), Pool: d["pool"]})
		case d["type"] == "disk" && d["pool"] != "":
			if v := i.Server.VolumeOf(i.Project, d); v != nil {
				i.Disks = append(i.Disks, Volume{SizeBytes: v.SizeBytes, Pool: d["pool"]})
			}
		}
	}
	maps.DeleteFunc(i.Config, func(key, _ string) bool {
		return strings.HasPrefix(key, "volatile.") && !keepsVolatileKey(key, devices)
	})
	w.MeasureUse(i.Server)
}

// keepsVolatileKey tells whether LXD keeps a given volatile key. It drops a key for a
// device that the VM does not have.
func keepsVolatileKey(key string, devices map[string]map[string]string) bool {
	name, ok := strings.CutSuffix(strings.TrimPrefix(key, "volatile."), ".hwaddr")
	return ok && devices[name] == nil
}

// IsRoot tells whether a device is a root disk.
func IsRoot(device map[string]string) bool {
	return device["type"] == "disk" && device["path"] == "/" && device["source"] == ""
}

// VolumeOf is the custom volume that a disk device attaches, or nil.
func (l *LXD) VolumeOf(project string, device map[string]string) *CustomVolume {
	return l.Volumes[VolumeKey{device["pool"], l.OwnerProject(project, "features.storage.volumes"), device["source"]}]
}

// SubnetOf is the network of a NIC, if MAAS knows it.
func (l *LXD) SubnetOf(device map[string]string) *Subnet {
	for _, i := range l.HostInterfaces() {
		if device["parent"] == i.Name {
			return i.Subnet
		}
	}
	return nil
}

// CoresIn reads limits.cpu: a number, or a set like "0-3,7". An empty text means one core.
func CoresIn(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	count := 0
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(strings.TrimSpace(first))
		if err != nil {
			continue
		}
		to := from
		if isRange {
			to, _ = strconv.Atoi(strings.TrimSpace(last))
		}
		count += max(to-from+1, 0)
	}
	return max(count, 1)
}

// MemoryIn reads limits.memory in MiB: a size, or a percentage of the machine's memory.
func (l *LXD) MemoryIn(text string) int64 {
	if share, isShare := strings.CutSuffix(text, "%"); isShare {
		n, _ := strconv.ParseInt(share, 10, 64)
		return l.MemoryMiB * n / 100
	}
	return SizeOr(text, defaultVMMemoryMiB<<20) >> 20
}

// SizeOr reads a size in bytes. An empty text means the other value.
func SizeOr(text string, otherwise int64) int64 {
	n, err := daemon.ReadSize(text)
	if err != nil || n == 0 {
		return otherwise
	}
	return n
}

package sim

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lxdDefinition is how LXD's API tells an instance: what was written, of which
// cores, memory, disks and NICs of the instance are the meaning.
type lxdDefinition struct {
	made, started time.Time
	description   string
	profiles      []string
	config        map[string]string // without volatile keys
	devices       map[string]map[string]string
	nicNames      []string // devices of macs and subnets
	uuid          string
	waiting       []func() // for the instance to stop
}

const (
	// vmDefaultMemoryMiB is what LXD gives a VM without limits.memory.
	vmDefaultMemoryMiB = 1024
	// vmDefaultDisk is the root disk of a VM without a size (LXD, 10 GiB).
	vmDefaultDisk = 10 << 30
)

// newRandomUUID is an id that no seed decides.
func newRandomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// describe writes the definition of an instance that was not made by the API.
func (i *instance) describe() {
	i.made, i.uuid, i.profiles = time.Now(), newRandomUUID(), []string{"default"}
	i.config = map[string]string{
		"limits.cpu": itoa(i.cores), "limits.memory": strconv.FormatInt(i.memoryMiB<<20, 10),
	}
	i.devices = map[string]map[string]string{}
	for n, d := range i.disks {
		name, device := "root", map[string]string{"type": "disk", "pool": d.pool, "boot.priority": "0"}
		if n == 0 {
			device["path"], device["size"] = "/", strconv.FormatInt(d.sizeBytes, 10)
		} else {
			name = "disk" + itoa(n)
			device["source"] = i.name + "-" + name
			key := volumeKey{d.pool, i.server.owner(i.project, "features.storage.volumes"), device["source"]}
			i.server.volumes[key] = &customVolume{sizeBytes: d.sizeBytes, config: map[string]string{}, made: i.made, by: i}
		}
		i.devices[name] = device
	}
	for n, s := range i.subnets {
		name := "eth" + itoa(n)
		device := map[string]string{"type": "nic", "name": name, "nictype": "bridged", "parent": i.server.interfaceOn(s)}
		if n == 0 {
			device["boot.priority"] = "1"
		}
		i.nicNames = append(i.nicNames, name)
		i.devices[name] = device
	}
}

// describeComposed adds what MAAS says of a VM that it composes.
func (i *instance) describeComposed(v *wantedVM) {
	if !i.server.since(withoutSecureBoot) {
		i.config["security.secureboot"] = "false"
	}
	i.config["limits.memory.hugepages"] = strconv.FormatBool(v.hugepages)
	if len(v.pinned) > 0 {
		var cores []string
		for _, core := range v.pinned {
			cores = append(cores, itoa(core))
		}
		i.config["limits.cpu"] = strings.Join(cores, ",")
	}
	if i.server.profile(i.project, "maas") != nil {
		i.profiles = []string{"maas"}
	}
}

// localConfig is the configuration with what LXD itself keeps there.
func (i *instance) localConfig() map[string]string {
	config := maps.Clone(i.config)
	config["volatile.uuid"] = i.uuid
	config["volatile.uuid.generation"] = i.uuid
	config["volatile.last_state.power"] = strings.ToUpper(i.status().String())
	for n, name := range i.nicNames {
		if i.devices[name]["hwaddr"] == "" {
			config["volatile."+name+".hwaddr"] = i.macs[n]
		}
	}
	return config
}

// expandedConfig is that of the profiles with the instance's own on top.
func (i *instance) expandedConfig() map[string]string {
	config := map[string]string{}
	for _, name := range i.profiles {
		if p := i.server.profile(i.project, name); p != nil {
			maps.Copy(config, p.Config)
		}
	}
	maps.Copy(config, i.localConfig())
	return config
}

// expandedDevices are those of the profiles, replaced by the instance's own.
func (i *instance) expandedDevices() map[string]map[string]string {
	devices := map[string]map[string]string{}
	for _, name := range i.profiles {
		if p := i.server.profile(i.project, name); p != nil {
			maps.Copy(devices, p.Devices)
		}
	}
	maps.Copy(devices, i.devices)
	maps.DeleteFunc(devices, func(_ string, d map[string]string) bool { return d["type"] == "none" })
	return devices
}

// mean reads the definition: what MAAS and the counts of use see of it. NICs
// keep their MACs.
func (i *instance) mean(w *world) {
	config, devices := i.expandedConfig(), i.expandedDevices()
	i.cores = coresIn(config["limits.cpu"])
	i.memoryMiB = i.server.memoryIn(config["limits.memory"])
	macs := map[string]string{}
	for n, name := range i.nicNames {
		macs[name] = i.macs[n]
	}
	i.disks, i.nicNames, i.macs, i.subnets = nil, nil, nil, nil
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		switch d := devices[name]; {
		case d["type"] == "nic":
			mac := or(or(strings.ToLower(d["hwaddr"]), i.config["volatile."+name+".hwaddr"]), macs[name])
			i.nicNames, i.macs = append(i.nicNames, name), append(i.macs, or(mac, w.newMAC()))
			i.subnets = append(i.subnets, i.server.subnetOf(d))
		case isRoot(d):
			i.disks = slices.Insert(i.disks, 0, volume{sizeBytes: sizeOr(d["size"], vmDefaultDisk), pool: d["pool"]})
		case d["type"] == "disk" && d["pool"] != "":
			if v := i.server.volumeOf(i.project, d); v != nil {
				i.disks = append(i.disks, volume{sizeBytes: v.sizeBytes, pool: d["pool"]})
			}
		}
	}
	maps.DeleteFunc(i.config, func(key, _ string) bool { return strings.HasPrefix(key, "volatile.") && !keptVolatile(key, devices) })
	w.measure(i.server)
}

// keptVolatile tells that LXD keeps a volatile key as it was given: one of a device
// that the VM does not have means nothing to it.
func keptVolatile(key string, devices map[string]map[string]string) bool {
	name, ok := strings.CutSuffix(strings.TrimPrefix(key, "volatile."), ".hwaddr")
	return ok && devices[name] == nil
}

func isRoot(device map[string]string) bool {
	return device["type"] == "disk" && device["path"] == "/" && device["source"] == ""
}

// volumeOf is the custom volume that a disk device attaches, nil for none.
func (l *lxdServer) volumeOf(project string, device map[string]string) *customVolume {
	return l.volumes[volumeKey{device["pool"], l.owner(project, "features.storage.volumes"), device["source"]}]
}

// subnetOf is the network that a NIC is attached to, as far as MAAS knows it.
func (l *lxdServer) subnetOf(device map[string]string) *subnet {
	for _, i := range l.interfaces() {
		if device["parent"] == i.name {
			return i.subnet
		}
	}
	return nil
}

// coresIn reads limits.cpu: a number, or a set like "0-3,7"; nothing is one.
func coresIn(text string) int {
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

// memoryIn reads limits.memory in MiB: a size, or a share of the machine's.
func (l *lxdServer) memoryIn(text string) int64 {
	if share, isShare := strings.CutSuffix(text, "%"); isShare {
		n, _ := strconv.ParseInt(share, 10, 64)
		return l.memoryMiB * n / 100
	}
	return sizeOr(text, vmDefaultMemoryMiB<<20) >> 20
}

// sizeOr is a size in bytes; where none is given, another.
func sizeOr(text string, otherwise int64) int64 {
	n, err := readSize(text)
	if err != nil || n == 0 {
		return otherwise
	}
	return n
}

package lxd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canonical/lxd/shared"
	"github.com/canonical/lxd/shared/api"
	"github.com/canonical/lxd/shared/units"

	"github.com/maaslxd/maaslxd/engine"
)

const (
	bytesPerMiB = 1 << 20
	bytesPerGB  = 1_000_000_000
	// defaultMemory and defaultRoot are what LXD gives a VM that names no size.
	defaultMemory = "1GiB"
	defaultRoot   = "10GiB"
)

// Config keys that tell the owner of an instance or a volume.
const (
	keyConfig    = "user.maaslxd.key"
	markerConfig = "user.maaslxd.marker"
	// birthTimeConfig says when we made an instance. Only the instance that we made has it:
	// LXD keeps volatile keys when it moves an instance, and omits them from a copy. A
	// restricted project allows only volatile keys that end in ".hwaddr".
	birthTimeConfig = "volatile.maaslxd.hwaddr"
	// volumeBirthTimeConfig says when we made a volume. A copy keeps it.
	volumeBirthTimeConfig = "user.maaslxd.born"
	// startedConfig is a key that LXD sets when it first starts a VM.
	startedConfig = "volatile.vsock_id"
)

// instance is what this package needs to know of an LXD instance.
type instance struct {
	name, project string
	key, marker   string // empty: not made by this package
	macs          []string
	bridges       map[string]string // bridges of its NICs, by MAC
	isVM          bool
	status        api.StatusCode
	profiles      []string
	everStarted   bool              // as far as LXD shows
	birthTime     time.Time         // when this package made it; zero: someone else made it, or it is a copy
	config        map[string]string // its own options and devices, of those that a VM may be given
	devices       map[string]engine.Device
	addedNICs     map[string]engine.AddedNIC // NICs that were added after it was made, by label
	cores         int64
	memory        string // as its config has it
	hugePages     bool   // its memory is backed by huge pages
	rootBytes     map[string]int64
	volumePools   []string // pools of the volumes that it uses
	root          volume   // root disk of a VM
	volumes       []volume // made with the instance; sizes are not set
}

func newInstance(i api.Instance, project string) instance {
	config, devices := i.ExpandedConfig, i.ExpandedDevices
	made := instance{
		name: i.Name, project: project, key: config[keyConfig], marker: config[markerConfig],
		macs: instanceMACs(i), bridges: nicBridges(i), isVM: i.Type == string(api.InstanceTypeVM), status: i.StatusCode, profiles: i.Profiles,
		everStarted: i.LastUsedAt.Unix() > 0 || config[startedConfig] != "", birthTime: parseBirthTime(config[birthTimeConfig]), memory: config["limits.memory"], rootBytes: map[string]int64{},
	}
	made.cores = countCores(config["limits.cpu"])
	if made.isVM {
		made.cores, made.hugePages = max(1, made.cores), shared.IsTrue(config["limits.memory.hugepages"])
		if made.memory == "" {
			made.memory = defaultMemory
		}
	}
	made.volumes = volumesOf(i)
	made.config, made.devices, made.addedNICs = engine.OptionsOf(i.Config), engine.DevicesOf(i.Devices), addedNICs(i)
	for _, d := range devices {
		switch {
		case d["type"] != "disk" || d["pool"] == "":
		case d["path"] == "/":
			size := d["size"]
			if size == "" && made.isVM {
				size = defaultRoot
			}
			made.rootBytes[d["pool"]] += parseBytes(size)
			made.root = volume{device: rootDevice, pool: d["pool"], bytes: parseBytes(size)}
		case d["source"] != "":
			made.volumePools = append(made.volumePools, d["pool"])
		}
	}
	return made
}

// instanceMACs returns the MACs of an instance in lower case, in the order of the device
// names.
func instanceMACs(i api.Instance) []string {
	var names, macs []string
	for name, d := range i.ExpandedDevices {
		if d["type"] == "nic" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if mac := nicMAC(i, name); mac != "" {
			macs = append(macs, mac)
		}
	}
	return macs
}

// nicMAC returns the MAC of a NIC in lower case; empty: LXD has not chosen it yet.
func nicMAC(i api.Instance, device string) string {
	return strings.ToLower(cmp.Or(i.ExpandedDevices[device]["hwaddr"], i.ExpandedConfig["volatile."+device+".hwaddr"]))
}

// nicBridges returns the bridges or networks that the NICs of an instance join, by MAC.
func nicBridges(i api.Instance) map[string]string {
	bridges := map[string]string{}
	for name, d := range i.ExpandedDevices {
		if d["type"] == "nic" {
			bridges[nicMAC(i, name)] = cmp.Or(d["parent"], d["network"])
		}
	}
	return bridges
}

// memoryMiB returns the memory limit in MiB. LXD also accepts a percentage of the host's
// memory.
func (i instance) memoryMiB(hostBytes int64) int64 {
	if share, ok := strings.CutSuffix(i.memory, "%"); ok {
		percent, err := strconv.ParseInt(share, 10, 64)
		if err != nil {
			return 0
		}
		return hostBytes * percent / 100 / bytesPerMiB
	}
	return parseBytes(i.memory) / bytesPerMiB
}

// parseBytes parses a size as LXD writes it. It returns zero if the text is no size.
func parseBytes(size string) int64 {
	if size == "" {
		return 0
	}
	n, err := units.ParseByteSizeString(size)
	if err != nil {
		return 0
	}
	return n
}

// countCores counts the cores of a limit: a number, or a list of cores and ranges. Zero: no
// limit.
func countCores(limit string) int64 {
	if n, err := strconv.ParseInt(limit, 10, 64); err == nil {
		return n
	}
	var count int64
	for part := range strings.SplitSeq(limit, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			continue
		}
		to := from
		if isRange {
			if to, err = strconv.ParseInt(last, 10, 64); err != nil {
				continue
			}
		}
		count += max(0, to-from+1)
	}
	return count
}

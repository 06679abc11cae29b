package lxd

import (
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
	// defaultMemory and defaultRoot are what LXD gives to a VM that says nothing.
	defaultMemory = "1GiB"
	defaultRoot   = "10GiB"
)

// Config keys by which an instance, or a volume, says whose it is.
const (
	keyConfig    = "user.maaslxd.key"
	markerConfig = "user.maaslxd.marker"
	// birthTimeConfig says when we made an instance, and that it is the one that we
	// made: LXD keeps what is volatile where it moves an instance, and leaves it out
	// of a copy. Of all such keys, a restricted project admits those of this ending.
	birthTimeConfig = "volatile.maaslxd.hwaddr"
	// volumeBirthTimeConfig says when we made a volume. A copy keeps it.
	volumeBirthTimeConfig = "user.maaslxd.born"
	// startedConfig is what LXD gives a VM when it first starts it.
	startedConfig = "volatile.vsock_id"
)

// instance is an instance as far as it matters to others.
type instance struct {
	name, project string
	key, marker   string // empty: not made by this package
	macs          []string
	isVM          bool
	status        api.StatusCode
	profiles      []string
	everStarted   bool              // as far as LXD says
	birthTime     time.Time         // when this package made it; zero: it did not, or it is a copy
	config        map[string]string // the options and devices that a VM may be given, of its own
	devices       map[string]engine.Device
	addedNICs     map[string]engine.AddedNIC // that it got after it was made, by their labels
	cores         int64
	memory        string // as its config says it
	hugePages     bool   // back the memory of a VM
	rootBytes     map[string]int64
	volumePools   []string // pools of the volumes that it uses
	root          volume   // its root disk, of a VM
	volumes       []volume // that were made with it, without their sizes
}

func newInstance(i api.Instance, project string) instance {
	config, devices := i.ExpandedConfig, i.ExpandedDevices
	made := instance{
		name: i.Name, project: project, key: config[keyConfig], marker: config[markerConfig],
		macs: instanceMACs(i), isVM: i.Type == string(api.InstanceTypeVM), status: i.StatusCode, profiles: i.Profiles,
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

// instanceMACs lists the MACs of an instance in the order of its devices' names, in
// small letters.
func instanceMACs(i api.Instance) []string {
	var names, macs []string
	for name, d := range i.ExpandedDevices {
		if d["type"] == "nic" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		mac := i.ExpandedDevices[name]["hwaddr"]
		if mac == "" {
			mac = i.ExpandedConfig["volatile."+name+".hwaddr"]
		}
		if mac != "" {
			macs = append(macs, strings.ToLower(mac))
		}
	}
	return macs
}

// memoryMiB is the limit in MiB; LXD also takes a share of the host's memory.
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

// parseBytes reads a size as LXD writes it; zero for what is no size.
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

// countCores counts the cores of a limit: a number, or a list of cores and ranges
// of them. Zero: no limit.
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

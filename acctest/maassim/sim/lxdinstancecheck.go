package sim

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// vmKeys are the keys of a VM's configuration, and the areas all of whose keys
// are taken.
var (
	vmAreas = []string{"boot", "cloud-init", "environment", "image", "raw", "snapshots", "user", "volatile"}
	vmKeys  = []string{
		"agent.nic_config", "cluster.evacuate", "limits.cpu", "limits.cpu.nodes", "limits.cpu.pin_strategy", "limits.memory",
		"limits.memory.hugepages", "linux.kernel_modules", "migration.stateful", "security.agent.metrics", "security.csm",
		"security.devlxd", "security.devlxd.images", "security.protection.delete", "security.protection.start",
		"security.secureboot", "security.sev", "security.sev.policy.es", "security.sev.session.data", "security.sev.session.dh",
	}
	// withoutBootMode are the keys that "boot.mode" replaced.
	withoutBootMode = []string{"security.secureboot", "security.csm"}
	bootModes       = []string{"uefi-secureboot", "uefi-nosecureboot", "bios"}
	// liveKeys may change while a VM runs; areas end in a dot.
	liveKeys = []string{"limits.cpu", "limits.memory", "security.protection.", "boot.autostart", "boot.stop", "boot.host_shutdown", "cluster.evacuate", "environment.", "image.", "snapshots.", "user.", "volatile."}
)

// configProblem is LXD's word against a VM's configuration, empty if it has
// none.
func (l *lxdServer) configProblem(config map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		area, _, _ := strings.Cut(key, ".")
		value := config[key]
		replaced := l.since(withoutSecureBoot)
		switch {
		case !slices.Contains(vmKeys, key) && !slices.Contains(vmAreas, area),
			replaced && slices.Contains(withoutBootMode, key), !replaced && key == "boot.mode":
			return "Invalid config: Unknown configuration key: " + key
		case key == "boot.mode" && value != "" && !slices.Contains(bootModes, value):
			return fmt.Sprintf("Invalid config: Invalid value for config key %q: Value %q not one of %q", key, value, bootModes)
		case key == "limits.cpu" && !validCores(value):
			return fmt.Sprintf("Invalid config: Invalid value for config key %q: Invalid CPU limit syntax", key)
		case key == "limits.memory" && !validMemory(value):
			return fmt.Sprintf("Invalid config: Invalid value for config key %q: Invalid value %q", key, value)
		}
	}
	return ""
}

func validCores(text string) bool {
	if n, err := strconv.Atoi(text); err == nil {
		return n > 0
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(last)
		}
		if text != "" && (err != nil || from < 0 || to < from) {
			return false
		}
	}
	return true
}

func validMemory(text string) bool {
	if share, isShare := strings.CutSuffix(text, "%"); isShare {
		n, err := strconv.Atoi(share)
		return err == nil && n > 0 && n <= 100
	}
	_, err := readSize(text)
	return err == nil
}

// devicesProblem is LXD's word against the devices of an instance.
func (i *instance) devicesProblem() error {
	devices, roots := i.expandedDevices(), 0
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		if isRoot(d) {
			roots++
		}
		if err := i.deviceProblem(d); err != nil {
			return lxdErrorf("Failed initialising instance: Failed add validation for device %q: %v", name, err)
		}
	}
	switch {
	case roots == 0:
		return lxdError("Failed initialising instance: Failed getting root disk: No root device could be found")
	case roots > 1:
		return lxdError("Failed initialising instance: Failed getting root disk: Multiple instance root devices detected")
	}
	return nil
}

func (i *instance) deviceProblem(d map[string]string) error {
	l := i.server
	mac := d["hwaddr"]
	_, badSize := readSize(d["size"])
	switch d["type"] {
	case "disk":
		switch {
		case d["pool"] != "" && !l.hasPool(d["pool"]):
			return lxdErrorf("Failed loading storage pool %q: Storage pool not found", d["pool"])
		case isRoot(d) && d["pool"] == "":
			return lxdError("Root disk entry must have a \"pool\" property set")
		case badSize != nil:
			return badSize
		case d["pool"] != "" && d["source"] != "" && l.volumeOf(i.project, d) == nil:
			return lxdErrorf("Failed loading custom volume: Storage volume not found")
		}
	case "nic":
		_, badMAC := net.ParseMAC(mac)
		switch {
		case d["network"] != "" && l.networks[d["network"]] == nil:
			return lxdErrorf("Failed loading network %q: Network not found", d["network"])
		case d["network"] == "" && d["nictype"] == "":
			return lxdError("Unsupported device type")
		case mac != "" && badMAC != nil:
			return lxdErrorf("Invalid value for device option \"hwaddr\": %v", badMAC)
		}
	case "none", "gpu", "pci", "proxy", "tpm", "unix-char", "unix-block", "usb", "unix-hotplug", "infiniband":
	default:
		return lxdErrorf("Unsupported device type %q", d["type"])
	}
	return nil
}

// startProblem is what keeps the instance from starting.
func (i *instance) startProblem() error {
	names := []string{}
	for _, known := range i.server.interfaces() {
		names = append(names, known.name)
	}
	devices := i.expandedDevices()
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		if d["type"] == "nic" && d["parent"] != "" && !slices.Contains(names, d["parent"]) && i.server.networks[d["parent"]] == nil {
			return lxdErrorf("Failed to start device %q: Parent device %q doesn't exist", name, d["parent"])
		}
	}
	if i.expandedConfig()["security.protection.start"] == "true" {
		return lxdError("Instance is protected from being started")
	}
	return nil
}

// liveProblem is what LXD says against a change of a VM that runs.
func (i *instance) liveProblem(before, after map[string]string) error {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		live := slices.ContainsFunc(liveKeys, func(l string) bool { return l == key || strings.HasSuffix(l, ".") && strings.HasPrefix(key, l) })
		switch {
		case before[key] == after[key]:
		case !live:
			return lxdErrorf("Key %q cannot be updated when VM is running", key)
		case key == "limits.memory" && i.server.memoryIn(after[key]) > i.server.memoryIn(before[key]):
			return lxdError("Cannot increase memory size beyond boot time size when VM is running")
		}
	}
	return nil
}

// shrinkProblem is what LXD says against a smaller root disk.
func shrinkProblem(before, after map[string]map[string]string) error {
	size := func(devices map[string]map[string]string) int64 {
		for _, d := range devices {
			if isRoot(d) {
				return sizeOr(d["size"], vmDefaultDisk)
			}
		}
		return 0
	}
	if size(after) < size(before) {
		return lxdError("Failed to update device \"root\": Block volumes cannot be shrunk")
	}
	return nil
}

package lxd

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// vmKeys are the keys of a VM's configuration, and the areas in which every key is
// accepted.
var (
	vmAreas = []string{"boot", "cloud-init", "environment", "image", "raw", "snapshots", "user", "volatile"}
	vmKeys  = []string{
		"agent.nic_config", "cluster.evacuate", "limits.cpu", "limits.cpu.nodes", "limits.cpu.pin_strategy", "limits.disk.priority", "limits.memory",
		"limits.memory.hugepages", "linux.kernel_modules", "migration.stateful", "security.agent.metrics", "security.csm",
		"security.devlxd", "security.devlxd.images", "security.protection.delete", "security.protection.start",
		"security.secureboot", "security.sev", "security.sev.policy.es", "security.sev.session.data", "security.sev.session.dh",
	}
	// keysBeforeBootMode are the keys that "boot.mode" replaced.
	keysBeforeBootMode = []string{"security.secureboot", "security.csm"}
	bootModes          = []string{"uefi-secureboot", "uefi-nosecureboot", "bios"}
	// liveKeys may change while a VM runs. Areas end in a dot.
	liveKeys = []string{"limits.cpu", "limits.memory", "security.protection.", "boot.", "cluster.evacuate", "environment.", "image.", "snapshots.", "user.", "volatile."}
	// hotPlugTypes are the devices that can be added and removed while a VM runs
	// (CanHotPlug).
	hotPlugTypes = []string{"disk", "nic", "none", "usb"}
	// deviceOptions are the options of devices that are neither disks nor NICs.
	deviceOptions = map[string][]string{
		"gpu": {"gputype", "id", "mdev", "pci", "productid", "vendorid"}, "pci": {"address"}, "tpm": {"path", "pathrm"},
		"usb": {"busnum", "devnum", "gid", "mode", "productid", "required", "serial", "uid", "vendorid"},
	}
)

// configProblem is LXD's message about an invalid configuration of a VM, or empty.
func configProblem(l *world.LXD, config map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		area, _, _ := strings.Cut(key, ".")
		value := config[key]
		replaced := l.IsAtLeast(daemon.VersionWithoutSecureBoot)
		switch {
		case !slices.Contains(vmKeys, key) && !slices.Contains(vmAreas, area),
			replaced && slices.Contains(keysBeforeBootMode, key), !replaced && key == "boot.mode",
			key == "limits.cpu.pin_strategy" && !hasExtension(l, "vm_limits_cpu_pin_strategy"):
			return "Invalid config: Unknown configuration key: " + key
		case key == "boot.mode" && value != "" && !slices.Contains(bootModes, value):
			return fmt.Sprintf("Invalid config: Invalid value for config key %q: Value %q not one of %q", key, value, bootModes)
		case key == "limits.cpu" && !isValidCores(value):
			return fmt.Sprintf("Invalid config: Invalid value for config key %q: Invalid CPU limit syntax", key)
		case key == "limits.memory" && !isValidMemory(value), value != "" && validValues[key] != nil && !validValues[key].MatchString(value):
			return fmt.Sprintf("Invalid config: Invalid value for config key %q: Invalid value %q", key, value)
		}
	}
	return ""
}

// validValues are LXD's checks of values (instancetype.InstanceConfigKeysAny and …VM).
var validValues = func() map[string]*regexp.Regexp {
	const boolean, integer = `(?i)^(true|false|yes|no|1|0|on|off)$`, `^[-+]?\d+$`
	checks := map[string]*regexp.Regexp{}
	for key, check := range map[string]string{
		"boot.autostart": boolean, "boot.autostart.delay": integer, "boot.autostart.priority": integer, "boot.host_shutdown_timeout": integer,
		"boot.stop.priority": integer, "cluster.evacuate": `^(auto|migrate|live-migrate|stop)$`, "limits.cpu.nodes": `^\d+([,-]\d+)*$`,
		"limits.cpu.pin_strategy": `^(none|auto)$`, "limits.disk.priority": `^(\d|10)$`, "limits.memory.hugepages": boolean,
		"security.agent.metrics": boolean, "security.devlxd": boolean, "security.devlxd.images": boolean, "security.secureboot": boolean,
		"security.sev": boolean, "security.sev.policy.es": boolean, "snapshots.schedule.stopped": boolean,
	} {
		checks[key] = regexp.MustCompile(check)
	}
	return checks
}()

func isValidCores(text string) bool {
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

func isValidMemory(text string) bool {
	if share, isShare := strings.CutSuffix(text, "%"); isShare {
		n, err := strconv.Atoi(share)
		return err == nil && n > 0 && n <= 100
	}
	_, err := daemon.ReadSize(text)
	return err == nil
}

// devicesError is LXD's error about invalid devices of an instance.
func devicesError(i *world.Instance) error {
	devices, roots := i.ExpandedDevices(), 0
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		if world.IsRoot(d) {
			roots++
		}
		if err := deviceError(i, d); err != nil {
			return operationErrorf("Failed initialising instance: Failed add validation for device %q: %v", name, err)
		}
	}
	switch {
	case roots == 0:
		return operationError("Failed initialising instance: Failed getting root disk: No root device could be found")
	case roots > 1:
		return operationError("Failed initialising instance: Failed getting root disk: Multiple instance root devices detected")
	}
	return nil
}

func deviceError(i *world.Instance, d map[string]string) error {
	l := i.Server
	mac := d["hwaddr"]
	_, badSize := daemon.ReadSize(d["size"])
	switch d["type"] {
	case "disk":
		switch {
		case d["pool"] != "" && !l.HasPool(d["pool"]):
			return operationErrorf("Failed loading storage pool %q: Storage pool not found", d["pool"])
		case world.IsRoot(d) && d["pool"] == "":
			return operationError("Root disk entry must have a \"pool\" property set")
		case badSize != nil:
			return badSize
		case d["pool"] != "" && d["source"] != "" && l.VolumeOf(i.Project, d) == nil:
			return operationErrorf("Failed loading custom volume: Storage volume not found")
		}
	case "nic":
		_, badMAC := net.ParseMAC(mac)
		switch {
		case d["network"] != "" && l.Networks[d["network"]] == nil:
			return operationErrorf("Failed loading network %q: Network not found", d["network"])
		case d["network"] == "" && d["nictype"] == "":
			return operationError("Unsupported device type")
		case mac != "" && badMAC != nil:
			return operationErrorf("Invalid value for device option \"hwaddr\": %v", badMAC)
		}
	case "gpu", "pci", "tpm", "usb":
		return optionsError(d)
	case "unix-char", "unix-block", "unix-hotplug": // only for containers
		return operationError("Unsupported device type")
	case "none", "proxy", "infiniband":
	default:
		return operationErrorf("Unsupported device type %q", d["type"])
	}
	return nil
}

// optionsError is LXD's error about invalid options of a device that is neither a disk nor
// a NIC.
func optionsError(d map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if key != "type" && !slices.Contains(deviceOptions[d["type"]], key) {
			return operationErrorf("Invalid device option %q", key)
		}
	}
	if d["type"] == "pci" && !pciAddress.MatchString(d["address"]) {
		return operationErrorf("Invalid value for device option \"address\": Invalid PCI address %q", d["address"])
	}
	return nil
}

var pciAddress = regexp.MustCompile(`^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]$`)

// hotPlugError is LXD's error about devices that cannot be added or removed while a VM
// runs.
func hotPlugError(before, after map[string]map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if d := before[name]; !slices.Contains(hotPlugTypes, d["type"]) && !maps.Equal(d, after[name]) {
			return operationErrorf("Failed to remove device %q: Device cannot be removed when instance is running", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if d := after[name]; !slices.Contains(hotPlugTypes, d["type"]) && !maps.Equal(d, before[name]) {
			return operationErrorf("Failed to add device %q: Device cannot be added when instance is running", name)
		}
	}
	return nil
}

// plugError is LXD's error about NICs that are added while a VM runs. LXD starts them at
// once.
func plugError(i *world.Instance, before map[string]map[string]string) error {
	after := i.ExpandedDevices()
	ports, name, problem := i.Ports.Replug(before, after)
	if problem != "" {
		return operationErrorf("Failed to start device %q: Failed setting up device via monitor: Failed adding NIC device: %s", name, problem)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if d := after[name]; d["type"] == "nic" && !maps.Equal(d, before[name]) {
			if err := parentError(i, name); err != nil {
				return err
			}
		}
	}
	i.Ports = ports
	return nil
}

// parentError is LXD's error about a NIC on a bridge that the host does not have. LXD
// notices this only when it starts the NIC.
func parentError(i *world.Instance, name string) error {
	names := []string{}
	for _, known := range i.Server.HostInterfaces() {
		names = append(names, known.Name)
	}
	d := i.ExpandedDevices()[name]
	if d["type"] == "nic" && d["parent"] != "" && !slices.Contains(names, d["parent"]) && i.Server.Networks[d["parent"]] == nil {
		return operationErrorf("Failed to start device %q: Parent device %q doesn't exist", name, d["parent"])
	}
	return nil
}

// startError is LXD's error if the instance cannot start.
func startError(i *world.Instance) error {
	for _, name := range slices.Sorted(maps.Keys(i.ExpandedDevices())) {
		if err := parentError(i, name); err != nil {
			return err
		}
	}
	if i.ExpandedConfig()["security.protection.start"] == "true" {
		return operationError("Instance is protected from being started")
	}
	if i.NeedsMissingSEV() {
		return operationError("AMD SEV is not supported by the host")
	}
	return nil
}

// liveChangeError is LXD's error about a change that is not possible while a VM runs.
func liveChangeError(i *world.Instance, before, after map[string]string) error {
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		live := slices.ContainsFunc(liveKeys, func(l string) bool { return l == key || strings.HasSuffix(l, ".") && strings.HasPrefix(key, l) })
		switch {
		case before[key] == after[key]:
		case !live:
			return operationErrorf("Key %q cannot be updated when VM is running", key)
		case key == "limits.memory" && i.Server.MemoryIn(after[key]) > i.Server.MemoryIn(before[key]):
			return operationError("Cannot increase memory size beyond boot time size when VM is running")
		}
	}
	return nil
}

// shrinkError is LXD's error about a smaller root disk.
func shrinkError(before, after map[string]map[string]string) error {
	size := func(devices map[string]map[string]string) int64 {
		for _, d := range devices {
			if world.IsRoot(d) {
				return world.SizeOr(d["size"], world.VMDefaultDiskBytes)
			}
		}
		return 0
	}
	if size(after) < size(before) {
		return operationError("Failed to update device \"root\": Block volumes cannot be shrunk")
	}
	return nil
}

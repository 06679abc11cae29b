// Package instance says which instance options and devices of LXD a VM may have beside those
// that the program sets itself. It is pure.
package instance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is the kind of values of an instance option.
type kind int

const (
	text kind = iota
	boolean
	integer
	bootMode
	priority
	pinStrategy
	coreSet
)

// validValues are the values that LXD takes for each kind but text, in words and as a test. LXD
// refuses some values only after the VM was stopped for them. The plan must refuse those.
var validValues = map[kind]validValue{
	boolean:     {"true or false", isOneOf("true", "false")},
	integer:     {"a whole number", isInteger},
	bootMode:    {"one of uefi-secureboot, uefi-nosecureboot, bios", isOneOf("uefi-secureboot", "uefi-nosecureboot", "bios")},
	priority:    {"a whole number from 0 to 10", isPriority},
	pinStrategy: {"one of none, auto", isOneOf("none", "auto")},
	coreSet:     {"a set of numbers such as 0-1,3", regexp.MustCompile(`^\d+(-\d+)?(,\d+(-\d+)?)*$`).MatchString},
}

// validValue says in words which values LXD takes, and tests one.
type validValue struct {
	words string
	test  func(string) bool
}

func isOneOf(values ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(values, value) }
}

func isPriority(value string) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n >= 0 && n <= 10
}

// option is an allowed instance option of a VM. LXD changes a live option while the VM runs.
// LXD also accepts some of the others then, but they take effect at the next start.
type option struct {
	kind kind
	live bool
}

// options are LXD's options for VMs that do not affect what the program or MAAS sets
// (lxd/instance/instancetype/instance.go; live: lxd/instance/drivers/driver_qemu.go, Update).
var options = map[string]option{
	"boot.autostart":             {boolean, true},
	"boot.autostart.delay":       {integer, true},
	"boot.autostart.priority":    {integer, true},
	"boot.host_shutdown_timeout": {integer, true},
	"boot.stop.priority":         {integer, true},
	SecureBoot:                   {boolean, false},
	BootMode:                     {bootMode, false},
	"cluster.evacuate":           {text, true},
	"limits.cpu.nodes":           {coreSet, false},
	"limits.cpu.pin_strategy":    {pinStrategy, false},
	"limits.disk.priority":       {priority, false},
	"security.agent.metrics":     {boolean, false},
	"security.devlxd":            {boolean, false},
	"security.devlxd.images":     {boolean, false},
	"security.sev":               {boolean, false},
	"security.sev.policy.es":     {boolean, false},
	"snapshots.expiry":           {text, true},
	"snapshots.pattern":          {text, true},
	"snapshots.schedule":         {text, true},
	"snapshots.schedule.stopped": {boolean, true},
}

// The options for how a VM boots. An LXD has one of them: BootMode from 6.7 on.
const (
	SecureBoot = "security.secureboot"
	BootMode   = "boot.mode"
)

const (
	userOptionPrefix = "user."
	maxKey           = 255
	maxValue         = 4096
)

// refusedOptions are options that a VM cannot have, and why. A key that ends in a dot is a
// prefix. The first match counts.
var refusedOptions = []struct{ key, why string }{
	{"limits.memory.hugepages", "it is set by hugepages. Write hugepages = true"},
	{"limits.memory", "it is set by memory_mib. Write memory_mib"},
	{"limits.cpu.allowance", containersOnly},
	{"limits.cpu.priority", containersOnly},
	{"limits.cpu", "it is set by cores and pinned_cores. Write one of them"},
	{"limits.memory.", containersOnly},
	{"limits.processes", containersOnly},
	{"limits.hugepages.", containersOnly},
	{"limits.kernel.", containersOnly},
	{"linux.", containersOnly},
	{"nvidia.", containersOnly},
	{"security.idmap.", containersOnly},
	{"security.syscalls.", containersOnly},
	{"security.nesting", containersOnly},
	{"security.privileged", containersOnly},
	{"cloud-init.", guestData},
	{"user.user-data", guestData},
	{"user.vendor-data", guestData},
	{"user.network-config", guestData},
	{"user.meta-data", guestData},
	{"user.maaslxd.", "it is a mark of this program. Choose another key"},
	{"volatile.", "LXD keeps it itself. Leave it out"},
	{"image.", "LXD keeps it itself, and the VM has no image of LXD. Leave it out"},
	{"security.protection.", "it keeps MAAS from starting or deleting the VM. Write deletion_protection = true"},
}

const (
	containersOnly = "LXD has it for containers only. Leave it out"
	guestData      = "MAAS installs the VM and gives it its data. Write deploy.user_data_wo"
)

// IsAllowed tells whether a VM may have an instance option.
func IsAllowed(key string) bool { return keyProblem(key) == "" }

// IsLive tells whether LXD changes an option while the VM runs.
func IsLive(key string) bool { return options[key].live || strings.HasPrefix(key, userOptionPrefix) }

// OptionProblem says why a VM cannot have an instance option, and the way out; empty: it can.
func OptionProblem(key, value string) string {
	problem := keyProblem(key)
	switch o := options[key]; {
	case problem != "":
		return problem
	case value == "":
		return fmt.Sprintf("The value of %q is empty, and LXD would remove the key. Leave the key out.", key)
	case len(value) > maxValue:
		return fmt.Sprintf("The value of %q has %d bytes; at most %d are allowed.", key, len(value), maxValue)
	case o.kind != text && !validValues[o.kind].test(value):
		return fmt.Sprintf("%q is %s, not %q.", key, validValues[o.kind].words, value)
	}
	return ""
}

func isInteger(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return err == nil
}

// keyProblem is OptionProblem for a key alone.
func keyProblem(key string) string {
	if _, known := options[key]; known {
		return ""
	}
	for _, r := range refusedOptions {
		if key == r.key || strings.HasSuffix(r.key, ".") && strings.HasPrefix(key, r.key) {
			return fmt.Sprintf("A VM cannot be given %q: %s.", key, r.why)
		}
	}
	if name, isUsers := strings.CutPrefix(key, userOptionPrefix); isUsers && name != "" && len(key) <= maxKey && !strings.ContainsAny(key, " \t\r\n") {
		return ""
	}
	return fmt.Sprintf("A VM cannot be given %q. It may have user.* and: %s. An LXD profile may set others: see profile.", key, strings.Join(slices.Sorted(maps.Keys(options)), ", "))
}

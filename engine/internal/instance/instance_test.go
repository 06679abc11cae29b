package instance

import (
	"strings"
	"testing"
)

// TestOptionProblem says of an option whether a VM may have it, and the way out where not.
func TestOptionProblem(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, key, value, says string }{
		"User":        {"People keep notes in the area of users.", "user.team", "a", ""},
		"Autostart":   {"It is nobody else's.", "boot.autostart", "true", ""},
		"SecureBoot":  {"A VM boots without it unless it asks.", SecureBoot, "true", ""},
		"BootMode":    {"It is what newer LXDs have for that.", BootMode, "bios", ""},
		"BootModes":   {"LXD has three.", BootMode, "uefi", "one of uefi-secureboot"},
		"Nodes":       {"It goes with limits.cpu.", "limits.cpu.nodes", "0-1", ""},
		"NodesText":   {"LXD would refuse it once the VM is off.", "limits.cpu.nodes", "a", "set of numbers"},
		"Disk":        {"LXD has eleven.", "limits.disk.priority", "10", ""},
		"DiskTooHigh": {"LXD would refuse it once the VM is off.", "limits.disk.priority", "11", "from 0 to 10"},
		"Pins":        {"LXD has two.", "limits.cpu.pin_strategy", "auto", ""},
		"PinsCase":    {"LXD would refuse it once the VM is off.", "limits.cpu.pin_strategy", "Auto", "one of none, auto"},
		"Cores":       {"Placement counts them.", "limits.cpu", "4", "cores and pinned_cores"},
		"Memory":      {"Placement counts it.", "limits.memory", "4GiB", "memory_mib"},
		"HugePages":   {"Placement counts them.", "limits.memory.hugepages", "true", "hugepages = true"},
		"Swap":        {"VMs have none.", "limits.memory.swap", "true", "containers only"},
		"Priority":    {"VMs have none.", "limits.cpu.priority", "5", "containers only"},
		"CloudInit":   {"MAAS gives the guest its data.", "cloud-init.user-data", "x", "deploy.user_data_wo"},
		"OldUserData": {"So it is called by older guests.", "user.user-data", "x", "deploy.user_data_wo"},
		"Mark":        {"By it a VM is found.", "user.maaslxd.key", "x", "mark of this program"},
		"Volatile":    {"LXD would drop it.", "volatile.x", "x", "LXD keeps it itself"},
		"Protection":  {"MAAS could not delete the VM.", "security.protection.delete", "true", "deletion_protection"},
		"Raw":         {"It bypasses what LXD checks.", "raw.qemu", "-x", "An LXD profile may set others"},
		"Typo":        {"LXD would refuse it later.", "boot.autostrat", "true", "boot.autostart"},
		"NoName":      {"An area is no key.", "user.", "x", "cannot be given"},
		"Space":       {"A key has none.", "user.a b", "x", "cannot be given"},
		"Empty":       {"LXD takes it for a removal.", "user.team", "", "Leave the key out"},
		"Long":        {"It would swell the state.", "user.team", strings.Repeat("x", 4097), "4097 bytes"},
		"NoBool":      {"LXD would refuse it later.", "boot.autostart", "maybe", "true or false"},
		"NoNumber":    {"LXD would refuse it later.", "boot.autostart.delay", "soon", "whole number"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := OptionProblem(tc.key, tc.value)
			if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s\nwant %q in %q", tc.reason, tc.says, got)
			}
		})
	}
}

// TestDeviceProblem does so of a device.
func TestDeviceProblem(t *testing.T) {
	t.Parallel()
	type has = map[string]string
	cases := map[string]struct {
		reason, name, kind string
		properties         has
		part, says         string
	}{
		"TPM":        {"It takes no properties.", "tpm0", "tpm", nil, "", ""},
		"GPU":        {"It is found by its address.", "gpu0", "gpu", has{"pci": "0000:01:00.0"}, "", ""},
		"USB":        {"It is found by its vendor.", "key", "usb", has{"vendorid": "1d6b"}, "", ""},
		"PCI":        {"It is found by its address.", "card", "pci", has{"address": "0000:01:00.0"}, "", ""},
		"NoAddress":  {"LXD wants one.", "card", "pci", nil, "properties", "needs its address"},
		"BadAddress": {"LXD would refuse it once the VM is off.", "card", "pci", has{"address": "1:0"}, "properties.address", "PCI address such as"},
		"BadGPU":     {"LXD would refuse it once the VM is off.", "gpu0", "gpu", has{"pci": "card0"}, "properties.pci", "PCI address such as"},
		"TwoWays":    {"LXD would refuse it once the VM is off.", "gpu0", "gpu", has{"pci": "0000:01:00.0", "vendorid": "10de"}, "properties", "With pci, a gpu device needs no other name"},
		"Vendor":     {"LXD would refuse it.", "key", "usb", has{"vendorid": "1D6B"}, "properties.vendorid", "four lower-case"},
		"Bus":        {"LXD would refuse it.", "key", "usb", has{"busnum": "one"}, "properties.busnum", "a number"},
		"Mixed":      {"LXD has devices of such names.", "vTPM_0", "tpm", nil, "", ""},
		"NoMdev":     {"LXD wants one.", "gpu0", "gpu", has{"gputype": "mdev"}, "properties", "property mdev"},
		"GPUType":    {"LXD has three for VMs.", "gpu0", "gpu", has{"gputype": "mig"}, "properties.gputype", "one of physical"},
		"Property":   {"LXD would refuse it later.", "gpu0", "gpu", has{"adress": "x"}, "properties.adress", "It has: gputype"},
		"Path":       {"It is a container's.", "tpm0", "tpm", has{"path": "/dev/tpm0"}, "properties.path", "It has: none"},
		"Value":      {"It says nothing.", "key", "usb", has{"serial": ""}, "properties.serial", "Remove the property"},
		"Disk":       {"Disks are ours.", "scratch", "disk", nil, "type", "write disks"},
		"Char":       {"LXD has it for containers only.", "tty", "unix-char", nil, "type", "gpu, pci, tpm, usb"},
		"Root":       {"It is the disk.", "root", "tpm", nil, "", "Choose another name"},
		"NIC":        {"It is an interface.", "eth12", "usb", nil, "", "Choose another name"},
		"Volume":     {"It is a disk.", "disk1", "usb", nil, "", "Choose another name"},
		"Name":       {"It goes into an address.", "GPU 0", "gpu", nil, "", "letters, digits"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part, got := DeviceProblem(tc.name, tc.kind, tc.properties)
			if part.String() != tc.part || (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s\nwant %q at %q, got %q at %q", tc.reason, tc.says, tc.part, got, part)
			}
		})
	}
}

package vm

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestBadInput gives one bad value each. It wants one error at the attribute, with a way out.
func TestBadInput(t *testing.T) {
	t.Parallel()
	good := object{"name": "web-1", "vm_host": "lxd-a"}
	root := object{"size_gb": 8}
	placed := func(o object) object { return object{"vm_host": nil, "placement": o} }
	cases := map[string]struct {
		reason string
		bad    object
		at     string
		says   string
	}{
		"Good":              {reason: "A name and a host are enough."},
		"NameDot":           {"MAAS accepts a dot, LXD does not.", object{"name": "web-1.example.com"}, "name", `domain = "example.com"`},
		"NameUpper":         {"MAAS does not find upper-case hostnames.", object{"name": "Web-1"}, "name", `"web-1"`},
		"NameDigitFirst":    {"LXD refuses a digit in front.", object{"name": "1web"}, "name", "Put a letter"},
		"NameNumber":        {"LXD refuses numbers.", object{"name": "42"}, "name", "Put a letter"},
		"NameUnderscore":    {"DNS has no underscores in hostnames.", object{"name": "web_1"}, "name", "not a DNS label"},
		"NameHyphen":        {"No label begins with a hyphen.", object{"name": "-web"}, "name", "no hyphen at either end"},
		"NameLong":          {"A label has at most 63 characters.", object{"name": strings.Repeat("a", 64)}, "name", "1 to 63"},
		"NameEmpty":         {"A VM needs a name.", object{"name": ""}, "name", "1 to 63"},
		"HostEmpty":         {"An empty text names no host.", object{"vm_host": " "}, "vm_host", "empty"},
		"HostAndPlacement":  {"One excludes the other.", object{"placement": object{}}, "placement", "Remove one of them"},
		"NoHost":            {"A VM needs a host.", object{"vm_host": nil}, "vm_host", "placement = {} takes any"},
		"AnyHost":           {reason: "An empty placement takes any host.", bad: placed(object{})},
		"PlacedNowhere":     {reason: "An empty set of tags asks for none.", bad: placed(object{"tags": []string{}, "strategy": "pack", "group": "ns/web"})},
		"Strategy":          {"There are two strategies.", placed(object{"strategy": "fill"}), "placement.strategy", `"spread" "pack"`},
		"StrategyEmpty":     {"Empty is not the same as null.", placed(object{"strategy": ""}), "placement.strategy", `"spread" "pack"`},
		"PlacementZone":     {"Empty is not the same as null.", placed(object{"zone": ""}), "placement.zone", "leave the attribute out"},
		"PlacementPool":     {"Empty is not the same as null.", placed(object{"pool": " "}), "placement.pool", "leave the attribute out"},
		"PlacementTag":      {"MAAS refuses empty tags.", placed(object{"tags": []string{""}}), "placement.tags", "letters, digits"},
		"GroupEmpty":        {"Empty is not the same as null.", placed(object{"group": ""}), "placement.group", "1 to 128"},
		"GroupLong":         {"A name of a group follows rules.", placed(object{"group": strings.Repeat("g", 129)}), "placement.group", "1 to 128"},
		"GroupSpace":        {"Without spaces.", placed(object{"group": "a b"}), "placement.group", "1 to 128"},
		"ZoneEmpty":         {"Empty is not the same as null.", object{"zone": ""}, "zone", "leave the attribute out"},
		"CoresZero":         {"A VM needs a core.", object{"cores": 0}, "cores", "between 1 and 4096"},
		"CoresNegative":     {"The number cannot be negative.", object{"cores": -1}, "cores", "between 1 and 4096"},
		"CoresAbsurd":       {"No host has so many.", object{"cores": 1 << 20}, "cores", "between 1 and 4096"},
		"CoresTwice":        {"Set the number of cores or pin them, not both.", object{"cores": 2, "pinned_cores": []int{0}}, "cores", "pinned_cores"},
		"PinnedNone":        {"An empty list pins nothing.", object{"pinned_cores": []int{}}, "pinned_cores", "at least 1"},
		"PinnedTwice":       {"A core cannot be pinned twice.", object{"pinned_cores": []int{1, 1}}, "pinned_cores", "duplicate"},
		"PinnedNegative":    {"Cores are counted from 0.", object{"pinned_cores": []int{-1}}, "pinned_cores", "between 0"},
		"MemoryLittle":      {"MAAS refuses less than 1024 MiB.", object{"memory_mib": 1023}, "memory_mib", "between 1024"},
		"MemoryNegative":    {"Memory is not negative.", object{"memory_mib": -1}, "memory_mib", "between 1024"},
		"MemoryAbsurd":      {"Somebody wrote bytes for MiB.", object{"memory_mib": 8589934592}, "memory_mib", "between 1024"},
		"DisksNoRoot":       {"A VM boots from its root disk.", object{"disks": object{"data": root}}, "disks", `named "root"`},
		"DisksEmpty":        {"So it needs one.", object{"disks": object{}}, "disks", `named "root"`},
		"DiskZero":          {"A disk needs a size.", object{"disks": object{"root": object{"size_gb": 0}}}, "disks.root.size_gb", "between 1"},
		"DiskNegative":      {"The size is positive.", object{"disks": object{"root": object{"size_gb": -8}}}, "disks.root.size_gb", "between 1"},
		"DiskAbsurd":        {"Somebody wrote bytes for GB.", object{"disks": object{"root": object{"size_gb": 8000000000}}}, "disks.root.size_gb", "between 1"},
		"DiskName":          {"Messages show the names of disks.", object{"disks": object{"root": root, "a b": root}}, "disks.a b", "lower-case letters"},
		"DiskPoolEmpty":     {"Empty is not the same as null.", object{"disks": object{"root": object{"size_gb": 8, "pool": ""}}}, "disks.root.pool", "leave the attribute out"},
		"InterfacesEmpty":   {"An empty map is not the same as MAAS's choice.", object{"interfaces": object{}}, "interfaces", "at least 1"},
		"InterfaceNoSubnet": {"An interface needs a subnet.", object{"interfaces": object{"eth0": object{"subnet": ""}}}, "interfaces.eth0.subnet", "empty"},
		"InterfaceIP":       {"An address has no mask.", object{"interfaces": object{"eth0": object{"subnet": "lan", "ip": "10.0.0.1/24"}}}, "interfaces.eth0.ip", "without a mask"},
		"InterfaceOutside":  {"An address is in its subnet.", object{"interfaces": object{"eth0": object{"subnet": "10.0.0.0/24", "ip": "10.1.0.1"}}}, "interfaces.eth0.ip", "not in 10.0.0.0/24"},
		"InterfaceNowhere":  {"An interface needs a network.", object{"interfaces": object{"eth0": object{"mode": "auto"}}}, "interfaces.eth0", "subnet"},
		"InterfaceMode":     {"MAAS has four modes.", object{"interfaces": object{"eth0": object{"subnet": "lan", "mode": "bootp"}}}, "interfaces.eth0.mode", "link_up"},
		"InterfaceDHCP":     {"DHCP gives the address.", object{"interfaces": object{"eth0": object{"subnet": "lan", "mode": "dhcp", "ip": "10.0.0.9"}}}, "interfaces.eth0.mode", "10.0.0.9"},
		"InterfaceVLAN":     {"A tag has 12 bits.", object{"interfaces": object{"eth0": object{"vlan": 4095}}}, "interfaces.eth0.vlan", "4094"},
		"InterfaceMAC":      {"MAAS spells it differently.", object{"interfaces": object{"eth0": object{"subnet": "lan", "mac_address": "00-16-3E-12-34-56"}}}, "interfaces.eth0.mac_address", `Write "00:16:3e:12:34:56"`},
		"InterfaceBridge":   {"Linux accepts no such name.", object{"interfaces": object{"eth0": object{"subnet": "lan", "bridge": "br 1"}}}, "interfaces", "interfaces.eth0.bridge"},
		"InterfaceSpace":    {"A space cannot have that name.", object{"interfaces": object{"eth0": object{"space": " "}}}, "interfaces.eth0.space", "empty"},
		"InterfaceUp": {
			"MAAS deploys no machine without an address.",
			object{"deploy": object{"image": "ubuntu/noble"}, "interfaces": object{"eth0": object{"subnet": "lan", "mode": "link_up"}}}, "interfaces.eth0.mode", "link_up",
		},
		"InterfaceMore": {
			"Two links cannot share an address.",
			object{"interfaces": object{"eth0": object{"subnet": "lan", "ip": "10.0.0.9", "addresses": []object{{"subnet": "lan", "ip": "10.0.0.9"}}}}}, "interfaces.eth0.addresses.0.ip", "10.0.0.9",
		},
		"InterfaceMoreUp": {
			"The mode link_up has no address.",
			object{"interfaces": object{"eth0": object{"subnet": "lan", "addresses": []object{{"subnet": "lan", "mode": "link_up"}}}}}, "interfaces.eth0.addresses", "auto",
		},
		"InterfaceTwice": {
			"Two interfaces cannot share an address.",
			object{"interfaces": object{"eth0": object{"subnet": "lan", "ip": "10.0.0.1"}, "eth1": object{"subnet": "lan", "ip": "10.0.0.1"}}},
			"interfaces.eth1.ip", `"eth0"`,
		},
		"ProtectedReady":   {"MAAS locks only deployed machines.", object{"deletion_protection": true}, "deletion_protection", "Add deploy"},
		"Protected":        {reason: "The other machines cannot be locked.", bad: object{"deletion_protection": true, "deploy": object{}}},
		"UnprotectedReady": {reason: "false asks for no lock.", bad: object{"deletion_protection": false}},
		"DescribedAsOurs":  {"It does not look like our mark.", object{"description": "maaslxd-0123456789ab default/web-1"}, "description", "are marks"},
		"DescribedLong":    {"A description is a note, not a file.", object{"description": strings.Repeat("x", 4097)}, "description", "at most 4096"},
		"DescribedBell":    {"MAAS refuses some characters, and no page shows them.", object{"description": "a\abell"}, "description", "control characters"},
		"DescribedEmpty":   {reason: "An empty text clears it.", bad: object{"description": ""}},
		"Described":        {reason: "A description may have several lines.", bad: object{"description": "Books.\n\tAsk Ana of maaslxd: she knows.\n"}},
		"AnnotationBlank":  {"MAAS refuses blanks in keys.", object{"annotations": object{"a b": "x"}, "deploy": object{}}, "annotations", "letters, digits"},
		"AnnotationLong":   {"MAAS keeps 255 characters of a key.", object{"annotations": object{strings.Repeat("k", 256): "x"}, "deploy": object{}}, "annotations", "1 to 255"},
		"AnnotationOurs":   {"Others must not write our marks.", object{"annotations": object{"maaslxd-key": "x"}, "deploy": object{}}, "annotations", "marks of this program"},
		"AnnotationOp":     {"MAAS drops it.", object{"annotations": object{"op": "x"}, "deploy": object{}}, "annotations", `MAAS uses the key "op" itself`},
		"AnnotationEmpty":  {"MAAS takes it for a removal.", object{"annotations": object{"app": ""}, "deploy": object{}}, "annotations", "between 1 and 4096"},
		"AnnotationHuge":   {"An annotation is a note, not a file.", object{"annotations": object{"app": strings.Repeat("x", 4097)}, "deploy": object{}}, "annotations", "between 1 and 4096"},
		"OptionOwn":        {"The attribute cores exists for it.", object{"config": object{"limits.cpu": "4"}}, "config", "cores and pinned_cores"},
		"OptionTypo":       {"LXD would refuse it during the apply.", object{"config": object{"boot.autostrat": "true"}}, "config", "An LXD profile may set others"},
		"OptionValue":      {"LXD would refuse this value, too.", object{"config": object{"boot.autostart": "yes please"}}, "config", "true or false"},
		"OptionEmpty":      {"LXD takes it for a removal.", object{"config": object{"user.team": ""}}, "config", "Leave the key out"},
		"Options":          {reason: "These are typical options.", bad: object{"config": object{"user.team": "a", "security.secureboot": "true"}}},
		"DeviceType":       {"Disks have an attribute of their own.", object{"devices": object{"data": object{"type": "disk"}}}, "devices", `"gpu" "pci" "tpm" "usb"`},
		"DeviceName":       {"It is the name of an interface.", object{"devices": object{"eth0": object{"type": "tpm"}}}, "devices", "Choose another name"},
		"DeviceProperty":   {"LXD would refuse it during the apply.", object{"devices": object{"g": object{"type": "gpu", "properties": object{"adress": "x"}}}}, "devices", "It has: gputype"},
		"Devices":          {reason: "These are typical devices.", bad: object{"devices": object{"tpm0": object{"type": "tpm"}}}},
		"AnnotatedReady":   {"MAAS annotates only deployed machines.", object{"annotations": object{"app": "web"}}, "annotations", "Add deploy"},
		"AnnotatedNothing": {reason: "An empty map annotates nothing.", bad: object{"annotations": object{}}},
		"Annotated":        {reason: "These are typical annotations.", bad: object{"annotations": object{"team.example_1-a": "web"}, "deploy": object{}}},
		"PowerAbsurd":      {"There are two values.", object{"power_state": "on"}, "power_state", `"running" "stopped"`},
		"PowerEmpty":       {"Empty is not the same as null.", object{"power_state": ""}, "power_state", `"running" "stopped"`},
		"RunningReady":     {"MAAS turns on only deployed machines.", object{"power_state": "running"}, "power_state", "Add deploy"},
		"StoppedReady":     {reason: "A VM that is only commissioned can be off.", bad: object{"power_state": "stopped"}},
		"PowerInMemory":    {"The VM would lose all its data.", object{"power_state": "stopped", "deploy": object{"ephemeral": true}}, "power_state", "runs from memory"},
		"StopInMemory":     {"The VM would lose all its data here, too.", object{"allow_stopping_for_update": true, "deploy": object{"ephemeral": true}}, "allow_stopping_for_update", "runs from memory"},
		"MayStop":          {reason: "A VM that runs from disk may be stopped.", bad: object{"allow_stopping_for_update": true, "power_state": "running", "deploy": object{}}},
		"Tag":              {"MAAS refuses spaces in tags.", object{"tags": []string{"a b"}}, "tags", "letters, digits"},
		"Image":            {"An image needs a name.", object{"deploy": object{"image": "ubuntu noble"}}, "deploy.image", "ubuntu/noble"},
		"KernelEmpty":      {"Empty is not the same as null.", object{"deploy": object{"kernel": ""}}, "deploy.kernel", "leave the attribute out"},
		"UserDataLarge":    {"Proxies refuse 1 MiB.", object{"deploy": object{"user_data_wo": strings.Repeat("x", 1<<20), "user_data_wo_version": 1}}, "deploy.user_data_wo", "#include"},
		"UserDataVersion":  {"A version counts up.", object{"deploy": object{"user_data_wo": "#!/bin/true", "user_data_wo_version": -1}}, "deploy.user_data_wo_version", "at least 0"},
		"UserDataOfNoKind": {"cloud-init ignores it.", object{"deploy": object{"user_data_wo": "packages: [nginx]", "user_data_wo_version": 1}}, "deploy.user_data_wo", "#cloud-config"},
		"UserDataOfAnotherSystem": {
			reason: "In a custom image, another program may read the user-data.",
			bad:    object{"deploy": object{"image": "custom/windows", "user_data_wo": "#ps1", "user_data_wo_version": 1}},
		},
		"UserDataMost": {
			reason: "The largest allowed size passes.",
			bad:    object{"deploy": object{"user_data_wo": "#!/bin/sh\n" + strings.Repeat("x", engine.MaxUserDataBytes-10), "user_data_wo_version": 1}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := providertest.ServeResource(t, NewResource).Validate(good.WithChanges(tc.bad))
			if tc.at == "" {
				for _, d := range got {
					t.Errorf("%s\n%s: %s", tc.reason, d.Summary, d.Detail)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%s\ngot %d diagnostics, want 1: %+v", tc.reason, len(got), got)
			}
			d := got[0]
			if at := providertest.AttributePath(d); !strings.HasPrefix(at, tc.at) || !strings.Contains(d.Detail, tc.says) {
				t.Errorf("%s\ngot %q at %s, want %q at %s", tc.reason, d.Detail, at, tc.says, tc.at)
			}
		})
	}
}

func TestUserDataAndVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		deploy object
		warns  string // where the warning is; empty for none
	}{
		"Both":        {"The version identifies the user-data.", object{"user_data_wo": "#!/bin/true", "user_data_wo_version": 1}, ""},
		"Neither":     {"No user-data needs no version.", object{}, ""},
		"OnlyVersion": {"The version has no user-data.", object{"user_data_wo_version": 1}, "deploy.user_data_wo_version"},
		"OnlyData":    {"No later change of it would be seen.", object{"user_data_wo": "#!/bin/true"}, "deploy.user_data_wo"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := object{"name": "web-1", "vm_host": "lxd-a", "deploy": tc.deploy}
			var at []string
			for _, d := range providertest.ServeResource(t, NewResource).Validate(config) {
				if d.Severity != tfprotov6.DiagnosticSeverityWarning {
					t.Errorf("%s: %s", d.Summary, d.Detail)
				}
				at = append(at, providertest.AttributePath(d))
			}
			if got := strings.Join(at, ", "); got != tc.warns {
				t.Errorf("%s\ngot warnings at %q, want %q", tc.reason, got, tc.warns)
			}
		})
	}
}

package machine

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestBadConfiguration wants one error at the attribute, with a way out, and no call.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	nics := func(o object) object { return object{"interfaces": o} }
	laidOut := func(o object) object { return object{"deploy": object{"storage_layout": o}} }
	cases := map[string]struct {
		reason   string
		config   object
		at, says string // empty: the configuration is valid
	}{
		"Named":      {reason: "The configuration names a machine."},
		"Selected":   {reason: "An empty selector accepts any machine.", config: object{"machine": nil, "selector": object{}}},
		"Both":       {"Machine and selector exclude each other.", object{"selector": object{}}, "selector", "Remove one of them"},
		"Neither":    {"Without machine and selector, nothing chooses a machine.", object{"machine": nil}, "machine", "selector = {} takes any"},
		"NoMachine":  {"An empty name names no machine.", object{"machine": ""}, "machine", "leave the attribute out"},
		"NoName":     {"The mark contains the name, so it cannot be empty.", object{"name": ""}, "name", "must be 1 to 63"},
		"SlashName":  {"A name with a slash could be the key of another object.", object{"name": "vm-hosts/a"}, "name", "must be 1 to 63"},
		"LongName":   {"MAAS refuses a longer name.", object{"name": strings.Repeat("a", 64)}, "name", "must be 1 to 63"},
		"Digit":      {reason: "Only LXD refuses a leading digit, and MAAS accepts it.", config: object{"hostname": "9db"}},
		"FQDN":       {"The domain has an attribute of its own.", object{"hostname": "db.maas"}, "hostname", `hostname = "db" and domain = "maas"`},
		"UpperCase":  {"MAAS finds machines only by lower-case hostnames.", object{"hostname": "DB-1"}, "hostname", `write "db-1"`},
		"NoHostname": {"A DNS label does not begin with a hyphen.", object{"hostname": "-db"}, "hostname", "not a DNS label"},
		"NoZone":     {"An empty name names no zone.", object{"zone": ""}, "zone", "leave the attribute out"},
		"NoDomain":   {"An empty name names no domain.", object{"domain": " "}, "domain", "leave the attribute out"},
		"OwnTag":     {"MAAS refuses a tag with a space.", object{"tags": []string{"a b"}}, "tags", "letters, digits"},
		"OurMark":    {"The description would look like a mark of this provider.", object{"description": "maaslxd-0011 x"}, "description", "Use another word"},
		"OurNote":    {"A release restores the network from such lines.", object{"description": "network by maaslxd: br0"}, "description", "Begin the line with another text"},
		"OurData":    {"The key is one of this provider's marks.", object{"annotations": object{"maaslxd-key": "x"}}, "annotations", "Choose another key"},
		"Image":      {"An image of MAAS has at most one slash.", object{"deploy": object{"image": "a/b/c"}}, "deploy.image", "ubuntu/noble"},
		"Kernel":     {"An empty name names no kernel.", object{"deploy": object{"kernel": " "}}, "deploy.kernel", "leave the attribute out"},
		"HugeData": {
			"MAAS does not deliver user-data of this size.", object{"deploy": object{"user_data_wo": strings.Repeat("a", engine.MaxUserDataBytes+1), "user_data_wo_version": 1}},
			"deploy.user_data_wo", "#include",
		},
		"Unversioned": {"Without a version, Terraform sees no change of write-only data.", object{"deploy": object{"user_data_wo": "a"}}, "deploy.user_data_wo", "Set user_data_wo_version"},
		"Layout":      {reason: "A layout may give the root file system a part of the disk.", config: laidOut(object{"type": "flat", "root_disk": "sda", "root_size_gb": 40})},
		"BadLayout":   {"MAAS has no such layout.", laidOut(object{"type": "raid"}), "deploy.storage_layout.type", "Use one of bcache, custom, flat, lvm"},
		"Blank":       {"MAAS cannot install a system without a partition.", laidOut(object{"type": "blank"}), "deploy.storage_layout.type", "Use one of"},
		"SmallRoot":   {"MAAS requires 3 GiB, which is more than 3 GB.", laidOut(object{"type": "flat", "root_size_gb": 3}), "deploy.storage_layout.root_size_gb", "at least 4"},
		"FlatVolume":  {"Only LVM has volumes.", laidOut(object{"type": "flat", "volume_size_gb": 9}), "deploy.storage_layout.volume_size_gb", `use the type "lvm"`},
		"LargeVolume": {"The volume is larger than the volume group.", laidOut(object{"type": "lvm", "root_size_gb": 8, "volume_size_gb": 9}), "deploy.storage_layout.volume_size_gb", "Raise root_size_gb"},
		"ESXiDisk":    {"MAAS always uses the boot disk for ESXi.", laidOut(object{"type": "vmfs7", "root_disk": "sdb"}), "deploy.storage_layout.root_disk", "Leave it out"},
		"CacheMode":   {"bcache has only three cache modes.", laidOut(object{"type": "bcache", "cache_mode": "fast"}), "deploy.storage_layout.cache_mode", "Use one of writeback"},
		"FlatCache":   {"Only bcache has a cache.", laidOut(object{"type": "flat", "cache_mode": "writeback"}), "deploy.storage_layout.cache_mode", `use the type "bcache"`},
		"MemoryDisks": {
			"A system in memory has no root disk.", object{"deploy": object{"ephemeral": true, "storage_layout": object{"type": "flat"}}},
			"deploy.storage_layout", "or deploy.ephemeral",
		},
		"Erase":     {"MAAS has only three ways to erase disks.", object{"release": object{"erase": "shred"}}, "release.erase", `"quick"`},
		"Cores":     {"Zero cores select nothing, so the attribute must be left out.", object{"machine": nil, "selector": object{"min_cores": 0}}, "selector.min_cores", "at least 1"},
		"Tag":       {"MAAS refuses a tag with a space.", object{"machine": nil, "selector": object{"tags": []string{"a b"}}}, "selector.tags", "letters, digits"},
		"NoAddress": {"An address of an interface has no mask.", nics(object{"eth0": object{"ip": "10.0.0.0/24"}}), "interfaces.eth0.ip", "without a mask"},
		"Elsewhere": {"The address is in another subnet.", nics(object{"eth0": object{"ip": "10.1.0.9", "subnet": "10.0.0.0/24"}}), "interfaces.eth0.ip", "not in 10.0.0.0/24"},
		"Twice":     {"Two interfaces cannot share an address.", nics(object{"a": object{"ip": "10.0.0.9"}, "b": object{"ip": "10.0.0.9"}}), "interfaces.b.ip", `interface "a" too`},
		"Label":     {"A label is short and plain, because messages show it.", nics(object{"ETH 0": object{"ip": "10.0.0.9"}}), "interfaces.ETH 0", "must be 1 to 32"},
		"Empty":     {"An empty map means no interface.", nics(object{}), "interfaces", "at least 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := providertest.ServeResource(t, NewResource).Validate(configuredMachine.WithChanges(tc.config))
			if tc.says == "" && len(got) == 0 {
				return
			}
			if tc.says == "" || len(got) != 1 || !strings.HasPrefix(providertest.AttributePath(got[0]), tc.at) || !strings.Contains(got[0].Detail, tc.says) {
				t.Errorf("%s\nwant %q at %s, got %+v", tc.reason, tc.says, tc.at, got)
			}
		})
	}
}

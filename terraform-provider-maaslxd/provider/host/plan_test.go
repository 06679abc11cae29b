package host

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// object is a VM host, or an object in it, in Terraform's JSON.
type object = providertest.Object

// planOf makes a plan without a MAAS. A nil state is a create.
func planOf(t *testing.T, config, state object, n privateState) *providertest.Plan {
	t.Helper()
	return providertest.ServeResource(t, NewResource).Plan(config, state, map[string]any{privateStateKey: n})
}

// A host of a machine: its configuration, and its state after an apply.
var (
	hostConfig = object{"name": "kvm1", "machine": "node1", "zone": "az1"}
	madeHost   = object{
		"id": "4y3h7n", "system_id": "4y3h7n", "name": "kvm1", "machine": "node1", "hostname": "node1", "adopt": false,
		"lxd_address": "https://10.0.0.5:8443", "adopt_existing_vms": false, "zone": "az1", "pool": "default",
		"cpu_overcommit": 1, "memory_overcommit": 1, "default_storage_pool": "default", "force_destroy": false, "on_create_failure": "keep",
		"vm_host_id": 3, "lxd_version": "5.21.3", "status": "Deployed", "ip_addresses": []string{"10.0.0.5"},
		"cores": object{"total": 8, "used": 0, "free": 8}, "memory_mib": object{"total": 8192, "used": 0, "free": 8192},
		"storage_pools":           object{"default": object{"driver": "zfs", "total_gb": 50, "free_gb": 50, "default": true}},
		"certificate_fingerprint": "aa", "server_fingerprint": "bb", "trusted_fingerprints": []string{"aa"},
	}
	hostMade = privateState{Key: "default/vm-hosts/kvm1"}
)

func TestPlanOfHostChanges(t *testing.T) {
	t.Parallel()
	inventory := []string{
		"certificate_fingerprint", "cores", "cpu_overcommit", "default_storage_pool", "ip_addresses", "lxd_version", "memory_mib",
		"memory_overcommit", "pool", "server_fingerprint", "status", "storage_pools", "vm_host_id",
	}
	both := slices.Sorted(slices.Values(append([]string{"lxd_address"}, inventory...)))
	lxd := func(o object) object { return hostConfig.WithChanges(object{"lxd": o}) }
	cases := map[string]struct {
		reason   string
		config   object
		state    object
		notes    privateState
		replaces []string
		unknown  []string
		warnings int
	}{
		"Nothing":      {reason: "Without a difference, nothing changes.", config: hostConfig},
		"InPlace":      {reason: "MAAS changes these in place.", config: hostConfig.WithChanges(object{"name": "kvm2", "zone": "az2", "pool": "web", "tags": []string{"a"}})},
		"MachineFQDN":  {reason: "It is the same machine.", config: hostConfig.WithChanges(object{"machine": "node1.example.com"})},
		"MachineID":    {reason: "It is the same machine.", config: hostConfig.WithChanges(object{"machine": "4y3h7n"})},
		"OtherMachine": {reason: "It is another machine.", config: hostConfig.WithChanges(object{"machine": "node2"}), replaces: []string{"machine"}},
		"OtherServer":  {reason: "The user accepts the new certificate.", config: hostConfig.WithChanges(object{"server_fingerprint": "cc"})},
		"BySelector": {
			reason: "A selector keeps the chosen machine.",
			config: hostConfig.WithChanges(object{"machine": nil, "selector": object{"tags": []string{"a"}}}),
		},
		"OtherSelector": {
			reason: "A selector matters only when a host is made.", warnings: 1,
			config: hostConfig.WithChanges(object{"machine": nil, "selector": object{"min_cores": 2}}),
			state:  madeHost.WithChanges(object{"machine": nil, "selector": object{"min_cores": 4}}),
		},
		"AddressSpelling": {reason: "It is another spelling of the same value.", config: hostConfig.WithChanges(object{"machine": nil, "address": "10.0.0.5"})},
		"OtherAddress":    {reason: "Another LXD.", config: hostConfig.WithChanges(object{"machine": nil, "address": "10.0.0.6"}), replaces: []string{"address"}},
		"ImageOfOneShortName": {
			reason: "The short name was that of another image.", config: hostConfig.WithChanges(object{"deploy": object{"image": "custom/noble"}}),
			state: madeHost.WithChanges(object{"deploy": object{"image": "noble"}}), notes: privateState{Key: hostMade.Key, Image: "ubuntu/noble"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"ImportedTagsClaimed": {
			reason: "An apply has to record that the tags belong to the configuration.", config: hostConfig.WithChanges(object{"tags": []string{"a"}}),
			state: madeHost.WithChanges(object{"tags": []string{"a"}}), notes: privateState{Key: hostMade.Key, Unclaimed: planmodifiers.Unclaimed{"tags"}}, unknown: []string{"status"},
		},
		"ImageInFull": {
			reason: "It names the installed image.", config: hostConfig.WithChanges(object{"deploy": object{"image": "ubuntu/noble"}}),
			state: madeHost.WithChanges(object{"deploy": object{"image": "noble"}}), notes: privateState{Key: hostMade.Key, Image: "ubuntu/noble"},
		},
		"Overcommit": {
			reason: "Values that the user did not fix follow.", config: hostConfig.WithChanges(object{"cpu_overcommit": 2}), unknown: []string{"cores"},
		},
		"DefaultsWritten": {
			reason: "Writing a default changes nothing.",
			config: lxd(object{"channel": "5.21/stable", "storage_pools": object{"default": object{"driver": "zfs", "size_gb": 50}}, "networks": object{"br0": object{}}}),
		},
		"Channel": {reason: "A first boot happens once.", config: lxd(object{"channel": "5.21/candidate"}), replaces: []string{"lxd"}},
		"Pool": {
			reason: "A first boot happens once.", config: lxd(object{"storage_pools": object{"default": object{"size_gb": 60}}}), replaces: []string{"lxd"},
		},
		"Project": {reason: "MAAS would delete the VMs of the former project.", config: lxd(object{"project": "other"}), replaces: []string{"lxd"}},
		"Bridge":  {reason: "MAAS makes it before the deployment.", config: hostConfig.WithChanges(object{"bridge": object{"nic": "eth1"}}), replaces: []string{"bridge"}},
		"BridgeWritten": {
			reason: "It is the default bridge.", config: hostConfig.WithChanges(object{"bridge": object{"name": "br0"}}),
		},
		"UserData": {
			reason: "User-data runs at the first boot.", config: hostConfig.WithChanges(object{"deploy": object{"user_data_wo_version": 2}}),
			state: madeHost.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}), replaces: []string{"deploy"}, warnings: 1,
		},
		"FirstVersion": {
			reason: "New user-data needs a new first boot.", config: hostConfig.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}),
			replaces: []string{"deploy"}, warnings: 1,
		},
		"FirstVersionOfOldData": {
			reason: "It ran without a version.", config: hostConfig.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}),
			notes: privateState{Key: hostMade.Key, UserData: values.InstalledUserData{Ran: true}},
		},
		"VersionTakenAway": {
			reason: "User-data that ran is not undone.", config: hostConfig.WithChanges(object{"deploy": object{}}), state: madeHost.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}),
		},
		"Image": {
			reason: "The host is installed anew.", config: hostConfig.WithChanges(object{"deploy": object{"image": "ubuntu/jammy"}}),
			state: madeHost.WithChanges(object{"deploy": object{"image": "ubuntu/noble"}}), replaces: []string{"deploy"}, warnings: 1,
		},
		"Imported": {
			reason: "The setup is taken from the configuration.", config: lxd(object{"channel": "6/stable"}), warnings: 1,
			notes: privateState{Key: hostMade.Key, Imported: true},
		},
		"Unmarked": {
			reason: "The next apply adds a mark.", config: hostConfig, notes: privateState{Foreign: true, Imported: true},
			unknown: both,
		},
		"Pending": {
			reason: "An apply stopped waiting.", config: hostConfig, state: madeHost.WithChanges(object{"status": statusWaitingForLXD, "vm_host_id": nil}),
			notes: privateState{Key: hostMade.Key, Pending: true}, unknown: both,
		},
		"CutOffBeforeDeployment": {
			reason: "Its deployment decides what it trusts.", config: hostConfig,
			state: madeHost.WithChanges(object{"status": "Allocated", "vm_host_id": nil, "trusted_fingerprints": []string{}}),
			notes: privateState{Key: hostMade.Key, Pending: true}, unknown: slices.Sorted(slices.Values(append([]string{"trusted_fingerprints"}, both...))),
		},
		"Forgotten": {
			reason: "MAAS no longer has such a VM host.", config: hostConfig, state: madeHost.WithChanges(object{"vm_host_id": nil}),
			notes: privateState{Key: hostMade.Key, Forgotten: true}, unknown: both,
		},
		"Unrecorded": {
			reason: "An apply records the VM host for a MAAS without VM hosts.", config: hostConfig,
			notes: privateState{Key: hostMade.Key, Unrecorded: true}, unknown: []string{"status"}, warnings: 1,
		},
		"WithoutVMHosts": {
			reason: "A MAAS without VM hosts misses none.", config: hostConfig, state: madeHost.WithChanges(object{"vm_host_id": nil}),
		},
		"GivenUp": {
			reason: "A failed machine cannot be continued.", config: hostConfig, state: madeHost.WithChanges(object{"status": "Failed deployment", "vm_host_id": nil}),
			notes: privateState{Key: hostMade.Key, Pending: true}, unknown: both, replaces: []string{"status"}, warnings: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.state == nil {
				tc.state = madeHost
			}
			if reflect.ValueOf(tc.notes).IsZero() {
				tc.notes = hostMade
			}
			p := planOf(t, tc.config, tc.state, tc.notes)
			if diff := cmp.Diff(tc.replaces, p.ReplacingAttributes(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nreplaces (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.unknown, p.UnknownAttributes(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nunknown (-want +got):\n%s", tc.reason, diff)
			}
			if got := len(p.Diagnostics); got != tc.warnings {
				t.Errorf("%s\nwant %d diagnostics, got %v", tc.reason, tc.warnings, p.Diagnostics)
			}
		})
	}
}

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

// object is a VM host, or an object in it, as Terraform's JSON has it.
type object = providertest.Object

// planOf asks for a plan without a MAAS. A nil state is a create.
func planOf(t *testing.T, config, state object, n privateState) *providertest.Plan {
	t.Helper()
	return providertest.ServeResource(t, NewResource).Plan(config, state, map[string]any{privateStateKey: n})
}

// A host of a machine, as it is configured, and its state after an apply.
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
		"Nothing":      {reason: "What is as it is configured is left alone.", config: hostConfig},
		"InPlace":      {reason: "MAAS changes these.", config: hostConfig.WithChanges(object{"name": "kvm2", "zone": "az2", "pool": "web", "tags": []string{"a"}})},
		"MachineFQDN":  {reason: "It is the same machine.", config: hostConfig.WithChanges(object{"machine": "node1.example.com"})},
		"MachineID":    {reason: "It is the same machine.", config: hostConfig.WithChanges(object{"machine": "4y3h7n"})},
		"OtherMachine": {reason: "It is another one.", config: hostConfig.WithChanges(object{"machine": "node2"}), replaces: []string{"machine"}},
		"OtherServer":  {reason: "The new certificate is accepted.", config: hostConfig.WithChanges(object{"server_fingerprint": "cc"})},
		"BySelector": {
			reason: "A selector takes what was chosen.",
			config: hostConfig.WithChanges(object{"machine": nil, "selector": object{"tags": []string{"a"}}}),
		},
		"OtherSelector": {
			reason: "It is looked at when a host is made.", warnings: 1,
			config: hostConfig.WithChanges(object{"machine": nil, "selector": object{"min_cores": 2}}),
			state:  madeHost.WithChanges(object{"machine": nil, "selector": object{"min_cores": 4}}),
		},
		"AddressSpelling": {reason: "Another way to write it.", config: hostConfig.WithChanges(object{"machine": nil, "address": "10.0.0.5"})},
		"OtherAddress":    {reason: "Another LXD.", config: hostConfig.WithChanges(object{"machine": nil, "address": "10.0.0.6"}), replaces: []string{"address"}},
		"ImageOfOneShortName": {
			reason: "The short name was that of another image.", config: hostConfig.WithChanges(object{"deploy": object{"image": "custom/noble"}}),
			state: madeHost.WithChanges(object{"deploy": object{"image": "noble"}}), notes: privateState{Key: hostMade.Key, Image: "ubuntu/noble"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"ImportedTagsClaimed": {
			reason: "An apply has to note that the tags are the configuration's own.", config: hostConfig.WithChanges(object{"tags": []string{"a"}}),
			state: madeHost.WithChanges(object{"tags": []string{"a"}}), notes: privateState{Key: hostMade.Key, Unclaimed: planmodifiers.Unclaimed{"tags"}}, unknown: []string{"status"},
		},
		"ImageInFull": {
			reason: "It is the installed one.", config: hostConfig.WithChanges(object{"deploy": object{"image": "ubuntu/noble"}}),
			state: madeHost.WithChanges(object{"deploy": object{"image": "noble"}}), notes: privateState{Key: hostMade.Key, Image: "ubuntu/noble"},
		},
		"Overcommit": {
			reason: "What is free follows.", config: hostConfig.WithChanges(object{"cpu_overcommit": 2}), unknown: []string{"cores"},
		},
		"DefaultsWritten": {
			reason: "To write a default changes nothing.",
			config: lxd(object{"channel": "5.21/stable", "storage_pools": object{"default": object{"driver": "zfs", "size_gb": 50}}, "networks": object{"br0": object{}}}),
		},
		"Channel": {reason: "First boots happen once.", config: lxd(object{"channel": "5.21/candidate"}), replaces: []string{"lxd"}},
		"Pool": {
			reason: "First boots happen once.", config: lxd(object{"storage_pools": object{"default": object{"size_gb": 60}}}), replaces: []string{"lxd"},
		},
		"Project": {reason: "MAAS would delete the VMs of the former one.", config: lxd(object{"project": "other"}), replaces: []string{"lxd"}},
		"Bridge":  {reason: "It is made before the deployment.", config: hostConfig.WithChanges(object{"bridge": object{"nic": "eth1"}}), replaces: []string{"bridge"}},
		"BridgeWritten": {
			reason: "The default bridge.", config: hostConfig.WithChanges(object{"bridge": object{"name": "br0"}}),
		},
		"UserData": {
			reason: "It runs at first boot.", config: hostConfig.WithChanges(object{"deploy": object{"user_data_wo_version": 2}}),
			state: madeHost.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}), replaces: []string{"deploy"}, warnings: 1,
		},
		"FirstVersion": {
			reason: "User-data that comes late takes a new first boot.", config: hostConfig.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}),
			replaces: []string{"deploy"}, warnings: 1,
		},
		"FirstVersionOfOldData": {
			reason: "It ran without a number.", config: hostConfig.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}),
			notes: privateState{Key: hostMade.Key, UserData: values.InstalledUserData{Ran: true}},
		},
		"VersionTakenAway": {
			reason: "What ran stays run.", config: hostConfig.WithChanges(object{"deploy": object{}}), state: madeHost.WithChanges(object{"deploy": object{"user_data_wo_version": 1}}),
		},
		"Image": {
			reason: "It is installed anew.", config: hostConfig.WithChanges(object{"deploy": object{"image": "ubuntu/jammy"}}),
			state: madeHost.WithChanges(object{"deploy": object{"image": "ubuntu/noble"}}), replaces: []string{"deploy"}, warnings: 1,
		},
		"Imported": {
			reason: "How it was set up is believed.", config: lxd(object{"channel": "6/stable"}), warnings: 1,
			notes: privateState{Key: hostMade.Key, Imported: true},
		},
		"Unmarked": {
			reason: "The next apply marks it.", config: hostConfig, notes: privateState{Foreign: true, Imported: true},
			unknown: both,
		},
		"Pending": {
			reason: "An apply stopped waiting.", config: hostConfig, state: madeHost.WithChanges(object{"status": statusWaitingForLXD, "vm_host_id": nil}),
			notes: privateState{Key: hostMade.Key, Pending: true}, unknown: both,
		},
		"CutOffBeforeDeployment": {
			reason: "Its deployment tells what it trusts.", config: hostConfig,
			state: madeHost.WithChanges(object{"status": "Allocated", "vm_host_id": nil, "trusted_fingerprints": []string{}}),
			notes: privateState{Key: hostMade.Key, Pending: true}, unknown: slices.Sorted(slices.Values(append([]string{"trusted_fingerprints"}, both...))),
		},
		"Forgotten": {
			reason: "MAAS has no such VM host any more.", config: hostConfig, state: madeHost.WithChanges(object{"vm_host_id": nil}),
			notes: privateState{Key: hostMade.Key, Forgotten: true}, unknown: both,
		},
		"WithoutVMHosts": {
			reason: "MAAS has no VM hosts, and none is missing.", config: hostConfig, state: madeHost.WithChanges(object{"vm_host_id": nil}),
		},
		"GivenUp": {
			reason: "There is nothing to go on with.", config: hostConfig, state: madeHost.WithChanges(object{"status": "Failed deployment", "vm_host_id": nil}),
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

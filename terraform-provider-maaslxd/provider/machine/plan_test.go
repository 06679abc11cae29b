package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// object is a machine, or an object in it, in Terraform's JSON.
type object = providertest.Object

// A machine: its configuration, and its state after an apply.
var (
	configuredMachine = object{"name": "db-1", "machine": "node1"}
	deployedMachine   = object{
		"id": "4y3h7n", "name": "db-1", "machine": "node1", "hostname": "node1", "domain": "maas", "description": "", "fqdn": "node1.maas", "zone": "az1", "pool": "default",
		"architecture": "amd64/generic", "cores": 8, "memory_mib": 8192, "ip_addresses": []string{"10.0.0.5"}, "status": "Deployed",
	}
	finishedPrivateState = privateState{Key: "default/machines/db-1", Image: "ubuntu/noble", Kernel: "ga-24.04"}
)

func interfaceWithIP(ip string) object { return object{"eth0": object{"ip": ip}} }

func TestPlanOfChanges(t *testing.T) {
	t.Parallel()
	work := []string{"ip_addresses", "status", "status_message"}
	deploy := func(o object) object { return object{"deploy": o} }
	cases := map[string]struct {
		reason   string
		config   object
		state    object
		notes    privateState
		replaces []string
		unknown  []string
		warnings int
	}{
		"Nothing":      {reason: "Without a difference, nothing changes."},
		"InPlace":      {reason: "The name is only in the mark, and release only in the state.", config: object{"name": "db-2", "release": object{"erase": "quick"}}},
		"MachineID":    {reason: "The system id names the same machine.", config: object{"machine": "4y3h7n"}},
		"MachineFQDN":  {reason: "The FQDN names the same machine.", config: object{"machine": "node1.maas"}},
		"OtherMachine": {reason: "Another machine is a replacement.", config: object{"machine": "node2"}, replaces: []string{"machine"}, warnings: 1},
		"BySelector":   {reason: "A selector keeps the chosen machine.", config: object{"machine": nil, "selector": object{"tags": []string{"a"}}}},
		"OtherSelector": {
			reason: "A selector matters only when a machine is taken.", config: object{"machine": nil, "selector": object{"min_cores": 2}},
			state: object{"machine": nil, "selector": object{"min_cores": 4}}, warnings: 1,
		},
		"ImageNamed": {reason: "The new lines name the installed image and kernel.", config: deploy(object{"image": "ubuntu/noble", "kernel": "ga-24.04"})},
		"Image":      {reason: "Another image needs a new deployment.", config: deploy(object{"image": "ubuntu/jammy"}), replaces: []string{"deploy"}, warnings: 1},
		"ImageOfOneShortName": {
			reason: "Two images share a short name, and the other one is installed.", config: deploy(object{"image": "custom/noble"}), state: deploy(object{"image": "noble"}),
			replaces: []string{"deploy"}, warnings: 1,
		},
		"ImportedTagsClaimed": {
			reason: "An apply has to record that the tags belong to the configuration.", config: object{"tags": []string{"a"}}, state: object{"tags": []string{"a"}},
			notes: privateState{Key: finishedPrivateState.Key, Unclaimed: planmodifiers.Unclaimed{"tags"}}, unknown: []string{"status"},
		},
		"ImportedTagsLeftOut": {
			reason: "Tags of an imported machine stay if the configuration has none.", state: object{"tags": []string{"a"}}, notes: privateState{Key: finishedPrivateState.Key, Unclaimed: planmodifiers.Unclaimed{"tags"}},
		},
		"ImageInFull": {reason: "The full name means the installed image.", config: deploy(object{"image": "ubuntu/noble"}), state: deploy(object{"image": "noble"})},
		"Kernel":      {reason: "Another kernel needs a new deployment.", config: deploy(object{"kernel": "hwe-24.04"}), replaces: []string{"deploy"}, warnings: 1},
		"Hostname":    {reason: "MAAS renames a machine in place.", config: object{"hostname": "db-1"}, unknown: []string{"fqdn"}},
		"Domain":      {reason: "A new domain changes the FQDN.", config: object{"domain": "prod"}, unknown: []string{"fqdn"}},
		"Places":      {reason: "MAAS changes these attributes of a machine in place.", config: object{"zone": "az2", "pool": "db", "tags": []string{"blue"}, "description": "db", "deletion_protection": true}},
		"HostnameNow": {reason: "The machine has that hostname already.", config: object{"hostname": "node1"}},
		"Memory":      {reason: "A system in memory needs a new deployment.", config: deploy(object{"ephemeral": true}), replaces: []string{"deploy"}, warnings: 1},
		"NotInMemory": {reason: "The system is on the disk already.", config: deploy(object{"ephemeral": false})},
		"MemoryGone":  {reason: "Removing the line keeps the running system.", state: deploy(object{"ephemeral": true}), notes: privateState{Key: finishedPrivateState.Key, Ephemeral: true}},
		"MemoryNamed": {reason: "The system runs from memory already.", config: deploy(object{"ephemeral": true}), notes: privateState{Key: finishedPrivateState.Key, Ephemeral: true}},
		"ToDisk": {
			reason: "The system runs from memory, although the state has no line for that.", config: deploy(object{"ephemeral": false}),
			notes: privateState{Key: finishedPrivateState.Key, Ephemeral: true}, replaces: []string{"deploy"}, warnings: 1,
		},
		"Sync":       {reason: "MAAS installs the agent of hardware sync only with a deployment.", config: deploy(object{"enable_hw_sync": true}), replaces: []string{"deploy"}, warnings: 1},
		"SyncDone":   {reason: "The agent of hardware sync is installed already.", config: deploy(object{"enable_hw_sync": true}), notes: privateState{Key: finishedPrivateState.Key, HardwareSync: true}},
		"DeployGone": {reason: "Removing the lines keeps the installed system.", state: deploy(object{"image": "ubuntu/noble"})},
		"UserData": {
			reason: "User-data runs only at the first boot, so other user-data needs a new deployment.", config: deploy(object{"user_data_wo_version": 2}),
			state: deploy(object{"user_data_wo_version": 1}), replaces: []string{"deploy"}, warnings: 1,
		},
		"FirstVersionOfOldData": {
			reason: "The user-data ran before the configuration had a version.", config: deploy(object{"user_data_wo_version": 1}),
			notes: privateState{Key: finishedPrivateState.Key, UserData: values.InstalledUserData{Ran: true}},
		},
		"Address": {
			reason: "MAAS sets addresses before the deployment.", config: object{"interfaces": interfaceWithIP("10.0.0.9")}, replaces: []string{"interfaces"}, warnings: 1,
		},
		"OtherAddress": {
			reason: "MAAS sets addresses before the deployment.", config: object{"interfaces": interfaceWithIP("10.0.0.9")}, state: object{"interfaces": interfaceWithIP("10.0.0.8")},
			replaces: []string{"interfaces"}, warnings: 1,
		},
		"AddressByAnotherLabel": {
			reason: "Labels exist only in the configuration.", config: object{"interfaces": object{"lan": object{"ip": "10.0.0.9"}}},
			state: object{"interfaces": object{"eth0": object{"ip": "10.0.0.9", "nic": "eth0", "subnet": "lan"}}},
		},
		"AddressGone": {reason: "Removing the line keeps the addresses of the machine.", state: object{"interfaces": interfaceWithIP("10.0.0.9")}},
		"Unmarked":    {reason: "The next apply adds a mark.", notes: privateState{Foreign: true, Imported: true}, unknown: work},
		"Pending": {
			reason: "The next apply continues after an apply that stopped waiting.", state: object{"status": "Deploying"}, notes: privateState{Key: finishedPrivateState.Key, Pending: true}, unknown: work,
		},
		"GivenUp": {
			reason: "A failed machine cannot be continued.", state: object{"status": "Failed deployment"}, notes: privateState{Key: finishedPrivateState.Key, Pending: true},
			unknown: work, replaces: []string{"status"}, warnings: 1,
		},
		"FailedLater": {reason: "A finished machine that fails later is not replaced, because its user-data ran already.", state: object{"status": "Failed deployment"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if cmp.Equal(tc.notes, privateState{}) {
				tc.notes = finishedPrivateState
			}
			p := providertest.ServeResource(t, NewResource).Plan(configuredMachine.WithChanges(tc.config), deployedMachine.WithChanges(tc.state), map[string]any{privateStateKey: tc.notes})
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

// TestProtectedPlans refuses plans that release a protected machine.
func TestProtectedPlans(t *testing.T) {
	t.Parallel()
	protected := deployedMachine.WithChanges(object{"deletion_protection": true})
	cases := map[string]struct {
		reason string
		config object // nil: a destroy
		state  object
		says   string
	}{
		"Destroy":            {"A protected machine is not released.", nil, protected, "is not destroyed"},
		"Replaced":           {"A replacement would release the protected machine, too.", configuredMachine.WithChanges(object{"machine": "node2", "deletion_protection": true}), protected, "because of machine"},
		"LineRemoved":        {"Removing the line deletion_protection does not remove the protection.", configuredMachine.WithChanges(object{"machine": "node2"}), protected, "apply that first"},
		"Kept":               {"A change in place releases no machine.", configuredMachine.WithChanges(object{"zone": "az2", "deletion_protection": true}), protected, ""},
		"AppliedDestroy":     {"Somebody removed the lock in MAAS, but the configuration did not.", nil, deployedMachine.WithChanges(object{"deletion_protection": false}), "is not destroyed"},
		"AppliedReplaced":    {"The configuration still protects it.", configuredMachine.WithChanges(object{"machine": "node2", "deletion_protection": true}), deployedMachine.WithChanges(object{"deletion_protection": false}), "because of machine"},
		"AppliedUnprotected": {"Neither MAAS nor the configuration protects it.", configuredMachine.WithChanges(object{"machine": "node2", "deletion_protection": false}), deployedMachine.WithChanges(object{"deletion_protection": false}), ""},
		"NeverSaid":          {"An unprotected machine may be released.", nil, deployedMachine, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := finishedPrivateState
			n.ProtectionApplied = strings.HasPrefix(name, "Applied")
			got := providertest.ServeResource(t, NewResource).Plan(tc.config, tc.state, map[string]any{privateStateKey: n})
			var refusals []*tfprotov6.Diagnostic
			for _, d := range got.Diagnostics {
				if d.Severity == tfprotov6.DiagnosticSeverityError {
					refusals = append(refusals, d)
				}
			}
			switch {
			case tc.says == "" && len(refusals) == 0:
			case len(refusals) != 1 || tc.says == "":
				t.Errorf("%s\ngot %d errors: %+v", tc.reason, len(refusals), refusals)
			case providertest.AttributePath(refusals[0]) != "deletion_protection" || !strings.Contains(refusals[0].Detail, tc.says):
				t.Errorf("%s\ngot %q at %s, want %q", tc.reason, refusals[0].Detail, providertest.AttributePath(refusals[0]), tc.says)
			}
		})
	}
}

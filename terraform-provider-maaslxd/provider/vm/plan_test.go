package vm

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// object is a VM, or an object in it, in Terraform's JSON.
type object = providertest.Object

// planOf makes a plan without a MAAS. A nil state is a create.
func planOf(t *testing.T, config, state object, n privateState) *providertest.Plan {
	t.Helper()
	return providertest.ServeResource(t, NewResource).Plan(config, state, map[string]any{privateStateKey: n})
}

// A VM without deploy, and a deployed one: the configuration, and the state after its apply.
var (
	readyConfig = object{"name": "web-1", "vm_host": "lxd-a", "cores": 2, "tags": []string{"web"}}
	readyState  = object{
		"id": "4y3h7n", "name": "web-1", "vm_host": "lxd-a", "vm_host_id": 3, "vm_host_name": "lxd-a",
		"cores": 2, "memory_mib": 2048, "hugepages": false,
		"disks": object{"root": object{"size_gb": 8, "pool": "default"}},
		"zone":  "az1", "pool": "default", "domain": "maas", "tags": []string{"web"}, "description": "",
		"fqdn": "web-1.maas", "status": "Ready", "ip_addresses": []string{},
	}
	placedConfig = readyConfig.WithChanges(object{"vm_host": nil, "placement": object{"zone": "az1"}})
	placedState  = readyState.WithChanges(object{"placement": object{"zone": "az1", "strategy": "spread"}})

	deployedConfig = readyConfig.WithChanges(object{
		"interfaces": object{"eth0": object{"subnet": "10.0.0.0/24"}},
		"deploy":     object{"image": "ubuntu/noble", "user_data_wo_version": 1},
	})
	deployedState = readyState.WithChanges(object{
		"interfaces": object{"eth0": object{
			"subnet": "10.0.0.0/24", "mac_address": "00:16:3e:00:00:01", "ip_addresses": []string{"10.0.0.11"},
		}},
		"deploy": object{"image": "ubuntu/noble", "ephemeral": false, "user_data_wo_version": 1},
		"status": "Deployed", "ip_addresses": []string{"10.0.0.11"},
	})
)

// withTrigger is a VM, or its state, with a value in redeploy_triggers.
func withTrigger(of object, value string) object {
	return of.WithChanges(object{"redeploy_triggers": map[string]string{"release": value}})
}

func TestPlanOfChanges(t *testing.T) {
	t.Parallel()
	disks := func(o object) object { return object{"disks": o} }
	deploy := func(o object) object { return object{"deploy": o} }
	cases := map[string]struct {
		reason   string
		config   object
		state    object
		notes    privateState
		changed  []string
		replaces []string
		unknown  []string
		warnings int
	}{
		"Nothing": {
			reason: "Without a difference, nothing changes.",
			config: deployedConfig, state: deployedState,
		},
		"InPlace": {
			reason: "Zone, pool and tags change in place, and nothing else becomes unknown.",
			config: deployedConfig.WithChanges(object{"zone": "az2", "pool": "web", "tags": []string{"db"}}), state: deployedState,
			changed: []string{"pool", "tags", "zone"},
		},
		"Unmarked": {
			reason: "An imported VM without a mark changes in place: the update adds the mark.",
			config: deployedConfig, state: deployedState, notes: privateState{Imported: true},
			changed: []string{"status"}, unknown: []string{"status"},
		},
		"Rename": {
			reason: "A new name changes the FQDN.",
			config: readyConfig.WithChanges(object{"name": "web-2"}), state: readyState,
			changed: []string{"fqdn", "name"}, unknown: []string{"fqdn"},
		},
		"Domain": {
			reason: "A new domain changes the FQDN.",
			config: readyConfig.WithChanges(object{"domain": "example.com"}), state: readyState,
			changed: []string{"domain", "fqdn"}, unknown: []string{"fqdn"},
		},
		"ZoneNoLongerSet": {
			reason: "Without its line, a value stays.",
			config: readyConfig, state: readyState.WithChanges(object{"zone": "az9"}),
		},
		"HostByID": {
			reason: "The id of the host names the same host as its name.",
			config: readyConfig.WithChanges(object{"vm_host": "3"}), state: readyState,
			changed: []string{"vm_host"},
		},
		"HostByItsNewName": {
			reason: "A host that was renamed in MAAS is the same host.",
			config: readyConfig.WithChanges(object{"vm_host": "lxd-new"}), state: readyState.WithChanges(object{"vm_host_name": "lxd-new"}),
			changed: []string{"vm_host"},
		},
		"Placed": {
			reason: "The VM stays on the chosen host.",
			config: placedConfig, state: placedState,
		},
		"PlacedOtherwise": {
			reason: "placement matters only when the VM is made: another one moves nothing, and a warning says so.",
			config: placedConfig.WithChanges(object{"placement": object{"zone": "az2", "strategy": "pack"}}), state: placedState,
			changed: []string{"placement"}, warnings: 1,
		},
		"PlacedOtherwiseAndLarger": {
			reason: "A replaced VM is placed by the new placement. Only the size gives a warning.",
			config: placedConfig.WithChanges(object{"placement": object{"zone": "az2"}, "cores": 4}), state: placedState,
			changed: []string{"cores", "placement"}, replaces: []string{"cores"}, warnings: 1,
		},
		"PlacementToItsHost": {
			reason: "Naming the chosen host changes nothing.",
			config: readyConfig, state: placedState, changed: []string{"placement"},
		},
		"PlacementToOtherHost": {
			reason: "Naming another host replaces the VM.",
			config: readyConfig.WithChanges(object{"vm_host": "lxd-b"}), state: placedState,
			changed: []string{"placement", "vm_host"}, replaces: []string{"vm_host"}, warnings: 1,
		},
		"HostToPlacement": {
			reason: "placement in the place of the host's name keeps the host.",
			config: placedConfig, state: readyState, changed: []string{"placement"},
		},
		"OtherHost": {
			reason: "A VM cannot move.",
			config: readyConfig.WithChanges(object{"vm_host": "lxd-b"}), state: readyState,
			changed: []string{"vm_host"}, replaces: []string{"vm_host"}, warnings: 1,
		},
		"Cores": {
			reason: "MAAS cannot resize a VM.",
			config: readyConfig.WithChanges(object{"cores": 4}), state: readyState,
			changed: []string{"cores"}, replaces: []string{"cores"}, warnings: 1,
		},
		"Memory": {
			reason: "MAAS cannot resize a VM.",
			config: readyConfig.WithChanges(object{"memory_mib": 4096}), state: readyState,
			changed: []string{"memory_mib"}, replaces: []string{"memory_mib"}, warnings: 1,
		},
		"PinnedCores": {
			reason: "Two pinned cores are not the same as any two cores.",
			config: readyConfig.WithChanges(object{"cores": nil, "pinned_cores": []int{0, 1}}), state: readyState,
			changed: []string{"pinned_cores"}, replaces: []string{"pinned_cores"},
		},
		"HugePages": {
			reason: "Huge pages are chosen when the VM is made.",
			config: readyConfig.WithChanges(object{"hugepages": true}), state: readyState,
			changed: []string{"hugepages"}, replaces: []string{"hugepages"},
		},
		"Profile": {
			reason: "LXD sets the profile when it makes the instance.",
			config: readyConfig.WithChanges(object{"profile": "gold"}), state: readyState,
			changed: []string{"profile"}, replaces: []string{"profile"},
		},
		"ProfileRemoved": {
			reason: "The VM keeps what it has.",
			config: readyConfig, state: readyState.WithChanges(object{"profile": "gold"}),
		},
		"DiskSize": {
			reason: "A disk of another size is a new disk. The plan warns that all disks are lost.",
			config: readyConfig.WithChanges(disks(object{"root": object{"size_gb": 9}})), state: readyState,
			changed: []string{"disks"}, replaces: []string{"disks"}, warnings: 1,
		},
		"DiskPool": {
			reason: "A disk in another pool is a new disk.",
			config: readyConfig.WithChanges(disks(object{"root": object{"size_gb": 8, "pool": "fast"}})), state: readyState,
			changed: []string{"disks"}, replaces: []string{"disks"}, warnings: 1,
		},
		"DiskMore": {
			reason: "MAAS cannot add a disk.",
			config: readyConfig.WithChanges(disks(object{"root": object{"size_gb": 8}, "data": object{"size_gb": 1}})), state: readyState,
			changed: []string{"disks"}, replaces: []string{"disks"}, unknown: []string{"disks"}, warnings: 1,
		},
		"DiskRenamed": {
			reason: "Names of disks exist only in the configuration.",
			config: readyConfig.WithChanges(disks(object{"root": object{"size_gb": 8}, "data": object{"size_gb": 9, "pool": "fast"}})),
			state: readyState.WithChanges(disks(object{
				"root": object{"size_gb": 8, "pool": "default"}, "disk1": object{"size_gb": 9, "pool": "fast"},
			})),
			changed: []string{"disks"},
		},
		"DisksNoLongerSet": {
			reason: "The VM keeps its value, as for zone.",
			config: readyConfig, state: readyState.WithChanges(disks(object{"root": object{"size_gb": 40, "pool": "default"}})),
		},
		"SizeNoLongerSet": {
			reason: "The VM keeps what it has.",
			config: readyConfig.WithChanges(object{"cores": nil, "memory_mib": nil}), state: readyState.WithChanges(object{"cores": 4, "memory_mib": 4096, "hugepages": true}),
		},
		"PinnedCoresNoLongerSet": {
			reason: "The VM keeps its cores, and the provider no longer manages them.",
			config: readyConfig.WithChanges(object{"cores": nil}), state: readyState.WithChanges(object{"cores": 2, "pinned_cores": []int{0, 1}}),
			changed: []string{"pinned_cores"},
		},
		"InterfacesNoLongerSet": {
			reason: "The VM keeps what it has.",
			config: deployedConfig.WithChanges(object{"interfaces": nil}), state: deployedState,
		},
		"InterfaceModeSaid": {
			reason: "Writing the former default changes nothing.",
			config: deployedConfig.WithChanges(object{"interfaces": object{"eth0": object{"subnet": "10.0.0.0/24", "mode": "auto"}}}), state: deployedState,
			changed: []string{"interfaces"},
		},
		"InterfaceMode": {
			reason: "Links of a deployed machine cannot be changed.",
			config: deployedConfig.WithChanges(object{"interfaces": object{"eth0": object{"subnet": "10.0.0.0/24", "mode": "dhcp"}}}), state: deployedState,
			changed: []string{"interfaces"}, replaces: []string{"interfaces"}, warnings: 1,
		},
		"InterfaceAddress": {
			reason: "Nor can an address be added.",
			config: deployedConfig.WithChanges(object{"interfaces": object{"eth0": object{"subnet": "10.0.0.0/24", "addresses": []object{{"subnet": "10.0.0.0/24"}}}}}), state: deployedState,
			changed: []string{"interfaces"}, replaces: []string{"interfaces"}, warnings: 1,
		},
		"InterfaceByFabric": {
			reason: "If MAAS cannot be asked, another text is another network.",
			config: deployedConfig.WithChanges(object{"interfaces": object{"eth0": object{"fabric": "fabric-0"}}}), state: deployedState,
			changed: []string{"interfaces"}, replaces: []string{"interfaces"}, warnings: 1,
		},
		"Subnet": {
			reason: "Interfaces are made with the VM.",
			config: deployedConfig.WithChanges(object{"interfaces": object{"eth0": object{"subnet": "10.1.0.0/24"}}}), state: deployedState,
			changed: []string{"interfaces"}, replaces: []string{"interfaces"}, warnings: 1,
		},
		"DeployAdded": {
			reason: "An empty VM is deployed in place. The result is not known yet.",
			config: readyConfig.WithChanges(deploy(object{"kernel": "ga-24.04"})), state: readyState,
			changed: []string{"deploy", "ip_addresses", "status"}, unknown: []string{"deploy", "ip_addresses", "status"},
		},
		"DeployAddedToARunningOne": {
			reason: "A reinstall would destroy the disks of a VM that someone else deployed.",
			config: readyConfig.WithChanges(deploy(object{"image": "ubuntu/noble"})), state: readyState.WithChanges(object{"status": "Deployed"}),
			changed: []string{"deploy", "ip_addresses", "status"}, unknown: []string{"deploy", "ip_addresses", "status"},
			replaces: []string{"deploy"}, warnings: 1,
		},
		"DeployRemoved": {
			reason: "A VM without deploy is another VM.",
			config: deployedConfig.WithChanges(object{"deploy": nil}), state: deployedState,
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"Image": {
			reason: "Another image needs another installation.",
			config: deployedConfig.WithChanges(deploy(object{"image": "ubuntu/jammy", "user_data_wo_version": 1})), state: deployedState,
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"ImageByItsShortName": {
			reason: "noble is ubuntu/noble.",
			config: deployedConfig.WithChanges(deploy(object{"image": "noble", "user_data_wo_version": 1})), state: deployedState,
		},
		"ImageOfOneShortName": {
			reason: "The short name was that of another image.",
			config: deployedConfig.WithChanges(deploy(object{"image": "custom/noble"})), state: deployedState.WithChanges(deploy(object{"image": "noble", "ephemeral": false})),
			notes: privateState{Image: "ubuntu/noble"}, changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"ImageInFull": {
			reason: "It names the installed image.", notes: privateState{Image: "ubuntu/noble"},
			config: deployedConfig.WithChanges(deploy(object{"image": "ubuntu/noble"})), state: deployedState.WithChanges(deploy(object{"image": "noble", "ephemeral": false})),
		},
		"TriggersAndOneShortName": {
			reason: "The other image is installed in place.",
			config: withTrigger(deployedConfig, "b").WithChanges(deploy(object{"image": "custom/noble", "kernel": "ga-24.04"})),
			state:  withTrigger(deployedState, "a").WithChanges(deploy(object{"image": "noble", "kernel": "ga-24.04", "ephemeral": false})), notes: privateState{Image: "ubuntu/noble"},
			changed: []string{"deploy", "interfaces", "ip_addresses", "redeploy_triggers", "status"}, unknown: []string{"interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"ImageNoLongerSet": {
			reason: "Any image is accepted, and one is installed.",
			config: deployedConfig.WithChanges(deploy(object{"user_data_wo_version": 1})), state: deployedState,
		},
		"Kernel": {
			reason: "Another kernel needs another installation.",
			config: deployedConfig.WithChanges(deploy(object{"kernel": "hwe-24.04", "user_data_wo_version": 1})), state: deployedState,
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"UserDataVersion": {
			reason: "The version stands for the user-data, which nobody can compare.",
			config: deployedConfig.WithChanges(deploy(object{"image": "ubuntu/noble", "user_data_wo_version": 2})), state: deployedState,
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"Pending": {
			reason: "An unfinished VM is continued in place.",
			config: deployedConfig, state: deployedState.WithChanges(object{"status": "Deploying", "ip_addresses": []string{}}),
			notes:   privateState{Pending: true},
			changed: []string{"interfaces", "ip_addresses", "status"},
			unknown: []string{"interfaces", "ip_addresses", "status"},
		},
		"PendingAndReleased": {
			reason: "An unfinished VM whose refresh saw nothing installed is deployed in place, even while it is Deploying.",
			config: readyConfig.WithChanges(deploy(object{"image": "ubuntu/noble"})), state: readyState.WithChanges(object{"status": "Deploying"}),
			notes:   privateState{Pending: true},
			changed: []string{"deploy", "ip_addresses", "status"},
			unknown: []string{"deploy", "ip_addresses", "status"},
		},
		"FailedBeforeItWasFinished": {
			reason: "A VM that failed in MAAS would fail again, so it is made anew.",
			config: deployedConfig, state: deployedState.WithChanges(object{"status": "Failed commissioning"}),
			notes:   privateState{Pending: true},
			changed: []string{"interfaces", "ip_addresses", "status"}, unknown: []string{"interfaces", "ip_addresses", "status"},
			replaces: []string{"status"}, warnings: 1,
		},
		"FailedTestingBeforeItWasFinished": {
			reason: "Failed tests have a state of their own.",
			config: readyConfig, state: readyState.WithChanges(object{"status": "Failed testing"}),
			notes:   privateState{Pending: true},
			changed: []string{"ip_addresses", "status"}, unknown: []string{"ip_addresses", "status"},
			replaces: []string{"status"}, warnings: 1,
		},
		"FailedAfterItWasFinished": {
			reason: "User-data that ran is not undone.",
			config: deployedConfig, state: deployedState.WithChanges(object{"status": "Failed deployment"}),
		},
		"BrokenBeforeItWasFinished": {
			reason: "People mark machines as broken, and they must repair them.",
			config: readyConfig, state: readyState.WithChanges(object{"status": "Broken"}),
			notes:   privateState{Pending: true},
			changed: []string{"ip_addresses", "status"}, unknown: []string{"ip_addresses", "status"},
		},
		"PoolUntold": {
			reason: "A storage pool that MAAS does not report is no change.",
			config: readyConfig, state: readyState.WithChanges(disks(object{"root": object{"size_gb": 8}})),
		},
		"UserDataVersionGiven": {
			reason:  "User-data runs only at the first boot, so later user-data needs a new VM.",
			config:  deployedConfig,
			state:   deployedState.WithChanges(deploy(object{"image": "ubuntu/noble", "ephemeral": false})),
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"UserDataVersionGivenToOldData": {
			reason:  "The first version of user-data that has run is its own.",
			config:  deployedConfig,
			state:   deployedState.WithChanges(deploy(object{"image": "ubuntu/noble", "ephemeral": false})),
			notes:   privateState{UserData: values.InstalledUserData{Ran: true}},
			changed: []string{"deploy"},
		},
		"UserDataVersionTakenAway": {
			reason: "User-data that ran is not undone: the VM keeps what it has.",
			config: deployedConfig.WithChanges(deploy(object{"image": "ubuntu/noble"})), state: deployedState,
			changed: []string{"deploy"},
		},
		"UserDataVersionBack": {
			reason:  "A version that was removed, and has run, comes back without a new VM.",
			config:  deployedConfig,
			state:   deployedState.WithChanges(deploy(object{"image": "ubuntu/noble", "ephemeral": false})),
			notes:   privateState{UserData: values.InstalledUserData{Ran: true, Version: new(int64(1))}},
			changed: []string{"deploy"},
		},
		"UserDataVersionBackAsAnother": {
			reason:  "Another version is other user-data.",
			config:  deployedConfig.WithChanges(deploy(object{"image": "ubuntu/noble", "user_data_wo_version": 2})),
			state:   deployedState.WithChanges(deploy(object{"image": "ubuntu/noble", "ephemeral": false})),
			notes:   privateState{UserData: values.InstalledUserData{Ran: true, Version: new(int64(1))}},
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"KernelNoLongerSet": {
			reason: "Any kernel is accepted, and one is installed.",
			config: deployedConfig, state: deployedState.WithChanges(deploy(object{"image": "ubuntu/noble", "ephemeral": false, "kernel": "ga-24.04", "user_data_wo_version": 1})),
		},
		"ImportedWithOtherKernel": {
			reason:  "MAAS reports the kernel, so the configuration does not count.",
			config:  deployedConfig.WithChanges(deploy(object{"image": "ubuntu/noble", "kernel": "hwe-24.04", "user_data_wo_version": 1})),
			state:   deployedState.WithChanges(deploy(object{"image": "ubuntu/noble", "ephemeral": false, "kernel": "ga-24.04", "user_data_wo_version": 1})),
			notes:   privateState{Imported: true, Key: "default/web-1"},
			changed: []string{"deploy"}, replaces: []string{"deploy"}, warnings: 1,
		},
		"ImportedWithOtherInterfaces": {
			reason: "MAAS reports the interfaces, so the configuration does not count.",
			config: deployedConfig.WithChanges(object{"interfaces": object{"eth0": object{"subnet": "10.0.0.0/24", "ip": "10.0.0.99"}}}), state: deployedState,
			notes:   privateState{Imported: true, Key: "default/web-1"},
			changed: []string{"interfaces"}, replaces: []string{"interfaces"}, warnings: 1,
		},
		"Described": {
			reason: "The description changes in place.",
			config: deployedConfig.WithChanges(object{"description": "new"}), state: deployedState.WithChanges(object{"description": "old"}),
			changed: []string{"description"},
		},
		"DescriptionRemoved": {
			reason: "The VM keeps what it has.",
			config: deployedConfig, state: deployedState.WithChanges(object{"description": "old"}),
		},
		"Annotated": {
			reason: "Annotations change in place.",
			config: deployedConfig.WithChanges(object{"annotations": object{"app": "web"}}), state: deployedState.WithChanges(object{"annotations": object{"app": "db", "old": "x"}}),
			changed: []string{"annotations"},
		},
		"AnnotationsRemoved": {
			reason: "They are also removed in place.",
			config: deployedConfig, state: deployedState.WithChanges(object{"annotations": object{"app": "db"}}),
			changed: []string{"annotations"},
		},
		"TPMRenamed": {
			reason: "LXD treats it as another TPM, and the keys of the first one are lost.",
			config: deployedConfig.WithChanges(object{"devices": object{"vtpm": object{"type": "tpm"}}}), state: deployedState.WithChanges(object{"devices": object{"tpm0": object{"type": "tpm"}}}),
			changed: []string{"devices"}, warnings: 1,
		},
		"TPMAdded": {
			reason: "Adding a TPM removes nothing.",
			config: deployedConfig.WithChanges(object{"devices": object{"tpm0": object{"type": "tpm"}, "tpm1": object{"type": "tpm"}}}), state: deployedState.WithChanges(object{"devices": object{"tpm0": object{"type": "tpm"}}}),
			changed: []string{"devices"},
		},
		"PowerSet": {
			reason: "A VM is turned on or off in place.",
			config: deployedConfig.WithChanges(object{"power_state": "stopped"}), state: deployedState,
			changed: []string{"power_state"},
		},
		"PowerTurned": {
			reason: "If somebody turned the VM, the apply turns it back.",
			config: deployedConfig.WithChanges(object{"power_state": "running"}), state: deployedState.WithChanges(object{"power_state": "stopped"}),
			changed: []string{"power_state"},
		},
		"PowerNoLongerSet": {
			reason: "From then on, the provider leaves the power alone.",
			config: deployedConfig, state: deployedState.WithChanges(object{"power_state": "stopped"}),
			changed: []string{"power_state"},
		},
		"MayStop": {
			reason: "Permitting a stop changes nothing by itself.",
			config: deployedConfig.WithChanges(object{"allow_stopping_for_update": true}), state: deployedState,
			changed: []string{"allow_stopping_for_update"},
		},
		"MayStopOnMAAS": {
			reason: "Where MAAS composes VMs, stopping one does not help.",
			config: deployedConfig.WithChanges(object{"allow_stopping_for_update": true, "memory_mib": 4096}), state: deployedState,
			changed: []string{"allow_stopping_for_update", "memory_mib"}, replaces: []string{"memory_mib"}, warnings: 1,
		},
		"CutOffWhileStopped": {
			reason: "An update turned the VM off and was interrupted. The next apply turns it on.",
			config: deployedConfig, state: deployedState, notes: privateState{Restarts: true},
			changed: []string{"status"}, unknown: []string{"status"}, warnings: 1,
		},
		"TriggersFirst": {
			reason: "The first values stand for the existing installation.",
			config: withTrigger(deployedConfig, "a"), state: deployedState, changed: []string{"redeploy_triggers"},
		},
		"TriggersRemoved": {
			reason: "Removing the values redeploys nothing.",
			config: deployedConfig, state: withTrigger(deployedState, "a"), changed: []string{"redeploy_triggers"},
		},
		"Triggers": {
			reason: "Another value redeploys the VM in place: its name and ids stay.",
			config: withTrigger(deployedConfig, "b"), state: withTrigger(deployedState, "a"),
			changed: []string{"deploy", "interfaces", "ip_addresses", "redeploy_triggers", "status"},
			unknown: []string{"deploy", "interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"TriggersAndUserData": {
			reason: "Changes of deploy are part of it, and replace nothing.",
			config: withTrigger(deployedConfig, "b").WithChanges(deploy(object{"image": "ubuntu/jammy", "kernel": "ga-22.04", "user_data_wo_version": 2})), state: withTrigger(deployedState, "a"),
			changed: []string{"deploy", "interfaces", "ip_addresses", "redeploy_triggers", "status"},
			unknown: []string{"interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"TriggersAndReplaced": {
			reason: "A replacement installs the VM anyway.",
			config: withTrigger(deployedConfig, "b").WithChanges(object{"hugepages": true}), state: withTrigger(deployedState, "a"), replaces: []string{"hugepages"},
			changed: []string{"deploy", "hugepages", "interfaces", "ip_addresses", "redeploy_triggers", "status"},
			unknown: []string{"deploy", "interfaces", "ip_addresses", "status"},
		},
		"TriggersOfAFailure": {
			reason: "A failed redeployment is tried again, in place.",
			config: withTrigger(deployedConfig, "b"), state: withTrigger(deployedState, "a").WithChanges(object{"status": "Failed deployment"}), notes: privateState{Pending: true, Ran: true},
			changed: []string{"deploy", "interfaces", "ip_addresses", "redeploy_triggers", "status"},
			unknown: []string{"deploy", "interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"FailedAfterItRan": {
			reason: "A failed redeployment does not replace a VM that ran.",
			config: withTrigger(deployedConfig, "a"), state: withTrigger(deployedState, "a").WithChanges(object{"status": "Failed deployment"}), notes: privateState{Pending: true, Ran: true},
		},
		"NotReleased": {
			reason: "A failed release does not replace it either.",
			config: deployedConfig, state: deployedState.WithChanges(object{"status": "Releasing failed"}), notes: privateState{Pending: true, Ran: true},
		},
		"CommissionedAfterItRan": {
			reason: "Nor does it if somebody commissioned the VM.",
			config: deployedConfig, state: deployedState.WithChanges(object{"status": "Failed commissioning"}), notes: privateState{Pending: true, Ran: true},
		},
		"TriggersAfterItRan": {
			reason: "Other values redeploy it, in place.",
			config: withTrigger(deployedConfig, "b"), state: withTrigger(deployedState, "a").WithChanges(object{"status": "Releasing failed"}), notes: privateState{Pending: true, Ran: true},
			changed: []string{"deploy", "interfaces", "ip_addresses", "redeploy_triggers", "status"},
			unknown: []string{"deploy", "interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"TriggersAndKernel": {
			reason: "The kernel of the former image does not fit the next one.",
			config: withTrigger(deployedConfig, "b").WithChanges(deploy(object{"image": "ubuntu/jammy"})), state: withTrigger(deployedState, "a").WithChanges(deploy(object{"image": "ubuntu/noble", "kernel": "ga-24.04"})),
			changed: []string{"deploy", "interfaces", "ip_addresses", "redeploy_triggers", "status"},
			unknown: []string{"deploy", "interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"TriggersTakenBack": {
			reason: "Taking the values back replaces a VM that never ran.",
			config: withTrigger(deployedConfig, "a"), state: withTrigger(deployedState, "a").WithChanges(object{"status": "Failed deployment"}), notes: privateState{Pending: true},
			changed: []string{"interfaces", "ip_addresses", "status"}, replaces: []string{"status"},
			unknown: []string{"interfaces", "ip_addresses", "status"}, warnings: 1,
		},
		"Protected": {
			reason: "The lock is set in place.",
			config: deployedConfig.WithChanges(object{"deletion_protection": true}), state: deployedState,
			changed: []string{"deletion_protection"},
		},
		"ProtectionOff": {
			reason: "The lock is removed in place.",
			config: deployedConfig.WithChanges(object{"deletion_protection": false}), state: deployedState.WithChanges(object{"deletion_protection": true}),
			changed: []string{"deletion_protection"},
		},
		"ProtectedAndMoved": {
			reason: "Changes in place are made in spite of the lock.",
			config: deployedConfig.WithChanges(object{"deletion_protection": true, "zone": "az2"}), state: deployedState.WithChanges(object{"deletion_protection": true}),
			changed: []string{"zone"},
		},
		"ProtectionOffAndMissing": {
			reason:  "The lock is taken off first. Otherwise each plan of a replacement would be refused.",
			config:  deployedConfig.WithChanges(object{"deletion_protection": false}),
			state:   deployedState.WithChanges(object{"deletion_protection": true, "status": "Instance missing"}),
			changed: []string{"deletion_protection"}, warnings: 1,
		},
		"Imported": {
			reason: "Values that MAAS does not report never replace an imported VM.",
			config: deployedConfig.WithChanges(object{
				"cores": nil, "pinned_cores": []int{0, 1}, "hugepages": true,
				"deploy": object{"image": "ubuntu/noble", "ephemeral": true, "user_data_wo_version": 3},
			}),
			state: deployedState.WithChanges(object{"interfaces": nil, "deploy": object{"image": "ubuntu/noble", "ephemeral": false}}),
			notes: privateState{Imported: true, Key: "default/web-1"}, warnings: 3,
			changed: []string{"deploy", "hugepages", "interfaces", "pinned_cores"},
			unknown: []string{"interfaces"},
		},
		"ImportedWithoutDeploy": {
			reason: "A missing block deploy does not destroy an imported VM.",
			config: deployedConfig.WithChanges(object{"deploy": nil}), state: deployedState, notes: privateState{Key: "default/web-1", Imported: true, Image: "ubuntu/noble"},
			changed: []string{"deploy"}, warnings: 1,
		},
		"ImportedTagsClaimed": {
			reason: "An apply has to record that the tags belong to the configuration.",
			config: readyConfig, state: readyState, notes: privateState{Key: "default/web-1", Unclaimed: planmodifiers.Unclaimed{"tags", "deletion_protection"}},
			changed: []string{"status"}, unknown: []string{"status"},
		},
		"ImportedTagsLeftOut": {
			reason: "They stay.",
			config: readyConfig.WithChanges(object{"tags": nil}), state: readyState, notes: privateState{Key: "default/web-1", Unclaimed: planmodifiers.Unclaimed{"tags", "deletion_protection"}},
		},
		"ImportedAsConfigured": {
			reason: "An imported VM with a mark and without a difference does not change.",
			config: readyConfig.WithChanges(deploy(object{"image": "ubuntu/noble"})),
			state: readyState.WithChanges(object{
				"deploy": object{"image": "ubuntu/noble", "ephemeral": false}, "status": "Deployed",
			}),
			notes: privateState{Imported: true, Key: "default/web-1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := planOf(t, tc.config, tc.state, tc.notes)
			warnings := 0
			for _, d := range got.Diagnostics {
				if d.Severity.String() == "ERROR" {
					t.Fatalf("%s: %s", d.Summary, d.Detail)
				}
				warnings++
			}
			for what, lists := range map[string][2][]string{
				"changed":  {tc.changed, got.ChangedAttributes(tc.state)},
				"replaces": {tc.replaces, got.ReplacingAttributes()},
				"unknown":  {tc.unknown, got.UnknownAttributes()},
			} {
				if diff := cmp.Diff(lists[0], lists[1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\n%s (-want +got):\n%s", tc.reason, what, diff)
				}
			}
			if warnings != tc.warnings {
				t.Errorf("%s\ngot %d warnings, want %d", tc.reason, warnings, tc.warnings)
			}
		})
	}
}

func TestPlanOfCreate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		config object
		cores  int64
		disks  int
		open   []string // the additional unknown attributes
	}{
		"Defaults": {
			reason: "A name and a host are enough.",
			config: object{"name": "web-1", "vm_host": "lxd-a"}, cores: 1, disks: 1,
		},
		"Pinned": {
			reason: "Pinned cores are counted.",
			config: object{"name": "web-1", "vm_host": "lxd-a", "pinned_cores": []int{4, 5, 6}}, cores: 3, disks: 1,
		},
		"Given": {
			reason: "The plan has the configured values.",
			config: object{
				"name": "web-1", "vm_host": "lxd-a", "cores": 8,
				"disks": object{"root": object{"size_gb": 20}, "data": object{"size_gb": 100}},
			},
			cores: 8, disks: 2,
		},
		"Placed": {
			reason: "The host is known only after the apply.",
			config: object{"name": "web-1", "placement": object{"group": "web"}}, cores: 1, disks: 1, open: []string{"vm_host"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := planOf(t, tc.config, nil, privateState{})
			for _, d := range got.Diagnostics {
				t.Errorf("%s: %s", d.Summary, d.Detail)
			}
			attributes := got.Attributes()
			var disks map[string]tftypes.Value
			if err := attributes["disks"].As(&disks); err != nil {
				t.Fatal(err)
			}
			if !attributes["cores"].Equal(tftypes.NewValue(tftypes.Number, tc.cores)) || len(disks) != tc.disks {
				t.Errorf("%s\ngot cores %s and %d disks, want %d and %d", tc.reason, attributes["cores"], len(disks), tc.cores, tc.disks)
			}
			want := slices.Sorted(slices.Values(append(tc.open, "description", "disks", "domain", "fqdn", "id", "interfaces", "ip_addresses", "pool", "profile", "status", "vm_host_id", "vm_host_name", "zone")))
			if diff := cmp.Diff(want, got.UnknownAttributes()); diff != "" {
				t.Errorf("%s\nunknown (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

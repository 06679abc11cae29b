package vm

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// modelOf converts an object as Terraform does.
func modelOf(t *testing.T, o object) vmModel {
	t.Helper()
	schema := vmSchema(t.Context())
	raw, err := o.DynamicValue(t).Unmarshal(schema.Type().TerraformType(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	var m vmModel
	state := tfsdk.State{Schema: schema, Raw: raw}
	if diags := state.Get(t.Context(), &m); diags.HasError() {
		t.Fatal(providertest.DescribeDiagnostics(diags))
	}
	return m
}

// differences lists the attributes in which two models differ.
func differences(t *testing.T, a, b vmModel) []string {
	t.Helper()
	var names []string
	values := func(m vmModel) map[string]string {
		return map[string]string{
			"id": m.ID.String(), "name": m.Name.String(), "vm_host": m.VMHost.String(), "vm_host_id": m.VMHostID.String(),
			"vm_host_name": m.VMHostName.String(), "cores": m.Cores.String(), "pinned_cores": m.PinnedCores.String(),
			"memory_mib": m.MemoryMiB.String(), "hugepages": m.HugePages.String(), "disks": m.Disks.String(),
			"interfaces": m.Interfaces.String(), "zone": m.Zone.String(), "pool": m.Pool.String(), "domain": m.Domain.String(),
			"tags": m.Tags.String(), "deploy": m.Deploy.String(), "fqdn": m.FQDN.String(), "status": m.Status.String(),
			"ip_addresses": m.IPAddresses.String(), "placement": m.Placement.String(),
			"profile": m.Profile.String(), "deletion_protection": m.Protection.String(), "power_state": m.PowerState.String(), "annotations": m.Annotations.String(), "config": m.Config.String(), "devices": m.Devices.String(), "description": m.Description.String(),
		}
	}
	vb := values(b)
	for name, v := range values(a) {
		if v != vb[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// deployedVM is deployedState as MAAS shows it.
func deployedVM() engine.VM {
	return engine.VM{Machine: engine.Machine{
		SystemID: "4y3h7n", Hostname: "web-1", FQDN: "web-1.maas", Status: engine.StatusDeployed, StatusName: "Deployed",
		Zone: "az1", Pool: "default", Domain: "maas", Tags: []string{"pod-console-logging", "virtual", "web"},
		HostID: 3, HostName: "lxd-a", Cores: 2, MemoryMiB: 2048, Image: "ubuntu/noble", Kernel: "ga-24.04",
		Disks: []engine.MachineDisk{{Name: "sda", SizeGB: 8, Pool: "default"}},
		Interfaces: []engine.MachineInterface{{
			Name: "enp5s0", MAC: "00:16:3e:00:00:01", Links: []engine.InterfaceLink{{Mode: "auto", IP: "10.0.0.11"}},
		}},
		IPAddresses: []string{"10.0.0.11"},
	}}
}

// TestRefreshKept checks lock and power. If the state does not set them, no value is drift.
func TestRefreshKept(t *testing.T) {
	t.Parallel()
	said := object{"deletion_protection": true, "power_state": "running"}
	turned := func(vm *engine.VM) { vm.Locked, vm.PowerState = false, "off" }
	cases := map[string]struct {
		reason string
		said   object
		change func(*engine.VM)
		drift  []string
	}{
		"AsItWas":   {"Without a change there is no drift.", said, func(vm *engine.VM) { vm.Locked, vm.PowerState = true, "on" }, nil},
		"Turned":    {"If somebody turned the VM, that is drift.", said, turned, []string{"deletion_protection", "power_state"}},
		"Unsaid":    {"A value that the state does not set is no drift.", object{}, turned, nil},
		"Annotated": {"Annotations of others are no drift.", object{"annotations": object{"app": "web"}}, func(vm *engine.VM) { vm.OwnerData = map[string]string{"app": "web", "more": "x"} }, nil},
		"Rewritten": {"Another value is drift.", object{"annotations": object{"app": "web"}}, func(vm *engine.VM) { vm.OwnerData = map[string]string{"app": "db"} }, []string{"annotations"}},
		"Erased":    {"A missing value is drift.", object{"annotations": object{"app": "web"}}, func(*engine.VM) {}, []string{"annotations"}},
		"Options": {"Options of others are no drift, and neither are values that LXD does not report.", object{"config": object{"user.team": "a"}}, func(vm *engine.VM) {
			vm.Config = map[string]string{"user.team": "a", "user.other": "b", "security.secureboot": "false"}
		}, nil},
		"Untold":    {"An LXD that does not answer reports none.", object{"config": object{"user.team": "a"}, "devices": object{"tpm0": object{"type": "tpm"}}}, func(*engine.VM) {}, nil},
		"Optioned":  {"Another value is drift.", object{"config": object{"user.team": "a"}}, func(vm *engine.VM) { vm.Config = map[string]string{"user.team": "b"} }, []string{"config"}},
		"Unplugged": {"A device that is gone is drift.", object{"devices": object{"tpm0": object{"type": "tpm"}}}, func(vm *engine.VM) { vm.Devices = map[string]engine.Device{} }, []string{"devices"}},
		"Described": {"White space at the ends is no drift.", object{"description": "Books.\n"}, func(vm *engine.VM) { vm.Description = "Books.\nmaaslxd-0123456789ab default/web-1" }, nil},
		"Scribbled": {"Another text is drift.", object{"description": "Books."}, func(vm *engine.VM) { vm.Description = "Scratch" }, []string{"description"}},
		"Others":    {"The lock of somebody else is no drift.", object{}, func(vm *engine.VM) { vm.Locked = true }, nil},
		"Unknown":   {"An unknown value is no drift.", said, func(vm *engine.VM) { vm.Locked, vm.PowerState = true, "error" }, nil},
		"OutOfHand": {"The power of a VM in maintenance is no drift.", said, func(vm *engine.VM) {
			vm.Locked, vm.PowerState, vm.Status, vm.StatusName = true, "off", engine.StatusBroken, "Broken"
		}, []string{"status"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			vm := deployedVM()
			tc.change(&vm)
			before := modelOf(t, deployedState.WithChanges(tc.said))
			after := before
			after.refresh(t.Context(), vm, &diags)
			if diags.HasError() {
				t.Fatal(providertest.DescribeDiagnostics(diags))
			}
			if diff := cmp.Diff(tc.drift, differences(t, before, after)); diff != "" {
				t.Errorf("%s\ndrift (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	released := func(vm *engine.VM) {
		vm.Status, vm.StatusName, vm.Image, vm.Kernel = engine.StatusReady, "Ready", "", ""
	}
	cases := map[string]struct {
		reason string
		change func(*engine.VM)
		drift  []string
	}{
		"AsItWas":   {"Without a change there is no drift.", func(*engine.VM) {}, nil},
		"Renamed":   {"A new hostname is drift.", func(vm *engine.VM) { vm.Hostname, vm.FQDN = "x", "x.maas" }, []string{"fqdn", "name"}},
		"Moved":     {"Zone, pool and domain are drift.", func(vm *engine.VM) { vm.Zone, vm.Pool, vm.Domain = "a", "b", "c" }, []string{"domain", "pool", "zone"}},
		"OtherHost": {"A VM on another host is drift.", func(vm *engine.VM) { vm.HostID, vm.HostName = 4, "lxd-b" }, []string{"vm_host", "vm_host_id", "vm_host_name"}},
		"HostRenamed": {
			"A host that was renamed is the same host.",
			func(vm *engine.VM) { vm.HostName = "lxd-new" },
			[]string{"vm_host_name"},
		},
		"HostUntold":   {"If MAAS does not report the host, that is no drift.", func(vm *engine.VM) { vm.HostID, vm.HostName = 0, "" }, nil},
		"Cores":        {"More cores are drift.", func(vm *engine.VM) { vm.Cores = 4 }, []string{"cores"}},
		"Memory":       {"More memory is drift.", func(vm *engine.VM) { vm.MemoryMiB = 4096 }, []string{"memory_mib"}},
		"MemoryBlock":  {"If the guest counts memory differently, that is no drift.", func(vm *engine.VM) { vm.MemoryMiB -= 127 }, nil},
		"SizeUntold":   {"A VM that was not commissioned yet has no size.", func(vm *engine.VM) { vm.Cores, vm.MemoryMiB, vm.Disks = 0, 0, nil }, nil},
		"DiskGrown":    {"A disk of another size is drift.", func(vm *engine.VM) { vm.Disks[0].SizeGB = 9 }, []string{"disks"}},
		"DiskMore":     {"A disk that nobody declared is no drift.", func(vm *engine.VM) { vm.Disks = append(vm.Disks, engine.MachineDisk{SizeGB: 1}) }, nil},
		"Profile":      {"The profile of LXD is recorded.", func(vm *engine.VM) { vm.Profiles = []string{"gold", "more"} }, []string{"profile"}},
		"NoProfile":    {"An absent profile is recorded, too.", func(vm *engine.VM) { vm.Profiles = []string{} }, nil},
		"TagGone":      {"A declared tag that is gone is drift.", func(vm *engine.VM) { vm.Tags = []string{"virtual"} }, []string{"tags"}},
		"TagMore":      {"A tag that nobody declared is no drift.", func(vm *engine.VM) { vm.Tags = append(vm.Tags, "x") }, nil},
		"Released":     {"A released VM has no installation.", released, []string{"deploy", "status"}},
		"OtherImage":   {"A VM with another installation is drift.", func(vm *engine.VM) { vm.Image = "ubuntu/jammy" }, []string{"deploy"}},
		"ImageUntold":  {"A value that MAAS does not report is no drift.", func(vm *engine.VM) { vm.Image = "" }, nil},
		"KernelChosen": {"A kernel that nobody chose is no drift.", func(vm *engine.VM) { vm.Kernel = "hwe-24.04" }, nil},
		"Broken":       {"A broken VM keeps its installation.", func(vm *engine.VM) { vm.Status, vm.StatusName = engine.StatusBroken, "Broken" }, []string{"status"}},
		"Address":      {"A new address is recorded.", func(vm *engine.VM) { vm.IPAddresses = []string{"10.0.0.12"} }, []string{"ip_addresses"}},
		"InterfaceAddress": {
			"So is that of an interface, which is known by its MAC address.",
			func(vm *engine.VM) {
				vm.Interfaces[0].Links[0].IP = "10.0.0.12"
				vm.Interfaces = append([]engine.MachineInterface{{MAC: "00:16:3e:00:00:00"}}, vm.Interfaces...)
			},
			[]string{"interfaces"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			vm := deployedVM()
			tc.change(&vm)
			before := modelOf(t, deployedState)
			after := before
			after.refresh(t.Context(), vm, &diags)
			if diags.HasError() {
				t.Fatal(providertest.DescribeDiagnostics(diags))
			}
			if diff := cmp.Diff(tc.drift, differences(t, before, after)); diff != "" {
				t.Errorf("%s\ndrift (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLostAddress wants a warning, and no drift, if a fixed address is gone.
func TestLostAddress(t *testing.T) {
	t.Parallel()
	interfaces := modelOf(t, deployedState.WithChanges(object{"interfaces": object{"eth0": object{
		"subnet": "10.0.0.0/24", "ip": "10.0.0.11", "mac_address": "00:16:3e:00:00:01", "ip_addresses": []string{},
	}}})).interfaces(t.Context(), &diag.Diagnostics{})
	cases := map[string]struct {
		reason string
		change func(*engine.VM)
		warns  int
	}{
		"There":    {"An existing address is not missing.", func(*engine.VM) {}, 0},
		"Lost":     {"Another address is not the fixed one.", func(vm *engine.VM) { vm.Interfaces[0].Links[0].IP = "10.0.0.12" }, 1},
		"Unlinked": {"An interface without an address has lost it.", func(vm *engine.VM) { vm.Interfaces[0].Links = nil }, 1},
		"Released": {"A VM that is not deployed may have none.", func(vm *engine.VM) { vm.Status, vm.Interfaces[0].Links = engine.StatusReady, nil }, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			vm := deployedVM()
			tc.change(&vm)
			warnLostAddresses(vm, interfaces, &diags)
			if diags.WarningsCount() != tc.warns || diags.HasError() {
				t.Errorf("%s\ngot %q, want %d warnings", tc.reason, providertest.DescribeDiagnostics(diags), tc.warns)
			}
		})
	}
}

// TestNotesSeen checks what the observed VM says about its pending work.
func TestNotesSeen(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		notes  privateState
		vm     engine.VM
		want   privateState
	}{
		"Killed":   {"An unfinished VM is pending, also if nobody could record it.", privateState{}, engine.VM{Ours: true}, privateState{Pending: true}},
		"Finished": {"A VM that was finished meanwhile is not pending.", privateState{Pending: true}, engine.VM{Ours: true, Finished: true}, privateState{}},
		"Imported": {"A VM without our mark does not show whether it is finished.", privateState{Imported: true}, engine.VM{}, privateState{Imported: true}},
		"Unmarked": {"A VM that lost its mark does not show whether it is finished.", privateState{Pending: true}, engine.VM{}, privateState{Pending: true}},
		"RanOnce": {
			"Its redeployment failed, and it was imported since: it ran, whatever its state is now.", privateState{Imported: true},
			engine.VM{Ours: true, Machine: engine.Machine{Status: engine.StatusFailedDeployment, Description: engine.DescriptionWithFinishedOnce(engine.DescriptionWithMark("", "o/web", false))}},
			privateState{Key: "o/web", Imported: true, Pending: true, Ran: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.notes.withObserved(tc.vm); !cmp.Equal(got, tc.want) {
				t.Errorf("%s\ngot %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRefreshOfImport begins with a state that has only an id. The result must be what a
// matching configuration needs.
func TestRefreshOfImport(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	m := modelOf(t, object{"id": "4y3h7n"})
	m.refresh(t.Context(), deployedVM(), &diags)
	m.Tags = values.TagSet([]string{"web"})
	if diags.HasError() {
		t.Fatal(providertest.DescribeDiagnostics(diags))
	}
	want := modelOf(t, deployedState.WithChanges(object{
		"interfaces": nil, "deploy": object{"image": "ubuntu/noble", "ephemeral": false, "kernel": deployedVM().Kernel},
	}))
	if diff := cmp.Diff([]string(nil), differences(t, want, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFillKeepsThePlan(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	plan := modelOf(t, deployedState)
	plan.Status, plan.FQDN, plan.VMHost = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	plan.Deploy = encodeDeploy(t.Context(), &deployModel{Image: texttype.ImageType.NewUnknown(), UserDataWOVersion: types.Int64Value(1)}, &diags)
	vm := deployedVM()
	vm.StatusName, vm.Zone, vm.Image, vm.FQDN, vm.Cores = "Deploying", "elsewhere", "", "web-1.example.com", 9
	plan.fill(t.Context(), vm, &diags)
	if diags.HasError() {
		t.Fatal(providertest.DescribeDiagnostics(diags))
	}
	if got := plan.Zone.ValueString(); got != "az1" {
		t.Errorf("got zone %q, want the planned one: Terraform refuses an apply that differs from its plan", got)
	}
	if got := plan.Status.ValueString() + " " + plan.FQDN.ValueString() + " " + plan.VMHost.ValueString(); got != "Deploying web-1.example.com lxd-a" {
		t.Errorf("got %q for what the plan left open", got)
	}
	if d := plan.deploy(t.Context(), &diags); !d.Image.IsNull() {
		t.Errorf("got image %s, want null: MAAS reported none, and no value may stay unknown", d.Image)
	}
}

// TestRefreshHalfway checks a failed update that added a deployment and a tag, and removed a
// tag.
func TestRefreshHalfway(t *testing.T) {
	t.Parallel()
	state := modelOf(t, readyState.WithChanges(object{"tags": []string{"old", "web"}}))
	cases := map[string]struct {
		reason   string
		change   func(*engine.VM)
		deployed bool
		tags     []string
	}{
		"NotBegun": {
			reason: "Nothing is installed, and the old tag is still on the VM.",
			change: func(vm *engine.VM) { vm.Status, vm.Image, vm.Tags = engine.StatusReady, "", []string{"old", "web"} },
			tags:   []string{"old", "web"},
		},
		"Begun": {
			reason:   "The installation has begun, and the new tag is on the VM.",
			change:   func(vm *engine.VM) { vm.Status, vm.Tags = engine.StatusDeploying, []string{"new", "web"} },
			deployed: true, tags: []string{"new", "web"},
		},
		"Failed": {
			reason:   "The installation failed: people must look at it before another try.",
			change:   func(vm *engine.VM) { vm.Status, vm.Tags = engine.StatusFailedDeployment, nil },
			deployed: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			plan := modelOf(t, readyState.WithChanges(object{"tags": []string{"new", "web"}, "deploy": object{"image": "ubuntu/noble"}}))
			vm := deployedVM()
			tc.change(&vm)
			got := state
			got.refreshUnfinished(t.Context(), plan, engine.VMSpec{}, nil, vm, &diags)
			if diags.HasError() {
				t.Fatal(providertest.DescribeDiagnostics(diags))
			}
			if got.Deploy.IsNull() == tc.deployed {
				t.Errorf("%s\ngot deploy %s, want deployed %v", tc.reason, got.Deploy, tc.deployed)
			}
			if diff := cmp.Diff(tc.tags, got.tags()); diff != "" {
				t.Errorf("%s\ntags (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRefreshHalfwayDisks checks the disks in the state after a failed update that was to add one.
func TestRefreshHalfwayDisks(t *testing.T) {
	t.Parallel()
	disk := func(gb int) object { return object{"size_gb": gb, "pool": "default"} }
	seen := func(sizes ...int64) (found []engine.MachineDisk) {
		for _, gb := range sizes {
			found = append(found, engine.MachineDisk{SizeGB: gb, Pool: "default"})
		}
		return found
	}
	before := object{"root": disk(8), "data1": disk(2)}
	planned := object{"root": disk(8), "data1": disk(2), "data2": disk(3)}
	cases := map[string]struct {
		reason string
		found  []engine.MachineDisk
		want   object
	}{
		"Added":     {"LXD made the disk before the update failed.", seen(8, 2, 3), planned},
		"NotAdded":  {"The update failed before.", seen(8, 2), before},
		"Unknown":   {"Nobody tells the disks.", nil, before},
		"Strangers": {"A disk more than the plan has is somebody else's.", seen(8, 2, 3, 4), planned},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			got, vm := modelOf(t, readyState.WithChanges(object{"disks": before})), deployedVM()
			vm.Disks = tc.found
			got.refreshUnfinished(t.Context(), modelOf(t, readyState.WithChanges(object{"disks": planned})), engine.VMSpec{Resize: true}, nil, vm, &diags)
			want := modelOf(t, readyState.WithChanges(object{"disks": tc.want}))
			if diags.HasError() || !got.Disks.Equal(want.Disks) {
				t.Errorf("%s\ngot %s %s, want %s", tc.reason, got.Disks, providertest.DescribeDiagnostics(diags), want.Disks)
			}
		})
	}
}

// TestRefreshHalfwayRedeployed checks a failed redeployment with another image. Only a
// deployed image is in the state, so that taking the change back replaces nothing.
func TestRefreshHalfwayRedeployed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, note, image, kernel string
		status                      engine.Status
		wantImage, wantKernel       string
	}{
		"NotReleased": {"The redeployment has not begun.", "", "ubuntu/noble", "ga-24.04", engine.StatusDeployed, "ubuntu/noble", "ga-24.04"},
		"Failed":      {"An image whose deployment failed is not there.", "b", "ubuntu/jammy", "ga-22.04", engine.StatusFailedDeployment, "ubuntu/noble", "ga-24.04"},
		"Deployed":    {"It failed at a step after the deployment.", "b", "ubuntu/jammy", "ga-22.04", engine.StatusDeployed, "ubuntu/jammy", "ga-22.04"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			got := modelOf(t, withTrigger(deployedState, "a").WithChanges(object{"deploy": object{"image": "ubuntu/noble", "kernel": "ga-24.04", "ephemeral": false}}))
			plan := modelOf(t, withTrigger(deployedState, "b").WithChanges(object{"deploy": object{"image": "ubuntu/jammy", "ephemeral": false}}))
			planned := plan.deploy(t.Context(), &diags)
			planned.Kernel = types.StringUnknown()
			plan.Deploy = encodeDeploy(t.Context(), planned, &diags)
			vm := deployedVM()
			vm.Status, vm.Image, vm.Kernel, vm.Description = tc.status, tc.image, tc.kernel, engine.DescriptionWithInstallation(vm.Description, tc.note)
			got.refreshUnfinished(t.Context(), plan, engine.VMSpec{Installation: "b"}, nil, vm, &diags)
			d := got.deploy(t.Context(), &diags)
			if diags.HasError() {
				t.Fatal(providertest.DescribeDiagnostics(diags))
			}
			if d.Image.ValueString() != tc.wantImage || d.Kernel.ValueString() != tc.wantKernel {
				t.Errorf("%s\ngot image %s and kernel %s, want %s and %s", tc.reason, d.Image, d.Kernel, tc.wantImage, tc.wantKernel)
			}
		})
	}
}

// TestInstallationName: an interrupted run and its continuation use the same name of an
// installation, and no other run does.
func TestInstallationName(t *testing.T) {
	t.Parallel()
	a, b := modelOf(t, withTrigger(deployedState, "a")), modelOf(t, withTrigger(deployedState, "b"))
	first := b.installationWord("")
	if again := modelOf(t, withTrigger(deployedState, "b")).installationWord(""); again != first {
		t.Errorf("want the same name for the same change, got %s and %s", first, again)
	}
	back := a.installationWord(first)
	seen := map[string]bool{first: true, back: true, b.installationWord(back): true, a.installationWord(""): true}
	if len(seen) != 4 {
		t.Errorf("want another name for each change, got %v", seen)
	}
}

// TestRanOnce: the notes keep that a VM ran, whatever becomes of it.
func TestRanOnce(t *testing.T) {
	t.Parallel()
	vm := deployedVM()
	n := privateState{}.withObserved(vm)
	if !n.Ran {
		t.Error("want it noted of a Deployed VM")
	}
	vm.Status = engine.StatusFailedDeployment
	state := modelOf(t, deployedState)
	n = n.withObserved(vm).afterFailedUpdate(state, engine.Ref{}, vm).afterUpdate(state, state, nil, engine.VMSpec{Installation: "b"}, "")
	if !n.Ran || n.Installation != "b" {
		t.Errorf("got %+v", n)
	}
	if never := (privateState{}).withObserved(vm); never.Ran {
		t.Error("a VM that was never Deployed did not run")
	}
}

func TestMatchDisks(t *testing.T) {
	t.Parallel()
	disk := func(gb int64, pool string) diskModel {
		return diskModel{SizeGB: types.Int64Value(gb), Pool: values.OptionalString(pool)}
	}
	found := func(name string, gb int64, pool string) engine.MachineDisk {
		return engine.MachineDisk{Name: name, SizeGB: gb, Pool: pool}
	}
	cases := map[string]struct {
		reason string
		disks  map[string]diskModel
		found  []engine.MachineDisk
		want   map[string]string
	}{
		"InOrder": {
			reason: "Equal disks are matched in order.",
			disks:  map[string]diskModel{"root": disk(8, ""), "a": disk(8, ""), "b": disk(8, "")},
			found:  []engine.MachineDisk{found("sda", 8, ""), found("sdb", 8, ""), found("sdc", 8, "")},
			want:   map[string]string{"root": "sda", "a": "sdb", "b": "sdc"},
		},
		"GuestsOrder": {
			reason: "A guest that counts the other way round has the same disks.",
			disks:  map[string]diskModel{"root": disk(8, ""), "data": disk(100, "")},
			found:  []engine.MachineDisk{found("sda", 100, ""), found("sdb", 8, "")},
			want:   map[string]string{"root": "sdb", "data": "sda"},
		},
		"Pools": {
			reason: "If MAAS reports the pool, it counts.",
			disks:  map[string]diskModel{"root": disk(8, "slow"), "data": disk(8, "fast")},
			found:  []engine.MachineDisk{found("sda", 8, "fast"), found("sdb", 8, "slow")},
			want:   map[string]string{"root": "sdb", "data": "sda"},
		},
		"Grown": {
			reason: "The remaining disk and name belong together.",
			disks:  map[string]diskModel{"root": disk(8, ""), "data": disk(100, "")},
			found:  []engine.MachineDisk{found("sda", 8, ""), found("sdb", 200, "")},
			want:   map[string]string{"root": "sda", "data": "sdb"},
		},
		"Gone": {
			reason: "A disk that is gone has no match.",
			disks:  map[string]diskModel{"root": disk(8, ""), "data": disk(100, "")},
			found:  []engine.MachineDisk{found("sda", 8, "")},
			want:   map[string]string{"root": "sda"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for disk, f := range matchDisks(tc.disks, tc.found) {
				got[disk] = f.Name
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSpecOfModel(t *testing.T) {
	t.Parallel()
	plan := modelOf(t, deployedState.WithChanges(object{
		"pool": "web", "cores": 2, "pinned_cores": []int{4, 5}, "hugepages": true,
		"disks": object{
			"a": object{"size_gb": 1}, "root": object{"size_gb": 8, "pool": "default"}, "z": object{"size_gb": 2, "pool": "fast"},
		},
		"interfaces": object{"eth1": object{"subnet": "lan"}, "eth0": object{"subnet": "10.0.0.0/24", "ip": "10.0.0.11"}},
		"deploy":     object{"image": "ubuntu/noble", "kernel": "ga-24.04", "ephemeral": true},
	}))
	config := modelOf(t, object{"pool": "web", "profile": "gold", "deploy": object{"user_data_wo": "#cloud-config\n", "kernel": "ga-24.04"}})
	config.Interfaces = plan.Interfaces
	got, diags := plan.spec(t.Context(), config)
	if diags.HasError() {
		t.Fatal(providertest.DescribeDiagnostics(diags))
	}
	want := engine.VMSpec{
		Name: "web-1", Host: "lxd-a", PinnedCores: []int{4, 5}, MemoryMiB: 2048, HugePages: true, Profile: "gold",
		Disks: []engine.Disk{
			{Name: "root", SizeGB: 8, Pool: "default"}, {Name: "a", SizeGB: 1}, {Name: "z", SizeGB: 2, Pool: "fast"},
		},
		Interfaces: []engine.Interface{
			{Name: "eth0", Subnet: "10.0.0.0/24", IP: netip.MustParseAddr("10.0.0.11")}, {Name: "eth1", Subnet: "lan"},
		},
		Pool: "web", // zone and domain are not configured, so they stay
		Tags: []string{"web"},
		Deploy: &engine.Deployment{
			Image: "ubuntu/noble", Kernel: "ga-24.04", Ephemeral: true, UserData: []byte("#cloud-config\n"),
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(engine.VMSpec{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Errorf("the engine refuses it: %v", err)
	}
}

// TestSpecOfPlacement leaves the host open, whatever host was chosen before.
func TestSpecOfPlacement(t *testing.T) {
	t.Parallel()
	place := object{"zone": "az1", "pool": "kvm", "tags": []string{"ssd", "rack1"}, "group": "web", "strategy": "pack"}
	plan := modelOf(t, readyState.WithChanges(object{"placement": place}))
	got, diags := plan.spec(t.Context(), plan)
	if diags.HasError() {
		t.Fatal(providertest.DescribeDiagnostics(diags))
	}
	want := engine.Placement{Zone: "az1", Pool: "kvm", Tags: []string{"rack1", "ssd"}, Group: "web", Strategy: placement.Pack}
	if diff := cmp.Diff(want, got.Placement); diff != "" || got.Host != "" {
		t.Errorf("host %q, placement (-want +got):\n%s", got.Host, diff)
	}
	if err := got.Validate(); err != nil {
		t.Errorf("the engine refuses it: %v", err)
	}
}

// TestImportedSettings: an import takes no options and devices over, and values that the VM
// has already do not stop it.
func TestImportedSettings(t *testing.T) {
	t.Parallel()
	seen := deployedVM()
	seen.Config = map[string]string{"user.team": "theirs", "security.secureboot": "true"}
	seen.Devices = map[string]engine.Device{"vTPM_0": {Type: "tpm", Properties: map[string]string{}}}
	var diags diag.Diagnostics
	state := modelOf(t, object{"id": "4y3h7n"})
	state.refresh(t.Context(), seen, &diags)
	if diags.HasError() || !state.settings().IsNull() {
		t.Errorf("taken over: %v, %v", state.settings(), diags)
	}
	cases := map[string]struct {
		reason, stops string
		config        object
	}{
		"Has":     {"The VM has it already.", "", object{"config": object{"security.secureboot": "true"}, "devices": object{"vTPM_0": object{"type": "tpm"}}}},
		"Option":  {"It has another value.", "config", object{"config": object{"security.secureboot": "false"}}},
		"Device":  {"The VM does not have it.", "devices", object{"devices": object{"tpm1": object{"type": "tpm"}}}},
		"Live":    {"It changes while the VM runs.", "", object{"config": object{"user.team": "ours"}}},
		"Nothing": {"Nothing is declared.", "", object{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := vmPlan{state: &state, plan: modelOf(t, deployedState.WithChanges(tc.config)), diags: new(diag.Diagnostics)}
			p.observeVM = func(context.Context, string) (engine.VM, error) { return seen, nil }
			if attribute, _ := changeNeedingStop(t.Context(), &p); attribute != tc.stops || p.diags.HasError() {
				t.Errorf("%s\nit is stopped for %q, %v", tc.reason, attribute, p.diags)
			}
		})
	}
}

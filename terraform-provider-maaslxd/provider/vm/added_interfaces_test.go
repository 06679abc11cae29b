package vm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// interfaceOn is an interface in a configuration. interfaceWithMAC is the same interface in a
// state.
func interfaceOn(subnet, mode string) object {
	o := object{"subnet": subnet}
	if mode != "" {
		o["mode"] = mode
	}
	return o
}

func interfaceWithMAC(subnet, mode, mac string) object {
	return interfaceOn(subnet, mode).WithChanges(object{"mac_address": mac, "ip_addresses": []string{}})
}

// TestInterfacesInPlace decides which interfaces are added and removed in place, and explains
// why others are not.
func TestInterfacesInPlace(t *testing.T) {
	t.Parallel()
	const lan, dark = "10.0.0.0/24", "10.1.0.0/24"
	made := object{"eth0": interfaceWithMAC(lan, "", "00:16:3e:00:00:01")}
	both := made.WithChanges(object{"eth1": interfaceWithMAC(dark, "dhcp", "00:16:3e:00:00:02")})
	cases := map[string]struct {
		reason      string
		have, want  object
		added       []string // in the notes
		composed    bool     // known to MAAS
		unfinished  bool
		comes, goes []string
		replaces    bool
		why         string
	}{
		"Same":   {reason: "Nothing changes.", have: made, want: object{"eth0": interfaceOn(lan, "")}},
		"Label":  {reason: "The VM's first interfaces may get other labels.", have: made, want: object{"a": interfaceOn(lan, "")}},
		"DHCP":   {reason: "MAAS is not involved.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp")}, comes: []string{"eth1"}},
		"LinkUp": {reason: "It has no address.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, comes: []string{"eth1"}},
		"Auto":   {reason: "MAAS would give the address.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "")}, replaces: true, why: "MAAS would give interfaces.eth1 an address"},
		"Static": {reason: "MAAS would give the address.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "static")}, replaces: true, why: "MAAS would give interfaces.eth1 an address"},
		"IP":     {reason: "MAAS would give the address.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "").WithChanges(object{"ip": "10.1.0.9"})}, replaces: true, why: "MAAS would give interfaces.eth1 an address"},
		"Further": {
			reason: "MAAS would give the second address.", have: made,
			want:     object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp").WithChanges(object{"addresses": []object{{"subnet": "fd00::/64"}}})},
			replaces: true, why: "MAAS would give interfaces.eth1 an address",
		},
		"ToStatic":   {reason: "MAAS would give the address.", have: both, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "static")}, added: []string{"eth1"}, replaces: true, why: "MAAS would give interfaces.eth1 an address"},
		"Unfinished": {reason: "The VM is not finished.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp")}, unfinished: true, replaces: true, why: "The VM is not finished"},
		"Lost":       {reason: "Somebody detached it, so it is not in the state.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, comes: []string{"eth1"}},
		"Composed":   {reason: "MAAS has no call for that.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp")}, composed: true, replaces: true, why: "MAAS can neither add an interface"},
		"First":      {reason: "The VM would boot from another network.", have: made, want: object{"a": interfaceOn(lan, "dhcp"), "eth0": interfaceOn(lan, "")}, replaces: true, why: "interfaces.a comes before the others"},
		"Between":    {reason: "The labels identify the interfaces.", have: made.WithChanges(object{"eth2": interfaceWithMAC(dark, "", "00:16:3e:00:00:03")}), want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp"), "eth2": interfaceOn(dark, "")}, comes: []string{"eth1"}},
		"Removed":    {reason: "It was added in place.", have: both, want: object{"eth0": interfaceOn(lan, "")}, added: []string{"eth1"}, goes: []string{"eth1"}},
		"Made": {reason: "The VM was made with it.", have: both, want: object{"eth0": interfaceOn(lan, "")}, replaces: true, why: "interfaces.eth1 was " +
			"made with the VM, and is removed"},
		"Swapped": {reason: "One is removed, and another is added.", have: both, want: object{"eth0": interfaceOn(lan, ""), "stor": interfaceOn(dark, "dhcp")}, added: []string{"eth1"}, comes: []string{"stor"}, goes: []string{"eth1"}},
		"Changed": {reason: "It is removed and added again.", have: both, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, added: []string{"eth1"}, comes: []string{"eth1"}},
		"ChangedMade": {
			reason: "The VM was made with it, and the plan shows the change.", have: both, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, replaces: true,
		},
		"MadeAndMore": {
			reason: "One change that replaces is enough.", have: made, want: object{"eth0": interfaceOn(dark, ""), "eth1": interfaceOn(dark, "dhcp")}, replaces: true, why: "interfaces.eth0 was made with the VM, and changes",
		},
		"Unnamed": {reason: "Without the attribute, the VM keeps its interfaces.", have: both, want: nil, added: []string{"eth1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			config := deployedConfig.WithChanges(object{"interfaces": tc.want})
			if tc.want == nil {
				config = deployedConfig.WithChanges(object{"interfaces": nil})
			}
			state := modelOf(t, deployedState.WithChanges(object{"interfaces": tc.have}))
			p := vmPlan{
				config: modelOf(t, config), plan: modelOf(t, config), state: &state, private: privateState{AddedInterfaces: tc.added, Pending: tc.unfinished}, diags: &diags,
				listSubnets:   func(context.Context) ([]engine.Subnet, error) { return nil, nil },
				makesVMsInLXD: func(context.Context) (bool, error) { return !tc.composed, nil },
			}
			p.plan.IPAddresses = state.IPAddresses
			if replaces := (interfacePlan{&p}).planInterfaces(t.Context()); replaces != tc.replaces || (p.interfaceDiff.reason == "") != (tc.why == "") || !strings.Contains(p.interfaceDiff.reason, tc.why) {
				t.Errorf("%s\nwant replaced %v because %q, got %v, %q", tc.reason, tc.replaces, tc.why, replaces, p.interfaceDiff.reason)
			}
			if !tc.replaces {
				if diff := cmp.Diff([][]string{tc.comes, tc.goes}, [][]string{p.interfaceDiff.added, p.interfaceDiff.removed}, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\nadded and removed (-want +got):\n%s", tc.reason, diff)
				}
			}
			if p.plan.IPAddresses.IsUnknown() || diags.HasError() {
				t.Errorf("%s\naddresses of the VM are %s, and %v", tc.reason, p.plan.IPAddresses, diags)
			}
		})
	}
}

// TestDivideAsPlanned: if the interfaces do not compare as in the plan, the apply changes
// nothing.
func TestDivideAsPlanned(t *testing.T) {
	t.Parallel()
	have := object{"eth0": interfaceWithMAC("10.0.0.0/24", "", "00:16:3e:00:00:01")}
	for name, tc := range map[string]struct {
		reason, spelling string
		refused          bool
		added            int
	}{
		"Planned": {"The new interface is added.", "10.0.0.0/24", false, 1},
		"Away":    {"MAAS does not confirm that lan is the same subnet.", "lan", true, 0},
	} {
		var diags diag.Diagnostics
		state := modelOf(t, deployedState.WithChanges(object{"interfaces": have}))
		config := modelOf(t, deployedConfig.WithChanges(object{"interfaces": object{"eth0": interfaceOn(tc.spelling, ""), "eth1": interfaceOn("10.1.0.0/24", "dhcp")}}))
		p := vmPlan{
			config: config, plan: config, state: &state, diags: &diags,
			listSubnets: func(context.Context) ([]engine.Subnet, error) { return nil, errors.New("MAAS does not answer") },
		}
		spec := engine.VMSpec{Interfaces: []engine.Interface{{Name: "eth0"}, {Name: "eth1"}}}
		interfacePlan{&p}.splitAddedInterfaces(t.Context(), &spec)
		if diags.HasError() != tc.refused || len(spec.AddedInterfaces) != tc.added {
			t.Errorf("%s: %s\ngot %+v, %v", name, tc.reason, spec, diags)
		}
	}
}

// TestRefreshAddedInterfaces: LXD reports interfaces that MAAS does not know. One that is gone
// leaves the state. One that a run could not save is added to it.
func TestRefreshAddedInterfaces(t *testing.T) {
	t.Parallel()
	nic := engine.AddedNIC{Device: "eth1", MAC: "00:16:3e:00:00:02", Bridge: "br1", Subnet: "10.1.0.0/24", Mode: "dhcp"}
	eth0 := object{"eth0": interfaceWithMAC("10.0.0.0/24", "", "00:16:3e:00:00:01")}
	eth1 := interfaceWithMAC("10.1.0.0/24", "dhcp", nic.MAC)
	cases := map[string]struct {
		reason string
		state  object
		notes  []string
		seen   map[string]engine.AddedNIC // nil: LXD does not answer
		want   object
		labels []string
	}{
		"There":    {reason: "It has not changed.", state: eth0.WithChanges(object{"eth1": eth1}), notes: []string{"eth1"}, seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1}), labels: []string{"eth1"}},
		"Gone":     {reason: "Somebody removed it in LXD.", state: eth0.WithChanges(object{"eth1": eth1}), notes: []string{"eth1"}, seen: map[string]engine.AddedNIC{}, want: eth0},
		"Silent":   {reason: "The LXD does not answer.", state: eth0.WithChanges(object{"eth1": eth1}), notes: []string{"eth1"}, want: eth0.WithChanges(object{"eth1": eth1}), labels: []string{"eth1"}},
		"Unsaved":  {reason: "A run was killed before it could save the state.", state: eth0, seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"bridge": "br1"})}), labels: []string{"eth1"}},
		"Made":     {reason: "The VM's first interfaces stay, whatever LXD reports.", state: eth0.WithChanges(object{"eth1": eth1}), seen: map[string]engine.AddedNIC{}, want: eth0.WithChanges(object{"eth1": eth1})},
		"OtherMAC": {reason: "A run changed its MAC, and was killed before it could save the state.", state: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"mac_address": "00:16:3e:00:00:09"})}), notes: []string{"eth1"}, seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"bridge": "br1"})}), labels: []string{"eth1"}},
		"Imported": {reason: "LXD knows the labels of added interfaces.", seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"bridge": "br1"})}), labels: []string{"eth1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			with := func(interfaces object) vmModel {
				if interfaces == nil {
					return modelOf(t, deployedState.WithChanges(object{"interfaces": nil}))
				}
				return modelOf(t, deployedState.WithChanges(object{"interfaces": interfaces}))
			}
			state, vm := with(tc.state), deployedVM()
			vm.AddedNICs = tc.seen
			vm.Interfaces = []engine.MachineInterface{{MAC: "00:16:3e:00:00:01", Name: "eth0", Links: []engine.InterfaceLink{{Mode: "auto", Subnet: "10.0.0.0/24"}}}}
			state.dropLostInterfaces(t.Context(), tc.notes, vm, &diags)
			state.refreshInterfaces(t.Context(), vm, &diags)
			want := with(tc.want)
			if !state.Interfaces.Equal(want.Interfaces) || diags.HasError() {
				t.Errorf("%s\nwant %s\ngot %s\n%v", tc.reason, want.Interfaces, state.Interfaces, diags)
			}
			if labels := state.addedInterfaceLabels(t.Context(), tc.notes, vm, &diags); !slices.Equal(labels, tc.labels) {
				t.Errorf("%s\nwant the labels %v, got %v", tc.reason, tc.labels, labels)
			}
		})
	}
}

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

// interfaceOn is an interface in a configuration, and interfaceWithMAC is it in a state.
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

// TestInterfacesInPlace decides which interfaces come and go in place, and says in words why others
// do not.
func TestInterfacesInPlace(t *testing.T) {
	t.Parallel()
	const lan, dark = "10.0.0.0/24", "10.1.0.0/24"
	made := object{"eth0": interfaceWithMAC(lan, "", "00:16:3e:00:00:01")}
	both := made.WithChanges(object{"eth1": interfaceWithMAC(dark, "dhcp", "00:16:3e:00:00:02")})
	cases := map[string]struct {
		reason      string
		have, want  object
		added       []string // notes
		composed    bool     // by MAAS
		unfinished  bool
		comes, goes []string
		replaces    bool
		why         string
	}{
		"Same":   {reason: "Nothing changes.", have: made, want: object{"eth0": interfaceOn(lan, "")}},
		"Label":  {reason: "What the VM was made with may be called otherwise.", have: made, want: object{"a": interfaceOn(lan, "")}},
		"DHCP":   {reason: "MAAS has nothing to do with it.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp")}, comes: []string{"eth1"}},
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
		"Unfinished": {reason: "It is still being made.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp")}, unfinished: true, replaces: true, why: "The VM is not finished"},
		"Lost":       {reason: "Somebody detached it, so the state has none.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, comes: []string{"eth1"}},
		"Composed":   {reason: "MAAS has no call for it.", have: made, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp")}, composed: true, replaces: true, why: "MAAS can neither add an interface"},
		"First":      {reason: "The VM would boot from another network.", have: made, want: object{"a": interfaceOn(lan, "dhcp"), "eth0": interfaceOn(lan, "")}, replaces: true, why: "interfaces.a comes before the others"},
		"Between":    {reason: "Labels tell which is which.", have: made.WithChanges(object{"eth2": interfaceWithMAC(dark, "", "00:16:3e:00:00:03")}), want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "dhcp"), "eth2": interfaceOn(dark, "")}, comes: []string{"eth1"}},
		"Removed":    {reason: "It was added in place.", have: both, want: object{"eth0": interfaceOn(lan, "")}, added: []string{"eth1"}, goes: []string{"eth1"}},
		"Made":       {reason: "The VM was made with it.", have: both, want: object{"eth0": interfaceOn(lan, "")}, replaces: true, why: "interfaces.eth1 was made with the VM, and goes"},
		"Swapped":    {reason: "One goes and another comes.", have: both, want: object{"eth0": interfaceOn(lan, ""), "stor": interfaceOn(dark, "dhcp")}, added: []string{"eth1"}, comes: []string{"stor"}, goes: []string{"eth1"}},
		"Changed":    {reason: "It goes and comes.", have: both, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, added: []string{"eth1"}, comes: []string{"eth1"}},
		"ChangedMade": {
			reason: "The VM was made with it, and a plan shows what changes.", have: both, want: object{"eth0": interfaceOn(lan, ""), "eth1": interfaceOn(dark, "link_up")}, replaces: true,
		},
		"MadeAndMore": {
			reason: "One change that replaces is enough.", have: made, want: object{"eth0": interfaceOn(dark, ""), "eth1": interfaceOn(dark, "dhcp")}, replaces: true, why: "interfaces.eth0 was made with the VM, and changes",
		},
		"Unnamed": {reason: "Who names none has what there is.", have: both, want: nil, added: []string{"eth1"}},
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
					t.Errorf("%s\ncome and go (-want +got):\n%s", tc.reason, diff)
				}
			}
			if p.plan.IPAddresses.IsUnknown() || diags.HasError() {
				t.Errorf("%s\naddresses of the VM are %s, and %v", tc.reason, p.plan.IPAddresses, diags)
			}
		})
	}
}

// TestDivideAsPlanned: an apply for which the interfaces do not compare as they did in the plan makes
// no half of a change.
func TestDivideAsPlanned(t *testing.T) {
	t.Parallel()
	have := object{"eth0": interfaceWithMAC("10.0.0.0/24", "", "00:16:3e:00:00:01")}
	for name, tc := range map[string]struct {
		reason, spelling string
		refused          bool
		added            int
	}{
		"Planned": {"The new interface comes.", "10.0.0.0/24", false, 1},
		"Away":    {"MAAS does not tell that lan is the same subnet.", "lan", true, 0},
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

// TestRefreshAddedInterfaces: LXD tells of interfaces that MAAS does not know. One that is gone leaves
// the state, and one that a run could not save comes into it.
func TestRefreshAddedInterfaces(t *testing.T) {
	t.Parallel()
	nic := engine.AddedNIC{Device: "eth1", MAC: "00:16:3e:00:00:02", Bridge: "br1", Subnet: "10.1.0.0/24", Mode: "dhcp"}
	eth0 := object{"eth0": interfaceWithMAC("10.0.0.0/24", "", "00:16:3e:00:00:01")}
	eth1 := interfaceWithMAC("10.1.0.0/24", "dhcp", nic.MAC)
	cases := map[string]struct {
		reason string
		state  object
		notes  []string
		seen   map[string]engine.AddedNIC // nil: nobody tells
		want   object
		labels []string
	}{
		"There":    {reason: "It is as it was.", state: eth0.WithChanges(object{"eth1": eth1}), notes: []string{"eth1"}, seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1}), labels: []string{"eth1"}},
		"Gone":     {reason: "Somebody took it away in LXD.", state: eth0.WithChanges(object{"eth1": eth1}), notes: []string{"eth1"}, seen: map[string]engine.AddedNIC{}, want: eth0},
		"Silent":   {reason: "The LXD does not answer.", state: eth0.WithChanges(object{"eth1": eth1}), notes: []string{"eth1"}, want: eth0.WithChanges(object{"eth1": eth1}), labels: []string{"eth1"}},
		"Unsaved":  {reason: "A run ended in the midst.", state: eth0, seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"bridge": "br1"})}), labels: []string{"eth1"}},
		"Made":     {reason: "What the VM was made with stays, whatever LXD tells.", state: eth0.WithChanges(object{"eth1": eth1}), seen: map[string]engine.AddedNIC{}, want: eth0.WithChanges(object{"eth1": eth1})},
		"OtherMAC": {reason: "A run that gave it another MAC ended before it could save the state.", state: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"mac_address": "00:16:3e:00:00:09"})}), notes: []string{"eth1"}, seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"bridge": "br1"})}), labels: []string{"eth1"}},
		"Imported": {reason: "LXD tells the labels of what was added.", seen: map[string]engine.AddedNIC{"eth1": nic}, want: eth0.WithChanges(object{"eth1": eth1.WithChanges(object{"bridge": "br1"})}), labels: []string{"eth1"}},
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

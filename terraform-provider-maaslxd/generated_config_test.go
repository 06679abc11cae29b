package main

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// TestGeneratedConfig generates the configuration of imported objects. It leaves out what only the
// existing object can have.
func TestGeneratedConfig(t *testing.T) {
	t.Parallel()
	const mac = "00:16:3e:00:00:01"
	cases := map[string]struct {
		reason, resource string
		state            map[string]any
		at               *tftypes.AttributePath
		isLeftOut        bool
	}{
		"Certificate": {"A new LXD server has another certificate.", "maaslxd_vm_host", map[string]any{"server_fingerprint": "aa"}, tftypes.NewAttributePath().WithAttributeName("server_fingerprint"), true},
		"Zone":        {"A new VM host has it, too.", "maaslxd_vm_host", map[string]any{"zone": "az1"}, tftypes.NewAttributePath().WithAttributeName("zone"), false},
		"MACOfMAAS":   {"MAAS gives a new VM another one.", "maaslxd_vm", map[string]any{"vm_host_id": 3, "interfaces": mac}, pathOfMAC(), true},
		"MACInLXD":    {"The provider can give a new VM this one.", "maaslxd_vm", map[string]any{"interfaces": mac}, pathOfMAC(), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := generatedValue(t, tc.resource, tc.state, tc.at); got.IsNull() != tc.isLeftOut {
				t.Errorf("%s\nit is %s", tc.reason, got)
			}
		})
	}
}

func pathOfMAC() *tftypes.AttributePath {
	return tftypes.NewAttributePath().WithAttributeName("interfaces").WithElementKeyString("eth0").WithAttributeName("mac_address")
}

// generatedValue is a value of the configuration that is generated from a state.
func generatedValue(t *testing.T, resource string, state map[string]any, at *tftypes.AttributePath) tftypes.Value {
	t.Helper()
	server, err := newServer(provider.New("test")())
	if err != nil {
		t.Fatal(err)
	}
	of := server.(contextReleasingServer).schemas()[resource].ValueType().(tftypes.Object)
	raw, err := tfprotov6.NewDynamicValue(of, stateOf(of, state))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.GenerateResourceConfig(t.Context(), &tfprotov6.GenerateResourceConfigRequest{TypeName: resource, State: &raw})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp.Diagnostics)
	}
	config, err := resp.Config.Unmarshal(of)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := tftypes.WalkAttributePath(config, at)
	if err != nil {
		t.Fatal(err)
	}
	return got.(tftypes.Value)
}

// stateOf is a state with these values. That of interfaces is the MAC address of eth0.
func stateOf(of tftypes.Object, given map[string]any) tftypes.Value {
	values := map[string]tftypes.Value{}
	for name, kind := range of.AttributeTypes {
		values[name] = tftypes.NewValue(kind, nil)
		if value, has := given[name]; has && name != "interfaces" {
			values[name] = tftypes.NewValue(kind, value)
		}
	}
	if mac, has := given["interfaces"]; has {
		all := of.AttributeTypes["interfaces"].(tftypes.Map)
		one := map[string]tftypes.Value{}
		for name, kind := range all.ElementType.(tftypes.Object).AttributeTypes {
			one[name] = tftypes.NewValue(kind, nil)
		}
		one["mac_address"] = tftypes.NewValue(tftypes.String, mac)
		values["interfaces"] = tftypes.NewValue(all, map[string]tftypes.Value{"eth0": tftypes.NewValue(all.ElementType, one)})
	}
	return tftypes.NewValue(of, values)
}

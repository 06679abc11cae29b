package datasources

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// testFleet has a host without inventory, two hosts of one name, and two VMs.
func testFleet() fleet.Fleet {
	named := func(id int, name, machine string) fleet.Host {
		return fleet.Host{VMHost: engine.VMHost{ID: id, Name: name, MachineID: machine, Version: "5.21.3"}}
	}
	vm := func(id, name string, key engine.Key) fleet.VM {
		return fleet.VM{Key: key, Machine: engine.Machine{SystemID: id, Hostname: name, HostID: 2, HostName: "twin"}}
	}
	return fleet.Fleet{
		Hosts: []fleet.Host{{VMHost: engine.VMHost{ID: 1, Name: "dead"}}, named(2, "twin", "aaaaaa"), named(3, "twin", "bbbbbb")},
		VMs:   []fleet.VM{vm("cccccc", "web", "team/web"), vm("dddddd", "web", ""), vm("eeeeee", "node", "0b1c-uid")},
	}
}

// readSource reads a data source whose configuration has one value.
func readSource(t *testing.T, source datasource.DataSource, attribute string, value tftypes.Value) datasource.ReadResponse {
	t.Helper()
	look := func(context.Context) (fleet.Fleet, error) { return testFleet(), nil }
	var configured datasource.ConfigureResponse
	source.(datasource.DataSourceWithConfigure).Configure(t.Context(),
		datasource.ConfigureRequest{ProviderData: client.NewWithBackend(&client.Backend{Fleet: look})}, &configured)
	var described datasource.SchemaResponse
	source.Schema(t.Context(), datasource.SchemaRequest{}, &described)
	typ := described.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range typ.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
	}
	values[attribute] = value
	resp := datasource.ReadResponse{State: tfsdk.State{Schema: described.Schema, Raw: tftypes.NewValue(typ, nil)}}
	source.Read(t.Context(), datasource.ReadRequest{Config: tfsdk.Config{Schema: described.Schema, Raw: tftypes.NewValue(typ, values)}}, &resp)
	return resp
}

// TestDataFindsOne looks up objects with equal names, and objects of which MAAS knows little.
func TestDataFindsOne(t *testing.T) {
	t.Parallel()
	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	cases := map[string]struct {
		reason    string
		source    datasource.DataSource
		attribute string
		value     tftypes.Value
		says      string            // in the error
		null      []string          // attributes of what is found
		told      map[string]string // others
	}{
		"HostTwins": {
			reason: "Names of VM hosts need not be unique.", source: NewVMHostSource(),
			attribute: "name", value: text("twin"), says: `2 VM hosts of MAAS have name "twin". Set vm_host_id instead: 2, 3.`,
		},
		"HostByMachine": {
			reason: "The names of their machines are unique.", source: NewVMHostSource(), attribute: "system_id", value: text("bbbbbb"),
			told: map[string]string{"name": "twin", "lxd_version": "5.21.3"},
		},
		"HostNeverReached": {
			reason: "A VM host that MAAS never reached has no machine, and no version.", source: NewVMHostSource(),
			attribute: "vm_host_id", value: tftypes.NewValue(tftypes.Number, 1),
			null: []string{"system_id", "lxd_version"}, told: map[string]string{"name": "dead"},
		},
		"VMTwins": {
			reason: "MAAS keeps hostnames unique, but does not document that.", source: NewVMSource(),
			attribute: "name", value: text("web"), says: `2 VMs have name "web". Set id instead: cccccc, dddddd.`,
		},
		"VMOfAnOwner": {
			reason: "A key of ours begins with the owner.", source: NewVMSource(), attribute: "id", value: text("cccccc"),
			told: map[string]string{"owner": "team"},
		},
		"VMOfNobody": {
			reason: "Without a mark there is no owner.", source: NewVMSource(), attribute: "id", value: text("dddddd"),
			null: []string{"owner"},
		},
		"VMOfAnotherProgram": {
			reason: "A foreign key has no owner in it.", source: NewVMSource(), attribute: "name", value: text("node"),
			null: []string{"owner", "image"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := readSource(t, tc.source, tc.attribute, tc.value)
			if tc.says != "" {
				if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Detail() != tc.says {
					t.Errorf("%s\ngot %v", tc.reason, providertest.DescribeDiagnostics(resp.Diagnostics))
				}
				return
			}
			if resp.Diagnostics.HasError() {
				t.Fatal(providertest.DescribeDiagnostics(resp.Diagnostics))
			}
			var found map[string]tftypes.Value
			if err := resp.State.Raw.As(&found); err != nil {
				t.Fatal(err)
			}
			for _, attribute := range tc.null {
				if !found[attribute].IsNull() {
					t.Errorf("%s\n%s is %s, want null", tc.reason, attribute, found[attribute])
				}
			}
			for attribute, want := range tc.told {
				if !found[attribute].Equal(tftypes.NewValue(tftypes.String, want)) {
					t.Errorf("%s\n%s is %s, want %q", tc.reason, attribute, found[attribute], want)
				}
			}
		})
	}
}

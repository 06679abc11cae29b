package provider

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/engine"
)

// TestFleetLooksAreShared counts the looks of many who ask.
func TestFleetLooksAreShared(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		after  []time.Duration // when each of them asks
		looks  int64
	}{
		"AtOnce":  {"Who asks at the same moment shares.", make([]time.Duration, 20), 1},
		"Soon":    {"Who comes before the look begins joins it.", []time.Duration{0, fleetWindow / 2, fleetWindow - 1}, 1},
		"TooLate": {"Who comes after it began may have made something since, and gets a look of its own.", []time.Duration{0, fleetWindow + 1}, 2},
		"OneWaits": {
			"Those who come while one is under way share the next.",
			[]time.Duration{0, fleetWindow + 1, fleetWindow * 2, fleetWindow + time.Second}, 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var looks atomic.Int64
				l := newFleetLooks(func(context.Context) (engine.Fleet, error) {
					looks.Add(1)
					time.Sleep(time.Second)
					return engine.Fleet{Hosts: make([]engine.FleetHost, 1)}, nil
				})
				for _, after := range tc.after {
					go func() {
						time.Sleep(after)
						if fleet, err := l.read(t.Context()); len(fleet.Hosts) != 1 || err != nil {
							t.Errorf("got %v, %v", fleet, err)
						}
					}()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := looks.Load(); n != tc.looks {
					t.Errorf("%s\nthere were %d looks, want %d", tc.reason, n, tc.looks)
				}
			})
		})
	}
}

// TestFleetLookOutlivesItsFirst lets the one who began a look leave: the other
// still gets it.
func TestFleetLookOutlivesItsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFleetLooks(func(ctx context.Context) (engine.Fleet, error) {
			select {
			case <-time.After(time.Second):
				return engine.Fleet{}, errors.New("the answer")
			case <-ctx.Done():
				return engine.Fleet{}, ctx.Err()
			}
		})
		impatient, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		go func() {
			if _, err := l.read(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first got %v", err)
			}
		}()
		synctest.Wait()
		if _, err := l.read(t.Context()); err == nil || err.Error() != "the answer" {
			t.Errorf("the other got %v", err)
		}
		synctest.Wait()
	})
}

// anyFleet has a host without inventory, two of one name, and two VMs.
func anyFleet() engine.Fleet {
	named := func(id int, name, machine string) engine.FleetHost {
		return engine.FleetHost{VMHost: engine.VMHost{ID: id, Name: name, MachineID: machine, Version: "5.21.3"}}
	}
	vm := func(id, name string, key engine.Key) engine.FleetVM {
		return engine.FleetVM{Key: key, Machine: engine.Machine{SystemID: id, Hostname: name, HostID: 2, HostName: "twin"}}
	}
	return engine.Fleet{
		Hosts: []engine.FleetHost{{VMHost: engine.VMHost{ID: 1, Name: "dead"}}, named(2, "twin", "aaaaaa"), named(3, "twin", "bbbbbb")},
		VMs:   []engine.FleetVM{vm("cccccc", "web", "team/web"), vm("dddddd", "web", ""), vm("eeeeee", "node", "0b1c-uid")},
	}
}

// readSource asks a data source, whose configuration has one value.
func readSource(t *testing.T, source datasource.DataSource, attribute string, value tftypes.Value) datasource.ReadResponse {
	t.Helper()
	looks := newFleetLooks(func(context.Context) (engine.Fleet, error) { return anyFleet(), nil })
	var configured datasource.ConfigureResponse
	source.(datasource.DataSourceWithConfigure).Configure(t.Context(),
		datasource.ConfigureRequest{ProviderData: &client{backend: &backend{fleet: looks}}}, &configured)
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

// TestDataFindsOne looks for what names do not tell apart, or MAAS knows little
// of.
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
			reason: "Names of VM hosts need not be unique.", source: newVMHostSource(),
			attribute: "name", value: text("twin"), says: `2 VM hosts of MAAS have name "twin". Set vm_host_id instead: 2, 3.`,
		},
		"HostByMachine": {
			reason: "Their machines are.", source: newVMHostSource(), attribute: "system_id", value: text("bbbbbb"),
			told: map[string]string{"name": "twin", "lxd_version": "5.21.3"},
		},
		"HostNeverReached": {
			reason: "A VM host that MAAS never reached has no machine, and no version.", source: newVMHostSource(),
			attribute: "vm_host_id", value: tftypes.NewValue(tftypes.Number, 1),
			null: []string{"system_id", "lxd_version"}, told: map[string]string{"name": "dead"},
		},
		"VMTwins": {
			reason: "MAAS keeps hostnames unique, and says so nowhere.", source: newVMSource(),
			attribute: "name", value: text("web"), says: `2 VMs have name "web". Set id instead: cccccc, dddddd.`,
		},
		"VMOfAnOwner": {
			reason: "A key of ours has the owner in it.", source: newVMSource(), attribute: "id", value: text("cccccc"),
			told: map[string]string{"owner": "team"},
		},
		"VMOfNobody": {
			reason: "Without a mark there is no owner.", source: newVMSource(), attribute: "id", value: text("dddddd"),
			null: []string{"owner"},
		},
		"VMOfAnotherProgram": {
			reason: "A key that is not ours has no owner in it.", source: newVMSource(), attribute: "name", value: text("node"),
			null: []string{"owner", "image"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := readSource(t, tc.source, tc.attribute, tc.value)
			if tc.says != "" {
				if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Detail() != tc.says {
					t.Errorf("%s\ngot %v", tc.reason, describe(resp.Diagnostics))
				}
				return
			}
			if resp.Diagnostics.HasError() {
				t.Fatal(describe(resp.Diagnostics))
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

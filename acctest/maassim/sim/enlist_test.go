package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// enlist enlists an instance as a New machine.
func (c *maasClient) enlist(name string) string {
	c.t.Helper()
	var mac string
	for _, i := range c.sim.Instances() {
		if i.Name == name {
			mac = i.MACs[0]
		}
	}
	return c.mustCall("POST", "machines/", "hostname="+name, "architecture=amd64/generic", "mac_addresses="+mac, "power_type=lxd", "commission=false",
		"power_parameters_power_address=https://10.1.1.1:8443", "power_parameters_instance_name="+name,
		"power_parameters_certificate=CERT", "power_parameters_key=KEY")["system_id"].(string)
}

// TestEnlistedDelete: DELETE of an enlisted VM removes the instance, too, if MAAS has a VM
// host for it.
func TestEnlistedDelete(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*maasClient) // the enlistment
		after  func(*maasClient)
		left   []string
	}{
		"NoVMHost":     {"Nobody but the client knows the VM.", doNothing, doNothing, []string{"old"}},
		"VMHostBefore": {"Registering has adopted it: there is nothing to enlist.", register, nil, nil},
		"VMHostLater":  {"A refresh moves it under the VM host.", doNothing, register, []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := unregisteredHost()
			m.Hosts[0].TrustedCertificates = []string{"CERT"}
			c := newMAASClient(t, m)
			tc.before(c)
			if tc.after == nil {
				mac := c.sim.Instances()[0].MACs[0]
				wantStatus(t, c.call("POST", "machines/", "architecture=amd64", "power_type=lxd", "mac_addresses="+mac), 400, "already in use on old.")
				return
			}
			id := c.enlist("old")
			tc.after(c)
			wantStatus(t, c.call("GET", "machines/"+id+"/"), 200, `"status_name":"New"`)
			wantStatus(t, c.call("DELETE", "machines/"+id+"/"), 204, "")
			if diff := cmp.Diff(tc.left, instanceNames(c.sim)); diff != "" {
				t.Errorf("%s\ninstances (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func doNothing(*maasClient) {}

func register(c *maasClient) {
	c.mustCall("POST", "vm-hosts/", "type=lxd", "name=h1", "power_address=10.1.1.1", "password=secret")
}

// TestMACMismatch: the MAC of an instance differs from its record. A refresh removes the
// record and adopts the instance under a random name.
func TestMACMismatch(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.composeReady("x")
	if err := c.sim.RemoveInstance("h1", "", "x"); err != nil {
		t.Fatal(err)
	}
	if err := c.sim.AddInstance(sim.Instance{Host: "h1", Name: "x"}); err != nil {
		t.Fatal(err)
	}
	c.mustCall("POST", "vm-hosts/1/?op=refresh")
	wantStatus(t, c.call("GET", "machines/"+id+"/"), 404, "")
	machines := c.sim.Machines()
	adopted := machines[len(machines)-1]
	if adopted.Hostname == "x" || adopted.StatusName != "Commissioning" || len(c.sim.Instances()) != 1 {
		t.Errorf("adopted: %+v of %+v", adopted, c.sim.Instances())
	}
}

// TestEnlistedRekeyed changes the credentials of a machine. Other parameters stay, and
// machines with one address, project and certificate change together.
func TestEnlistedRekeyed(t *testing.T) {
	t.Parallel()
	m := unregisteredHost()
	m.Hosts[0].Instances = []string{"old", "new", "third"}
	c := newMAASClient(t, m)
	first, second := c.enlist("old"), c.enlist("new")
	seen := func(id string) []any {
		p := c.mustCall("GET", "machines/"+id+"/?op=power_parameters")
		return []any{p["certificate"], p["key"], p["power_address"], p["instance_name"]}
	}
	c.mustCall("PUT", "machines/"+first+"/", "power_parameters_certificate=NEXT", "power_parameters_key=SECRET")
	third := c.enlist("third")
	for id, want := range map[string][]any{
		first:  {"NEXT", "SECRET", "https://10.1.1.1:8443", "old"},
		second: {"NEXT", "SECRET", "https://10.1.1.1:8443", "new"},
		third:  {"CERT", "KEY", "https://10.1.1.1:8443", "third"},
	} {
		if diff := cmp.Diff(want, seen(id)); diff != "" {
			t.Errorf("power parameters (-want +got):\n%s", diff)
		}
	}
	c.mustCall("PUT", "machines/"+third+"/", "power_type=lxd", "power_parameters_certificate=NEXT", "power_parameters_key=SECRET")
	for id, name := range map[string]string{first: "old", third: "third"} {
		if diff := cmp.Diff([]any{"NEXT", "SECRET", "https://10.1.1.1:8443", name}, seen(id)); diff != "" {
			t.Errorf("one that joins the others (-want +got):\n%s", diff)
		}
	}
}

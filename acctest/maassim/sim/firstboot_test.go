package sim_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

func sortedTexts(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// idOf is the system id of a machine.
func (c *maasClient) idOf(hostname string) string {
	c.t.Helper()
	for _, m := range c.sim.Machines() {
		if m.Hostname == hostname {
			return m.SystemID
		}
	}
	c.t.Fatalf("no machine %s", hostname)
	return ""
}

// deployMetal deploys a machine and ends its first boot.
func (c *maasClient) deployMetal(hostname, userData string) string {
	c.t.Helper()
	id := c.idOf(hostname)
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "user_data="+base64.StdEncoding.EncodeToString([]byte(userData)))
	c.sim.Settle()
	return id
}

// fleetData is user-data that sets up an LXD for the fleet.
func fleetData() string {
	return multiPart("text/cloud-config\n"+preseedConfig(plainPreseed), "text/x-shellscript\n"+trustScript())
}

// registerVMHost makes a VM host with the fleet's key.
func (c *maasClient) registerVMHost(address, project string) map[string]any {
	c.t.Helper()
	certificate, key := keyPair()
	return c.mustCall("POST", "vm-hosts/", "type=lxd", "name=m1", "power_address="+address, "project="+project, "certificate="+certificate, "key="+key)
}

// makeBridge makes br0 on a machine's boot NIC, and links it.
func (c *maasClient) makeBridge(id string) {
	c.t.Helper()
	m := c.readMachine(id)
	nic := m["boot_interface"].(map[string]any)
	br := c.mustCall("POST", "nodes/"+id+"/interfaces/?op=create_bridge", "name=br0", "parent="+number(nic["id"]))
	c.mustCall("POST", "nodes/"+id+"/interfaces/"+number(br["id"])+"/?op=link_subnet", "mode=AUTO", "subnet=1")
}

// TestMetalBecomesHost runs the whole cycle twice: bridge, deploy, register, compose, and
// release to Ready.
func TestMetalBecomesHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1", Cores: 8, MemoryMiB: 16384}}, Latency: sim.Latency{Deploy: time.Minute, FirstBoot: time.Minute}})
		id := c.idOf("m1")
		c.makeBridge(id)
		for range 2 {
			c.mustCall("POST", "machines/?op=allocate", "system_id="+id, "agent_name=fleet/m1")
			c.mustCall("POST", "machines/"+id+"/?op=deploy", "user_data="+base64.StdEncoding.EncodeToString([]byte(fleetData())))
			time.Sleep(90 * time.Second)
			m := c.readMachine(id)
			if m["status_name"] != "Deployed" || len(c.sim.LXDs()) != 0 {
				t.Fatalf("want Deployed before its user-data has run, got %v and %+v", m["status_name"], c.sim.LXDs())
			}
			time.Sleep(time.Minute)
			c.useAsHost(id, m["ip_addresses"].([]any)[0].(string))
		}
	})
}

// useAsHost registers the LXD of a machine, composes on it, and removes everything again.
func (c *maasClient) useAsHost(id, address string) {
	t := c.t
	h := c.registerVMHost(address, "fleet")
	host := "vm-hosts/" + number(h["id"]) + "/"
	if h["host"].(map[string]any)["system_id"] != id || h["version"] != "5.0.4" {
		t.Errorf("registered %v on %v", h["version"], h["host"])
	}
	c.mustCall("GET", host) // the inventory ends after this read
	if h = c.mustCall("GET", host); h["total"].(map[string]any)["cores"] != 8.0 || h["total"].(map[string]any)["memory"] != 16384.0 {
		t.Errorf("total %v", h["total"])
	}
	var pools []string
	for _, p := range h["storage_pools"].([]any) {
		if p := p.(map[string]any); p["default"] == true {
			pools = append(pools, p["name"].(string))
		}
	}
	if diff := cmp.Diff([]string{"fast"}, pools); diff != "" {
		t.Errorf("default pool (-want +got):\n%s", diff)
	}
	c.mustCall("POST", "machines/"+id+"/?op=set_owner_data", "fleet=abc")
	vm := c.mustCall("POST", host+"?op=compose", "hostname=v1")["system_id"].(string)
	c.sim.Settle()
	if got := c.sim.Instances(); len(got) != 1 || got[0].Host != "m1" || got[0].Project != "fleet" {
		t.Errorf("instances %+v", got)
	}
	wantStatus(t, c.call("POST", "machines/"+id+"/?op=release"), 400, "must be removed first: m1")
	c.mustCall("DELETE", "machines/"+vm+"/")
	c.mustCall("DELETE", host)
	if m := c.readMachine(id); m["status_name"] != "Deployed" || m["owner"] != "admin" {
		t.Errorf("without its VM host the machine is %v of %v", m["status_name"], m["owner"])
	}
	if m := c.readMachine(id); m["owner_data"].(map[string]any)["fleet"] != "abc" {
		t.Errorf("owner data without the VM host: %v", m["owner_data"])
	}
	if list := c.call("GET", "machines/?agent_name=fleet%2Fm1"); !strings.Contains(list.text, id) {
		t.Errorf("agent_name finds %s", list.text)
	}
	c.mustCall("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	m := c.readMachine(id)
	if m["status_name"] != "Ready" || m["owner"] != nil || len(c.sim.LXDs()) != 0 {
		t.Errorf("released: %v, owner %v, LXDs %+v", m["status_name"], m["owner"], c.sim.LXDs())
	}
	if len(m["owner_data"].(map[string]any)) != 0 {
		t.Errorf("a release keeps owner data: %v", m["owner_data"])
	}
	if nics := interfaceNames(m); !slices.Contains(nics, "br0") {
		t.Errorf("the bridge is gone: %v", nics)
	}
	c.mustCall("GET", "machines/"+id+"/")
}

func interfaceNames(m map[string]any) (names []string) {
	for _, n := range m["interface_set"].([]any) {
		names = append(names, n.(map[string]any)["name"].(string))
	}
	return names
}

// TestBridgeViews checks MAAS's view of a bridge and of the NIC below it.
func TestBridgeViews(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1"}}})
	id := c.idOf("m1")
	c.makeBridge(id)
	c.deployMetal("m1", "")
	m := c.readMachine(id)
	nics := m["interface_set"].([]any)
	nic, br := nics[0].(map[string]any), nics[1].(map[string]any)
	link := br["links"].([]any)[0].(map[string]any)
	got := []any{nic["name"], len(nic["links"].([]any)), nic["children"], br["name"], br["type"], br["parents"], br["mac_address"] == nic["mac_address"],
		br["vlan"].(map[string]any)["dhcp_on"], link["mode"], link["ip_address"], m["boot_interface"].(map[string]any)["name"]}
	want := []any{"eth0", 0, []any{"br0"}, "br0", "bridge", []any{"eth0"}, true, true, "auto", "10.77.0.1", "eth0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMetalWithoutNetwork: a compose needs a bridge that MAAS knows, with DHCP.
func TestMetalWithoutNetwork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		dhcp    bool
		bridged bool
		status  int
		text    string
	}{
		"Both":     {"The plain case.", true, true, 200, "system_id"},
		"NoBridge": {"MAAS has nothing to attach a VM to.", true, false, 503, "No host network to attach VM interfaces to"},
		"NoDHCP":   {"Nothing could boot on that network.", false, true, 503, "No host network to attach VM interfaces to"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Subnets: []sim.SubnetModel{{CIDR: "10.77.0.0/24", DHCP: tc.dhcp}}, Machines: []sim.MachineModel{{Hostname: "m1"}}})
			id := c.idOf("m1")
			if tc.bridged {
				c.makeBridge(id)
			}
			c.deployMetal("m1", fleetData())
			h := c.registerVMHost("10.77.0.1", "fleet")
			c.sim.Settle()
			wantStatus(t, c.call("POST", "vm-hosts/"+number(h["id"])+"/?op=compose", "hostname=v1"), tc.status, tc.text)
			c.mustCall("POST", "machines/"+id+"/?op=release", "force=true")
			if left := c.sim.Instances(); len(left) != 0 || len(c.sim.LXDs()) != 0 {
				t.Errorf("%s a release leaves %+v", tc.reason, left)
			}
		})
	}
}

// TestReachMetal checks when the LXD of a machine answers MAAS.
func TestReachMetal(t *testing.T) {
	t.Parallel()
	steer := func(method, path, body string) func(*maasClient, string) {
		return func(c *maasClient, _ string) { wantStatus(c.t, c.postSteering(method, path, body), 204, "") }
	}
	call := func(op string) func(*maasClient, string) {
		return func(c *maasClient, id string) { c.mustCall("POST", "machines/"+id+"/?op="+op) }
	}
	cases := map[string]struct {
		reason  string
		first   func(*maasClient, string)
		address string // of the registration
		project string
		problem string // problem of a refresh; empty if it was registered
	}{
		"OK":       {"The plain case.", nil, "10.77.0.1", "fleet", ""},
		"URL":      {"The address may be a URL.", nil, "https://10.77.0.1:8443", "fleet", ""},
		"Name":     {"The address may be a name.", nil, "https://m1.maas:8443", "fleet", ""},
		"Port":     {"Nothing listens there.", nil, "10.77.0.1:8444", "fleet", "Connection refused"},
		"Project":  {"The certificate is restricted to another.", nil, "10.77.0.1", "other", "not authorized"},
		"Default":  {"The certificate is not for the default project, either.", nil, "10.77.0.1", "default", "not authorized"},
		"Off":      {"Its machine is off.", steer("PATCH", "machines/m1", `{"power_state": "off"}`), "10.77.0.1", "fleet", "Connection refused"},
		"Rescue":   {"Another system runs.", call("rescue_mode"), "10.77.0.1", "fleet", "Connection refused"},
		"Slow":     {"An LXD like others.", steer("PUT", "lxd/m1", `{"condition": "unreachable"}`), "10.77.0.1", "fleet", "Connection refused"},
		"Released": {"A release removes the LXD.", call("release"), "10.77.0.1", "fleet", "Connection refused"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1"}}})
			id := c.deployMetal("m1", fleetData())
			if tc.first != nil {
				tc.first(c, id)
			}
			h := c.registerVMHost(tc.address, tc.project)
			refresh := c.call("POST", "vm-hosts/"+number(h["id"])+"/?op=refresh")
			if tc.problem == "" {
				wantStatus(t, refresh, 200, `"version":"5.0.4"`)
				return
			}
			if wantStatus(t, refresh, 503, tc.problem); h["version"] != "" || len(h["storage_pools"].([]any)) != 0 {
				t.Errorf("%s the VM host is not empty: %v", tc.reason, h)
			}
		})
	}
}

// TestFirstBootOutcome sets how user-data ends.
func TestFirstBootOutcome(t *testing.T) {
	t.Parallel()
	put := func(body string) func(*maasClient) {
		return func(c *maasClient) { wantStatus(c.t, c.postSteering("PUT", "machines/m1/first-boot", body), 204, "") }
	}
	nothing := func(*maasClient) {}
	cases := map[string]struct {
		reason        string
		model         sim.FirstBoot
		before, after func(*maasClient) // the deployment
		lxds          int
		event         string
	}{
		"OK":       {"As it is.", "", nothing, nothing, 1, "SUCCESS"},
		"Model":    {"The model says so.", sim.BootFails, nothing, nothing, 0, "running modules for final failed"},
		"Fails":    {"The events have the reason.", "", put(`{"outcome": "fails", "message": "no snap store"}`), nothing, 0, "no snap store"},
		"Never":    {"The first boot hangs.", sim.BootNever, nothing, nothing, 0, "running modules for final"},
		"Recovers": {"A first boot that hung continues.", sim.BootNever, nothing, put(`{"outcome": "ok"}`), 1, "SUCCESS"},
		"TooLate":  {"The first boot has already ended.", "", nothing, put(`{"outcome": "fails"}`), 1, "SUCCESS"},
		"WrongWord": {"An unknown outcome is an error.", "", func(c *maasClient) {
			wantStatus(c.t, c.postSteering("PUT", "machines/m1/first-boot", `{"outcome": "maybe"}`), 400, "is not one of ok, fails, never")
		}, nothing, 1, "SUCCESS"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1", FirstBoot: tc.model}}})
			tc.before(c)
			id := c.deployMetal("m1", fleetData())
			tc.after(c)
			c.sim.Settle()
			if got := c.readMachine(id)["status_name"]; got != "Deployed" || len(c.sim.LXDs()) != tc.lxds {
				t.Errorf("%s %v with %d LXDs", tc.reason, got, len(c.sim.LXDs()))
			}
			if log := c.call("GET", "events/?op=query&level=DEBUG"); !strings.Contains(log.text, tc.event) {
				t.Errorf("%s no event with %q: %s", tc.reason, tc.event, log.text)
			}
		})
	}
}

// TestBridgeLives checks what a bridge survives.
func TestBridgeLives(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		op     string
		want   []string
	}{
		"Deploy":      {"MAAS configures it.", "deploy", []string{"br0", "eth0"}},
		"Commission":  {"Commissioning finds the interfaces again, without bridges.", "commission", []string{"eth0"}},
		"KeepNetwork": {"skip_networking keeps the bridges.", "commission&skip_networking=1", []string{"br0", "eth0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1"}}})
			id := c.idOf("m1")
			c.makeBridge(id)
			op, field, _ := strings.Cut(tc.op, "&")
			c.mustCall("POST", "machines/"+id+"/?op="+op, field)
			c.sim.Settle()
			m := c.readMachine(id)
			if diff := cmp.Diff(tc.want, sortedTexts(interfaceNames(m))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if boot := m["boot_interface"].(map[string]any); boot["name"] != "eth0" {
				t.Errorf("it boots from %v", boot["name"])
			}
		})
	}
}

// number is an id in the form of a path.
func number(id any) string { return fmt.Sprint(int(id.(float64))) }

// TestFirstBootsDiffer: first boots take random times, which a seed makes repeatable.
func TestFirstBootsDiffer(t *testing.T) {
	t.Parallel()
	const least, most = 2 * time.Second, 20 * time.Second
	drawn := func(t *testing.T) (boots []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m := sim.Model{Latency: sim.Latency{Deploy: time.Minute, FirstBoot: least, FirstBootMost: most}, Seed: 7}
			for _, name := range []string{"m1", "m2", "m3", "m4"} {
				m.Machines = append(m.Machines, sim.MachineModel{Hostname: name, Cores: 8, MemoryMiB: 16384})
			}
			c := newMAASClient(t, m)
			for _, name := range []string{"m1", "m2", "m3", "m4"} {
				id := c.idOf(name)
				c.makeBridge(id)
				c.mustCall("POST", "machines/?op=allocate", "system_id="+id, "agent_name=fleet/"+name)
				c.mustCall("POST", "machines/"+id+"/?op=deploy", "user_data="+base64.StdEncoding.EncodeToString([]byte(fleetData())))
			}
			began := time.Now()
			time.Sleep(time.Minute)
			synctest.Wait()
			for _, m := range c.sim.Machines() {
				boots = append(boots, time.Duration(m.FirstBoot*float64(time.Second)))
			}
			up := func() int { return len(c.sim.LXDs()) }
			if have := up(); have != 0 {
				t.Errorf("%d LXDs are up %v after the deployment began", have, time.Since(began))
			}
			time.Sleep(slices.Max(boots) - 100*time.Millisecond)
			synctest.Wait()
			if have := up(); have != 3 {
				t.Errorf("%d LXDs are up before the longest first boot ends, want 3", have)
			}
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if have := up(); have != 4 {
				t.Errorf("%d LXDs are up after the longest first boot, want 4", have)
			}
		})
		return boots
	}
	boots := drawn(t)
	if diff := cmp.Diff(boots, drawn(t)); diff != "" {
		t.Errorf("the same seed draws other times (-first +second):\n%s", diff)
	}
	sorted := slices.Sorted(slices.Values(boots))
	if len(slices.Compact(sorted)) != 4 || sorted[0] < least || sorted[3] > most {
		t.Errorf("first boots take %v, want four different times from %v to %v", boots, least, most)
	}
}

package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// unregisteredHost is an LXD with a trust password for which MAAS has no VM host.
func unregisteredHost() sim.Model {
	m := oneHost()
	m.Hosts[0].Unregistered, m.Hosts[0].TrustPassword, m.Hosts[0].Address = true, "secret", "https://10.1.1.1:8443"
	m.Hosts[0].Instances = []string{"old"}
	return m
}

// TestRegister: a create answers 200, even if MAAS cannot reach the LXD.
func TestRegister(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		before  func(*maasClient)
		fields  []string
		version string
		refresh string
	}{
		"Password":      {"The plain case.", func(*maasClient) {}, []string{"power_address=10.1.1.1", "password=secret"}, "5.21.3", ""},
		"WrongPassword": {"MAAS keeps a host that refused it.", func(*maasClient) {}, []string{"power_address=10.1.1.1", "password=wrong"}, "", "Password authentication failed: not authorized"},
		"NoCredentials": {"MAAS makes a certificate that nobody trusts.", func(*maasClient) {}, []string{"power_address=10.1.1.1"}, "", "Certificate is not trusted and no password was given"},
		"Nobody":        {"Nothing listens at the address.", func(*maasClient) {}, []string{"power_address=https://10.9.9.9:8443"}, "", "Max retries exceeded"},
		"RackDown":      {"No rack controller can reach the LXD.", rackCondition(sim.ConditionUnreachable), []string{"power_address=10.1.1.1", "password=secret"}, "", "No rack controllers connected."},
		"Hangs":         {"The region gives up after 120 s.", lxdCondition(sim.ConditionHanging), []string{"power_address=10.1.1.1", "password=secret"}, "", "Failed talking to pod"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newMAASClient(t, unregisteredHost())
				tc.before(c)
				h := c.mustCall("POST", "vm-hosts/", append(tc.fields, "type=lxd", "name=new")...)
				if h["version"] != tc.version || (len(h["capabilities"].([]any)) > 0) != (tc.version != "") {
					t.Errorf("%s version %q, capabilities %v", tc.reason, h["version"], h["capabilities"])
				}
				if tc.refresh != "" {
					wantStatus(t, c.call("POST", "vm-hosts/1/?op=refresh"), 503, tc.refresh)
					wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose"), 400, "VM host does not support composability.")
				}
			})
		})
	}
}

// TestAdoption: registering a host adopts its VMs as machines and power-cycles them.
func TestAdoption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := unregisteredHost()
		m.Latency.Inventory, m.Zones = time.Second, []string{"az1"}
		m.Machines = []sim.MachineModel{{Hostname: "taken"}}
		c := newMAASClient(t, m)
		if err := c.sim.AddInstance(sim.Instance{Host: "h1", Name: "taken", Running: true}); err != nil {
			t.Fatal(err)
		}
		c.mustCall("POST", "vm-hosts/", "type=lxd", "name=h1", "power_address=10.1.1.1", "password=secret", "zone=az1", "tags=a")
		wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose", "cores=1"), 400, "Ensure this value is less than or equal to 0.")
		var got []string
		for _, v := range c.sim.Machines() {
			if v.Host != "" {
				got = append(got, strings.Join([]string{v.StatusName, v.StatusMessage, v.Zone, strings.Join(v.Tags, "+")}, " "))
			}
			if v.Host != "" && v.Hostname == "taken" {
				t.Error("two machines of one name")
			}
		}
		want := []string{"Commissioning Powering on az1 a+pod-console-logging", "Commissioning Power cycling az1 a+pod-console-logging"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("adopted (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		if h := c.mustCall("GET", "vm-hosts/1/"); h["total"].(map[string]any)["cores"] != 8.0 {
			t.Errorf("no inventory after a second: %v", h["total"])
		}
	})
}

// TestProjectDestroys tests the most dangerous field of a VM host.
func TestProjectDestroys(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		field  string
		left   []string
	}{
		"Unchanged": {"The recorded project is harmless.", "project=p1", []string{"x"}},
		"Absent":    {"Without a project nothing changes.", "name=h1", []string{"x"}},
		"Other":     {"Another project deletes the VMs of the old one.", "project=p2", []string{}},
		"Empty":     {"An empty one means default.", "project=", []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := oneHost()
			m.Hosts[0].Project = "p1"
			c := newMAASClient(t, m)
			c.composeReady("x")
			c.mustCall("PUT", "vm-hosts/1/", tc.field)
			if diff := cmp.Diff(tc.left, instanceNames(c.sim)); diff != "" {
				t.Errorf("%s\ninstances (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDeleteVMHost: only the query string decides about the VMs.
func TestDeleteVMHost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		path   string
		fields []string
		left   []string
	}{
		"Plain":   {"The records go, the VMs stay.", "vm-hosts/1/", nil, []string{"x"}},
		"InBody":  {"A body of a DELETE is not read.", "vm-hosts/1/", []string{"decompose=true"}, []string{"x"}},
		"InQuery": {"The VMs go.", "vm-hosts/1/?decompose=true", nil, []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, oneHost())
			c.composeReady("x")
			wantStatus(t, c.call("DELETE", tc.path, tc.fields...), 204, "")
			if diff := cmp.Diff(tc.left, instanceNames(c.sim)); diff != "" {
				t.Errorf("%s\ninstances (-want +got):\n%s", tc.reason, diff)
			}
			if left := c.sim.Machines(); len(left) != 0 {
				t.Errorf("machines left: %+v", left)
			}
		})
	}
}

// TestSharedServer has two VM hosts on one LXD. Deleting one takes the host's machine from
// the other, which then cannot compose until it is refreshed.
func TestSharedServer(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Hosts[0].Address, m.Hosts[0].Project = "10.1.1.1", "p1"
	second := m.Hosts[0]
	second.Name, second.Project = "h2", "p2"
	m.Hosts = append(m.Hosts, second)
	c := newMAASClient(t, m)
	wantStatus(t, c.call("DELETE", "vm-hosts/2/"), 204, "")
	wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose"), 503, "No host network to attach VM interfaces to")
	c.mustCall("POST", "vm-hosts/1/?op=refresh")
	c.mustCall("GET", "vm-hosts/1/")
	c.compose("hostname=x")
}

// TestAllocateComposes tests the trap in allocate: without a matching machine it composes
// one, even in a dry run.
func TestAllocateComposes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fields []string
		status int
		vms    int
	}{
		"NoConstraint": {"Any host with room is possible.", nil, 200, 1},
		"DryRun":       {"Even a dry run composes.", []string{"dry_run=true"}, 200, 1},
		"NoSuchName":   {"The name is no constraint on hosts.", []string{"name=nosuch"}, 200, 1},
		"SystemID":     {"The one safe way.", []string{"system_id=xxxxxx"}, 409, 0},
		"Tags":         {"A new VM has no tags.", []string{"tags=virtual"}, 409, 0},
		"TooBig":       {"No host has room.", []string{"cpu_count=99"}, 409, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := oneHost()
			m.Tags = []string{"virtual"}
			m.Machines = []sim.MachineModel{{Hostname: "used", Status: "Deployed"}}
			c := newMAASClient(t, m)
			wantStatus(t, c.call("POST", "machines/?op=allocate", tc.fields...), tc.status, "")
			if got := len(c.sim.Instances()); got != tc.vms {
				t.Errorf("%s %d instances", tc.reason, got)
			}
		})
	}
}

// TestWithoutVMHosts tests a MAAS without VM hosts: machines stay, and an LXD VM can be enlisted.
func TestWithoutVMHosts(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.MAASVersion = sim.VersionGone
	m.Hosts[0].Address, m.Hosts[0].TrustPassword = "https://10.1.1.1:8443", "secret"
	m.Hosts[0].Instances = []string{"x"}
	c := newMAASClient(t, m)
	for _, path := range []string{"vm-hosts/", "pods/", "vm-hosts/1/"} {
		wantStatus(t, c.call("GET", path), 410, "VM host (KVM) support has been removed from MAAS.")
	}
	wantStatus(t, c.call("POST", "vm-hosts/1/?op=compose"), 410, "removed")
	mac := c.sim.Instances()[0].MACs[0]
	made := c.mustCall("POST", "machines/", "hostname=x", "architecture=amd64", "mac_addresses="+mac, "power_type=lxd",
		`power_parameters={"power_address":"https://10.1.1.1:8443","instance_name":"x","password":"secret"}`)
	if made["status_name"] != "Commissioning" || made["pod"] != nil {
		t.Errorf("enlisted: %v, pod %v", made["status_name"], made["pod"])
	}
	id := made["system_id"].(string)
	c.sim.Settle()
	if v := c.readMachine(id); v["status_name"] != "Ready" || v["cpu_count"] != 1.0 {
		t.Errorf("commissioned: %v with %v cores", v["status_name"], v["cpu_count"])
	}
	wantStatus(t, c.call("POST", "machines/"+id+"/?op=deploy", "register_vmhost=true"), 400, "removed")
	wantStatus(t, c.call("DELETE", "machines/"+id+"/"), 204, "")
	if diff := cmp.Diff([]string{"x"}, instanceNames(c.sim)); diff != "" {
		t.Errorf("an enlisted VM's DELETE keeps the instance (-want +got):\n%s", diff)
	}
}

// TestEnlistAbsent enlists an instance that does not exist. MAAS asks LXD only when it
// needs the power.
func TestEnlistAbsent(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, unregisteredHost())
	made := c.mustCall("POST", "machines/", "hostname=o9", "architecture=amd64/generic", "mac_addresses=00:16:3E:00:00:01", "power_type=lxd",
		"power_parameters_power_address=10.1.1.1", "power_parameters_instance_name=o9", "power_parameters_password=secret")
	v := c.readMachine(made["system_id"].(string))
	if v["status_name"] != "Failed commissioning" || !strings.Contains(v["status_message"].(string), "LXD VM o9 not found.") {
		t.Errorf("got %v, %v", v["status_name"], v["status_message"])
	}
	again := c.call("POST", "machines/", "hostname=o9", "architecture=amd64/generic", "mac_addresses=00:16:3E:00:00:01", "power_type=lxd",
		"power_parameters_power_address=10.1.1.1", "power_parameters_instance_name=o9")
	wantStatus(t, again, 400, "already in use on o9.")
}

// TestHostMachineDeleted registers an LXD on a known machine, deletes the VM host and then
// the machine, and registers it again.
func TestHostMachineDeleted(t *testing.T) {
	t.Parallel()
	const mac = "00:16:3e:aa:00:01"
	m := oneHost()
	m.Hosts[0].Unregistered, m.Hosts[0].MAC, m.Hosts[0].TrustPassword, m.Hosts[0].Address = true, mac, "pw", "https://10.9.0.1:8443"
	m.Machines = []sim.MachineModel{{Hostname: "metal1", MAC: mac}}
	c := newMAASClient(t, m)
	register := func() (host, machine string) {
		v := c.mustCall("POST", "vm-hosts/", "type=lxd", "power_address=https://10.9.0.1:8443", "password=pw", "name=h1")
		machine, _ = v["host"].(map[string]any)["system_id"].(string)
		return fmt.Sprint(v["id"]), machine
	}
	host, known := register()
	if got := c.readMachine(known)["hostname"]; got != "metal1" {
		t.Fatalf("the host runs on %v", got)
	}
	if err := c.sim.DeleteMachine("metal1"); err == nil || !strings.Contains(err.Error(), "h1") {
		t.Errorf("the UI deletes the machine of a VM host: %v", err)
	}
	wantStatus(t, c.call("DELETE", "vm-hosts/"+host+"/"), 204, "")
	wantStatus(t, c.call("DELETE", "machines/"+known+"/"), 204, "")
	_, fresh := register()
	if fresh == known {
		t.Error("the VM host names the machine that was deleted")
	}
	if got := c.readMachine(fresh)["hostname"]; got != "h1" {
		t.Errorf("MAAS made %v for the LXD", got)
	}
}

package sim_test

import (
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// bareMetalModel is a MAAS with two bare-metal machines.
func bareMetalModel() sim.Model {
	machine := sim.MachineModel{Cores: 8, MemoryMiB: 32768, DiskGB: 480}
	one, two := machine, machine
	one.Hostname, two.Hostname = "metal1", "metal2"
	return sim.Model{Machines: []sim.MachineModel{one, two}, Zones: []string{"az1"}, Pools: []string{"blue"}}
}

// readSettledStatus ends all transitions and reads the status.
func (c *maasClient) readSettledStatus(id string) string {
	for range 10 {
		c.readMachine(id)
	}
	return fmt.Sprint(c.readMachine(id)["status_name"])
}

// TestRegisterVMHost: MAAS deploys a machine, sets LXD up on it, and registers it before
// the machine is Deployed.
func TestRegisterVMHost(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, bareMetalModel())
	id := c.idOf("metal1")
	c.mustCall("PUT", "machines/"+id+"/", "zone=az1", "pool=blue")
	c.mustCall("POST", "machines/?op=allocate", "system_id="+id)
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "register_vmhost=true")
	if got := c.readSettledStatus(id); got != "Deployed" {
		t.Fatalf("the machine is %s, want Deployed", got)
	}
	hosts := c.call("GET", "vm-hosts/")
	wantStatus(t, hosts, 200, `"name":"metal1"`)
	wantStatus(t, hosts, 200, id)
	host := c.mustCall("GET", "vm-hosts/1/")
	for what, want := range map[string]string{"zone": "az1", "pool": "blue"} {
		if got := fmt.Sprint(host[what].(map[string]any)["name"]); got != want {
			t.Errorf("the VM host's %s is %s, want that of the machine: %s", what, got, want)
		}
	}
	if got := fmt.Sprint(c.mustCall("GET", "vm-hosts/1/?op=parameters")["project"]); got != "maas" {
		t.Errorf("the project is %s, want maas", got)
	}
	vm := c.mustCall("POST", "vm-hosts/1/?op=compose", "hostname=vm1")
	wantStatus(t, c.call("POST", "machines/?op=release", "machines="+id), 400, "The following VM hosts must be removed first: metal1")
	wantStatus(t, c.call("DELETE", "machines/"+fmt.Sprint(vm["system_id"])+"/"), 204, "")
	wantStatus(t, c.call("DELETE", "vm-hosts/1/"), 204, "")
	wantStatus(t, c.call("POST", "machines/?op=release", "machines="+id), 200, id)
	if got := c.readSettledStatus(id); got != "Ready" {
		t.Errorf("the machine is %s, want Ready", got)
	}
	if left := len(c.sim.LXDs()); left != 0 {
		t.Errorf("%d LXDs are left after the release, want none", left)
	}
}

// TestRegisterVMHostFails: after a failed first boot the machine stays Deploying, because
// MAAS waits for the LXD.
func TestRegisterVMHostFails(t *testing.T) {
	t.Parallel()
	m := bareMetalModel()
	m.Machines[0].FirstBoot = sim.BootFails
	c := newMAASClient(t, m)
	id := c.idOf("metal1")
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "register_vmhost=true")
	if got := c.readSettledStatus(id); got != "Deploying" {
		t.Errorf("the machine is %s, want Deploying", got)
	}
	wantStatus(t, c.call("GET", "vm-hosts/"), 200, "[]")
}

// TestReleaseMachines: one call releases several machines, or none.
func TestReleaseMachines(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, bareMetalModel())
	one, two := c.idOf("metal1"), c.idOf("metal2")
	wantStatus(t, c.call("POST", "machines/?op=release"), 200, "[]")
	wantStatus(t, c.call("POST", "machines/?op=release", "machines="+one), 200, "[]") // Ready already
	c.mustCall("POST", "machines/?op=allocate", "system_id="+one)
	c.mustCall("POST", "machines/"+two+"/?op=commission")
	wantStatus(t, c.call("POST", "machines/?op=release", "machines="+one, "machines=nobody"), 400, "Unknown machine(s): nobody.")
	wantStatus(t, c.call("POST", "machines/?op=release", "machines="+one, "machines="+two), 409, "Machine(s) cannot be released in their current state: "+two+" ('Commissioning').")
	if got := fmt.Sprint(c.readMachine(one)["status_name"]); got != "Allocated" {
		t.Errorf("a machine of a call that was refused is %s, want Allocated", got)
	}
	wantStatus(t, c.call("POST", "machines/?op=release", "machines="+one, "comment=done"), 200, one)
	if got := c.readSettledStatus(one); got != "Ready" {
		t.Errorf("the machine is %s, want Ready", got)
	}
}

package gomaas

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"

	"github.com/maaslxd/maaslxd/acctest/maassim/clients/target"
)

func hostname(m entity.Machine) string { return m.Hostname }

// machine is the machine of a name, as the list has it.
func machine(c *client.Client, name string) entity.Machine {
	for _, m := range must(c.Machines.Get(&entity.MachinesParams{Hostname: []string{name}})) {
		if m.Hostname == name {
			return m
		}
	}
	panic(failure{"there is no machine " + name})
}

// settle lets everything end that is under way.
func settle(t *testing.T) { target.Steer(t, http.MethodPost, "settle", nil) }

// status wants a machine to be in a state.
func status(t *testing.T, c *client.Client, id, want string) {
	t.Helper()
	same(t, "the status", must(c.Machine.Get(id)).StatusName, want)
}

func TestMachineDeployed(t *testing.T) {
	start(t, func(c *client.Client) {
		m := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1", AgentName: "agent", Comment: "mine"}))
		status(t, c, m.SystemID, "Allocated")
		has(t, "the allocated machines", names(must(c.Machines.ListAllocated()), hostname), "metal1", true)
		data := base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))
		must(c.Machine.Deploy(m.SystemID, &entity.MachineDeployParams{DistroSeries: "noble", UserData: data}))
		status(t, c, m.SystemID, "Deploying")
		settle(t)
		m = must(c.Machine.Get(m.SystemID))
		same(t, "the status", m.StatusName, "Deployed")
		same(t, "the series", m.DistroSeries, "noble")
		same(t, "that it has a token", must(c.Machine.GetToken(m.SystemID)).TokenKey != "", true)
		must(c.Machine.Lock(m.SystemID, "hands off"))
		same(t, "that it is locked", must(c.Machine.Get(m.SystemID)).Locked, true)
		must(c.Machine.Unlock(m.SystemID, "again"))
		same(t, "that it is locked", must(c.Machine.Get(m.SystemID)).Locked, false)
		must(c.Machine.Release(m.SystemID, &entity.MachineReleaseParams{Comment: "done"}))
		settle(t)
		status(t, c, m.SystemID, "Ready")
		has(t, "the allocated machines", names(must(c.Machines.ListAllocated()), hostname), "metal1", false)
	})
}

func TestMachineEnlisted(t *testing.T) {
	start(t, func(c *client.Client) {
		no := false
		made := must(c.Machines.Create(&entity.MachineCreateParams{
			Hostname: "new1", Architecture: "amd64/generic", MACAddresses: []string{"52:54:00:00:00:01"},
			PowerType: "manual", Commission: &no, Description: "by hand",
		}, nil))
		m := must(c.Machine.Get(made.SystemID))
		same(t, "the hostname", m.Hostname, "new1")
		same(t, "the description", m.Description, "by hand")
		must(c.Machine.Update(m.SystemID, &entity.MachineUpdateParams{Hostname: "new2", Pool: "blue", Zone: "az2"}, nil))
		m = must(c.Machine.Get(m.SystemID))
		same(t, "the hostname", m.Hostname, "new2")
		same(t, "the pool", m.Pool.Name, "blue")
		same(t, "the zone", m.Zone.Name, "az2")
		try(c.Machine.Delete(m.SystemID))
		_, err := c.Machine.Get(m.SystemID)
		gone(t, "machine", err)
	})
}

func TestWorkloadAnnotations(t *testing.T) {
	start(t, func(c *client.Client) {
		m := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1"}))
		must(c.Machine.SetWorkloadAnnotations(m.SystemID, map[string]string{"team": "red"}))
		same(t, "the annotation", must(c.Machine.Get(m.SystemID)).WorkloadAnnotations["team"], "red")
	})
}

func TestMachineCommissioned(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal3").SystemID
		must(c.Machine.Commission(id, &entity.MachineCommissionParams{TestingScripts: "none"}))
		status(t, c, id, "Commissioning")
		settle(t)
		status(t, c, id, "Ready")
		must(c.Machine.Commission(id, &entity.MachineCommissionParams{}))
		must(c.Machine.Abort(id, "enough"))
		settle(t)
		status(t, c, id, "New")
		same(t, "the machines that are New", names(must(c.Machines.Get(&entity.MachinesParams{Status: []string{"new"}})), hostname)[0], "metal3")
	})
}

func TestMachineBroken(t *testing.T) {
	start(t, func(c *client.Client) {
		id := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1"})).SystemID
		must(c.Machine.MarkBroken(id, "smoke"))
		status(t, c, id, "Broken")
		must(c.Machine.MarkFixed(id, "no smoke"))
		status(t, c, id, "Ready")
	})
}

// vm is a VM on h1 that is Ready.
func vm(t *testing.T, c *client.Client, name string) entity.Machine {
	t.Helper()
	made := must(c.VMHost.Compose(vmHost(c, "h1").ID, &entity.VMHostMachineParams{Hostname: name, Cores: 2, Memory: 2048, Storage: "8,8"}))
	settle(t)
	m := must(c.Machine.Get(made.SystemID))
	same(t, "the status", m.StatusName, "Ready")
	return *m
}

func TestMachinePower(t *testing.T) {
	start(t, func(c *client.Client) {
		id := vm(t, c, "vm1").SystemID
		same(t, "the name that the power driver has", must(c.Machine.GetPowerParameters(id))["instance_name"], any("vm1"))
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{}))
		settle(t)
		same(t, "the power", must(c.Machine.GetPowerState(id)).State, "on")
		must(c.Machine.PowerOff(id, &entity.MachinePowerOffParams{Comment: "sleep", StopMode: "hard"}))
		settle(t)
		same(t, "the power", must(c.Machine.GetPowerState(id)).State, "off")
		must(c.Machine.PowerOn(id, &entity.MachinePowerOnParams{Comment: "wake"}))
		settle(t)
		same(t, "the power", must(c.Machine.GetPowerState(id)).State, "on")
	})
}

func TestMachineDetails(t *testing.T) {
	start(t, func(c *client.Client) {
		must(c.Machine.Details(machine(c, "metal1").SystemID))
	})
}

func TestMachineRescued(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal1").SystemID
		must(c.Machine.RescueMode(id))
		settle(t)
		status(t, c, id, "Rescue mode")
		must(c.Machine.ExitRescueMode(id))
		settle(t)
		status(t, c, id, "Ready")
	})
}

func TestMachinesReleased(t *testing.T) {
	start(t, func(c *client.Client) {
		one := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1"}))
		two := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal2"}))
		try(c.Machines.Release([]string{one.SystemID, two.SystemID}, "both"))
		settle(t)
		status(t, c, one.SystemID, "Ready")
		status(t, c, two.SystemID, "Ready")
	})
}

func TestMachinesAccepted(t *testing.T) {
	start(t, func(c *client.Client) {
		id := machine(c, "metal3").SystemID
		status(t, c, id, "New")
		try(c.Machines.AcceptAll())
		settle(t)
		status(t, c, id, "Ready")
	})
}

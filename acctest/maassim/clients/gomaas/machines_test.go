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

// machineNamed is the machine with a name, from the list.
func machineNamed(c *client.Client, name string) entity.Machine {
	for _, m := range must(c.Machines.Get(&entity.MachinesParams{Hostname: []string{name}})) {
		if m.Hostname == name {
			return m
		}
	}
	panic(testFailure{"there is no machine " + name})
}

// settleSimulator ends everything that is under way.
func settleSimulator(t *testing.T) { target.CallSteering(t, http.MethodPost, "settle", nil) }

// wantStatus checks a machine's status.
func wantStatus(t *testing.T, c *client.Client, id, want string) {
	t.Helper()
	wantSame(t, "the status", must(c.Machine.Get(id)).StatusName, want)
}

func TestMachineDeployed(t *testing.T) {
	startClient(t, func(c *client.Client) {
		m := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1", AgentName: "agent", Comment: "mine"}))
		wantStatus(t, c, m.SystemID, "Allocated")
		wantContains(t, "the allocated machines", names(must(c.Machines.ListAllocated()), hostname), "metal1", true)
		data := base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))
		must(c.Machine.Deploy(m.SystemID, &entity.MachineDeployParams{DistroSeries: "noble", UserData: data}))
		wantStatus(t, c, m.SystemID, "Deploying")
		settleSimulator(t)
		m = must(c.Machine.Get(m.SystemID))
		wantSame(t, "the status", m.StatusName, "Deployed")
		wantSame(t, "the series", m.DistroSeries, "noble")
		wantSame(t, "that it has a token", must(c.Machine.GetToken(m.SystemID)).TokenKey != "", true)
		must(c.Machine.Lock(m.SystemID, "hands off"))
		wantSame(t, "that it is locked", must(c.Machine.Get(m.SystemID)).Locked, true)
		must(c.Machine.Unlock(m.SystemID, "again"))
		wantSame(t, "that it is locked", must(c.Machine.Get(m.SystemID)).Locked, false)
		must(c.Machine.Release(m.SystemID, &entity.MachineReleaseParams{Comment: "done"}))
		settleSimulator(t)
		wantStatus(t, c, m.SystemID, "Ready")
		wantContains(t, "the allocated machines", names(must(c.Machines.ListAllocated()), hostname), "metal1", false)
	})
}

func TestMachineEnlisted(t *testing.T) {
	startClient(t, func(c *client.Client) {
		no := false
		made := must(c.Machines.Create(&entity.MachineCreateParams{
			Hostname: "new1", Architecture: "amd64/generic", MACAddresses: []string{"52:54:00:00:00:01"},
			PowerType: "manual", Commission: &no, Description: "by hand",
		}, nil))
		m := must(c.Machine.Get(made.SystemID))
		wantSame(t, "the hostname", m.Hostname, "new1")
		wantSame(t, "the description", m.Description, "by hand")
		must(c.Machine.Update(m.SystemID, &entity.MachineUpdateParams{Hostname: "new2", Pool: "blue", Zone: "az2"}, nil))
		m = must(c.Machine.Get(m.SystemID))
		wantSame(t, "the hostname", m.Hostname, "new2")
		wantSame(t, "the pool", m.Pool.Name, "blue")
		wantSame(t, "the zone", m.Zone.Name, "az2")
		mustSucceed(c.Machine.Delete(m.SystemID))
		_, err := c.Machine.Get(m.SystemID)
		wantNotFound(t, "machine", err)
	})
}

func TestWorkloadAnnotations(t *testing.T) {
	startClient(t, func(c *client.Client) {
		m := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1"}))
		must(c.Machine.SetWorkloadAnnotations(m.SystemID, map[string]string{"team": "red"}))
		wantSame(t, "the annotation", must(c.Machine.Get(m.SystemID)).WorkloadAnnotations["team"], "red")
	})
}

func TestMachineCommissioned(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal3").SystemID
		must(c.Machine.Commission(id, &entity.MachineCommissionParams{TestingScripts: "none"}))
		wantStatus(t, c, id, "Commissioning")
		settleSimulator(t)
		wantStatus(t, c, id, "Ready")
		must(c.Machine.Commission(id, &entity.MachineCommissionParams{}))
		must(c.Machine.Abort(id, "enough"))
		settleSimulator(t)
		wantStatus(t, c, id, "New")
		wantSame(t, "the machines that are New", names(must(c.Machines.Get(&entity.MachinesParams{Status: []string{"new"}})), hostname)[0], "metal3")
	})
}

func TestMachineBroken(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1"})).SystemID
		must(c.Machine.MarkBroken(id, "smoke"))
		wantStatus(t, c, id, "Broken")
		must(c.Machine.MarkFixed(id, "no smoke"))
		wantStatus(t, c, id, "Ready")
	})
}

// composeReady composes a VM on h1 and returns it when it is Ready.
func composeReady(t *testing.T, c *client.Client, name string) entity.Machine {
	t.Helper()
	made := must(c.VMHost.Compose(vmHostNamed(c, "h1").ID, &entity.VMHostMachineParams{Hostname: name, Cores: 2, Memory: 2048, Storage: "8,8"}))
	settleSimulator(t)
	m := must(c.Machine.Get(made.SystemID))
	wantSame(t, "the status", m.StatusName, "Ready")
	return *m
}

func TestMachinePower(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := composeReady(t, c, "vm1").SystemID
		wantSame(t, "the name that the power driver has", must(c.Machine.GetPowerParameters(id))["instance_name"], any("vm1"))
		must(c.Machine.Deploy(id, &entity.MachineDeployParams{}))
		settleSimulator(t)
		wantSame(t, "the power", must(c.Machine.GetPowerState(id)).State, "on")
		must(c.Machine.PowerOff(id, &entity.MachinePowerOffParams{Comment: "sleep", StopMode: "hard"}))
		settleSimulator(t)
		wantSame(t, "the power", must(c.Machine.GetPowerState(id)).State, "off")
		must(c.Machine.PowerOn(id, &entity.MachinePowerOnParams{Comment: "wake"}))
		settleSimulator(t)
		wantSame(t, "the power", must(c.Machine.GetPowerState(id)).State, "on")
	})
}

func TestMachineDetails(t *testing.T) {
	startClient(t, func(c *client.Client) {
		must(c.Machine.Details(machineNamed(c, "metal1").SystemID))
	})
}

func TestMachineRescued(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal1").SystemID
		must(c.Machine.RescueMode(id))
		settleSimulator(t)
		wantStatus(t, c, id, "Rescue mode")
		must(c.Machine.ExitRescueMode(id))
		settleSimulator(t)
		wantStatus(t, c, id, "Ready")
	})
}

func TestMachinesReleased(t *testing.T) {
	startClient(t, func(c *client.Client) {
		one := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal1"}))
		two := must(c.Machines.Allocate(&entity.MachineAllocateParams{Name: "metal2"}))
		mustSucceed(c.Machines.Release([]string{one.SystemID, two.SystemID}, "both"))
		settleSimulator(t)
		wantStatus(t, c, one.SystemID, "Ready")
		wantStatus(t, c, two.SystemID, "Ready")
	})
}

func TestMachinesAccepted(t *testing.T) {
	startClient(t, func(c *client.Client) {
		id := machineNamed(c, "metal3").SystemID
		wantStatus(t, c, id, "New")
		mustSucceed(c.Machines.AcceptAll())
		settleSimulator(t)
		wantStatus(t, c, id, "Ready")
	})
}

package spectro

import (
	"encoding/base64"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// machineNamed is the current state of the machine with a name.
func machineNamed(t *testing.T, name string) maas.Machine {
	t.Helper()
	c := newClient()
	for _, m := range must(c.Machines().List(t.Context(), maas.ParamsBuilder())) {
		if m.Hostname() == name {
			return must(c.Machines().Machine(m.SystemID()).Get(t.Context()))
		}
	}
	panic(testFailure{"there is no machine " + name})
}

func TestMachineRead(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := machineNamed(t, "metal2")
		wantSame(t, "the name", m.FQDN(), "metal2.maas")
		wantSame(t, "the zone", m.Zone().Name(), "default")
		wantSame(t, "the zone's name", m.ZoneName(), "default")
		wantSame(t, "the pool's name", m.ResourcePoolName(), "default")
		wantSame(t, "the power's type", m.PowerType(), "manual")
		wantSame(t, "the power", m.PowerState(), "unknown")
		wantSame(t, "the state", m.State(), "Ready")
		wantSame(t, "the size of the disks", m.TotalStorageGB(), 240)
		wantSame(t, "the type of the boot interface", m.GetBootInterfaceType(), "physical")
		wantSame(t, "the parent", m.Parent(), "")
		wantSame(t, "the swap", m.SwapSize(), 0)
		wantContains(t, "the tags", m.Tags(), "fast", true)
	})
}

func TestMachineDeployed(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := must(newClient().Machines().Allocator().WithName("metal1").WithZone("default").WithResourcePool("default").
			WithCPUCount(2).WithMemory(1024).WithNotPod(false).WithNotPodType("lxd").Allocate(t.Context()))
		wantSame(t, "the state", machineNamed(t, "metal1").State(), "Allocated")
		must(m.Modifier().SetSwapSize(0).SetHostname("metal9").Update(t.Context()))
		m = machineNamed(t, "metal9")
		data := base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))
		m = must(m.Deployer().SetOSSystem("ubuntu").SetDistroSeries("noble").SetUserData(data).SetAgentName("agent").SetRegisterVMHost(false).Deploy(t.Context()))
		wantSame(t, "the state", m.State(), "Deploying")
		settleSimulator(t)
		m = machineNamed(t, "metal9")
		wantSame(t, "the state", m.State(), "Deployed")
		wantSame(t, "the system", m.OSSystem(), "ubuntu")
		wantSame(t, "the series", m.DistroSeries(), "noble")
		wantSame(t, "the number of addresses", len(m.IPAddresses()), 1)
		must(m.Releaser().WithComment("done").WithErase().WithQuickErase().WithSecureErase().Release(t.Context()))
		settleSimulator(t)
		wantSame(t, "the state", machineNamed(t, "metal9").State(), "Ready")
	})
}

func TestMachineForced(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := must(newClient().Machines().Allocator().WithTags([]string{"fast"}).Allocate(t.Context()))
		wantSame(t, "the machine with the tag", m.Hostname(), "metal2")
		must(m.Releaser().WithForce().Release(t.Context()))
		settleSimulator(t)
		wantSame(t, "the state", machineNamed(t, "metal2").State(), "Ready")
		must(newClient().Machines().Allocator().WithSystemID(m.SystemID()).Allocate(t.Context()))
		wantSame(t, "the state", machineNamed(t, "metal2").State(), "Allocated")
	})
}

func TestPowerOn(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		h := vmHostNamed(t, "h1")
		made := must(h.Composer().Compose(t.Context(), maas.ParamsBuilder().Set("hostname", "vm1")))
		settleSimulator(t)
		m := must(made.Get(t.Context()))
		must(newClient().Machines().Allocator().WithSystemID(m.SystemID()).Allocate(t.Context()))
		must(m.PowerManagerOn().WithPowerOnComment("wake").PowerOn(t.Context()))
		settleSimulator(t)
		wantSame(t, "the power", machineNamed(t, "vm1").PowerState(), "on")
	})
}

func TestMachineDeleted(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		m := machineNamed(t, "metal3")
		mustSucceed(m.Delete(t.Context()))
		_, err := c.Machines().Machine(m.SystemID()).Get(t.Context())
		wantRefused(t, err, 404, "No Machine")
	})
}

package spectro

import (
	"encoding/base64"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// machine is the machine of a name, as it is now.
func machine(t *testing.T, name string) maas.Machine {
	t.Helper()
	c := another()
	for _, m := range must(c.Machines().List(t.Context(), maas.ParamsBuilder())) {
		if m.Hostname() == name {
			return must(c.Machines().Machine(m.SystemID()).Get(t.Context()))
		}
	}
	panic(failure{"there is no machine " + name})
}

func TestMachineRead(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := machine(t, "metal2")
		same(t, "the name", m.FQDN(), "metal2.maas")
		same(t, "the zone", m.Zone().Name(), "default")
		same(t, "the zone's name", m.ZoneName(), "default")
		same(t, "the pool's name", m.ResourcePoolName(), "default")
		same(t, "the power's type", m.PowerType(), "manual")
		same(t, "the power", m.PowerState(), "unknown")
		same(t, "the state", m.State(), "Ready")
		same(t, "the size of the disks", m.TotalStorageGB(), 240)
		same(t, "the type of the boot interface", m.GetBootInterfaceType(), "physical")
		same(t, "the parent", m.Parent(), "")
		same(t, "the swap", m.SwapSize(), 0)
		has(t, "the tags", m.Tags(), "fast", true)
	})
}

func TestMachineDeployed(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := must(another().Machines().Allocator().WithName("metal1").WithZone("default").WithResourcePool("default").
			WithCPUCount(2).WithMemory(1024).WithNotPod(false).WithNotPodType("lxd").Allocate(t.Context()))
		same(t, "the state", machine(t, "metal1").State(), "Allocated")
		must(m.Modifier().SetSwapSize(0).SetHostname("metal9").Update(t.Context()))
		m = machine(t, "metal9")
		data := base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))
		m = must(m.Deployer().SetOSSystem("ubuntu").SetDistroSeries("noble").SetUserData(data).SetAgentName("agent").SetRegisterVMHost(false).Deploy(t.Context()))
		same(t, "the state", m.State(), "Deploying")
		settle(t)
		m = machine(t, "metal9")
		same(t, "the state", m.State(), "Deployed")
		same(t, "the system", m.OSSystem(), "ubuntu")
		same(t, "the series", m.DistroSeries(), "noble")
		same(t, "the number of addresses", len(m.IPAddresses()), 1)
		must(m.Releaser().WithComment("done").WithErase().WithQuickErase().WithSecureErase().Release(t.Context()))
		settle(t)
		same(t, "the state", machine(t, "metal9").State(), "Ready")
	})
}

func TestMachineForced(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := must(another().Machines().Allocator().WithTags([]string{"fast"}).Allocate(t.Context()))
		same(t, "the machine with the tag", m.Hostname(), "metal2")
		must(m.Releaser().WithForce().Release(t.Context()))
		settle(t)
		same(t, "the state", machine(t, "metal2").State(), "Ready")
		must(another().Machines().Allocator().WithSystemID(m.SystemID()).Allocate(t.Context()))
		same(t, "the state", machine(t, "metal2").State(), "Allocated")
	})
}

func TestPowerOn(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		h := vmHost(t, "h1")
		made := must(h.Composer().Compose(t.Context(), maas.ParamsBuilder().Set("hostname", "vm1")))
		settle(t)
		m := must(made.Get(t.Context()))
		must(another().Machines().Allocator().WithSystemID(m.SystemID()).Allocate(t.Context()))
		must(m.PowerManagerOn().WithPowerOnComment("wake").PowerOn(t.Context()))
		settle(t)
		same(t, "the power", machine(t, "vm1").PowerState(), "on")
	})
}

func TestMachineDeleted(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		m := machine(t, "metal3")
		try(m.Delete(t.Context()))
		_, err := c.Machines().Machine(m.SystemID()).Get(t.Context())
		refused(t, err, 404, "No Machine")
	})
}

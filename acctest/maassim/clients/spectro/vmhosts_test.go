package spectro

import (
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// vmHostNamed is the current state of the VM host with a name.
func vmHostNamed(t *testing.T, name string) maas.VMHost {
	t.Helper()
	c := newClient()
	for _, h := range must(c.VMHosts().List(t.Context(), nil)) {
		if h.Name() == name {
			return must(c.VMHosts().VMHost(h.SystemID()).Get(t.Context()))
		}
	}
	panic(testFailure{"there is no VM host " + name})
}

func TestVMHosts(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		must(c.VMHosts().Create(t.Context(), maas.ParamsBuilder().Set("name", "third").Set("type", "lxd").
			Set("power_address", "10.200.9.9:8443").Set("password", "swordfish").Set("project", "default")))
		settleSimulator(t)
		h := vmHostNamed(t, "third")
		wantSame(t, "the type", h.Type(), "lxd")
		wantSame(t, "the cores", h.TotalCores(), 8)
		wantSame(t, "the memory", h.TotalMemory(), 32768)
		wantSame(t, "the address, which MAAS does not tell here", h.PowerAddress(), "")
		wantSame(t, "that MAAS has a machine for it", h.HostSystemID() != "", true)
		wantContains(t, "the capabilities", h.Capabilities(), "composable", true)
		wantSame(t, "the projects, which MAAS does not tell here", len(h.Projects()), 0)
		wantSame(t, "the storage pool", h.StoragePools()[0].Name, "default")
		must(h.Update(t.Context(), maas.ParamsBuilder().Set("name", "fourth").Set("zone", "az2").Set("pool", "blue")))
		h = vmHostNamed(t, "fourth")
		wantSame(t, "the zone", h.Zone().Name(), "az2")
		wantSame(t, "the pool", h.ResourcePool().Name(), "blue")
		mustSucceed(h.Delete(t.Context()))
		_, err := h.Get(t.Context())
		wantRefused(t, err, 404, "Not Found")
	})
}

func TestCompose(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		h := vmHostNamed(t, "h1")
		m := must(h.Composer().Compose(t.Context(), maas.ParamsBuilder().Set("hostname", "vm1").Set("cores", "2").Set("memory", "4096")))
		settleSimulator(t)
		wantSame(t, "the state", machineNamed(t, "vm1").State(), "Ready")
		h = vmHostNamed(t, "h1")
		wantSame(t, "the cores in use", h.UsedCores(), 2)
		wantSame(t, "the cores that are left", h.AvailableCores(), 14)
		wantSame(t, "the memory in use", h.UsedMemory(), 4096)
		wantSame(t, "the memory that is left", h.AvailableMemory(), 65536-4096)
		_, err := h.Machines().List(t.Context())
		wantRefused(t, err, 404, "")
		mustSucceed(m.Delete(t.Context()))
		settleSimulator(t)
		wantSame(t, "the cores in use", vmHostNamed(t, "h1").UsedCores(), 0)
	})
}

package spectro

import (
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// vmHost is the VM host of a name, as it is now.
func vmHost(t *testing.T, name string) maas.VMHost {
	t.Helper()
	c := another()
	for _, h := range must(c.VMHosts().List(t.Context(), nil)) {
		if h.Name() == name {
			return must(c.VMHosts().VMHost(h.SystemID()).Get(t.Context()))
		}
	}
	panic(failure{"there is no VM host " + name})
}

func TestVMHosts(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		must(c.VMHosts().Create(t.Context(), maas.ParamsBuilder().Set("name", "third").Set("type", "lxd").
			Set("power_address", "10.200.9.9:8443").Set("password", "swordfish").Set("project", "default")))
		settle(t)
		h := vmHost(t, "third")
		same(t, "the type", h.Type(), "lxd")
		same(t, "the cores", h.TotalCores(), 8)
		same(t, "the memory", h.TotalMemory(), 32768)
		same(t, "the address, which MAAS does not tell here", h.PowerAddress(), "")
		same(t, "that MAAS has a machine for it", h.HostSystemID() != "", true)
		has(t, "the capabilities", h.Capabilities(), "composable", true)
		same(t, "the projects, which MAAS does not tell here", len(h.Projects()), 0)
		same(t, "the storage pool", h.StoragePools()[0].Name, "default")
		must(h.Update(t.Context(), maas.ParamsBuilder().Set("name", "fourth").Set("zone", "az2").Set("pool", "blue")))
		h = vmHost(t, "fourth")
		same(t, "the zone", h.Zone().Name(), "az2")
		same(t, "the pool", h.ResourcePool().Name(), "blue")
		try(h.Delete(t.Context()))
		_, err := h.Get(t.Context())
		refused(t, err, 404, "Not Found")
	})
}

func TestCompose(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		h := vmHost(t, "h1")
		m := must(h.Composer().Compose(t.Context(), maas.ParamsBuilder().Set("hostname", "vm1").Set("cores", "2").Set("memory", "4096")))
		settle(t)
		same(t, "the state", machine(t, "vm1").State(), "Ready")
		h = vmHost(t, "h1")
		same(t, "the cores in use", h.UsedCores(), 2)
		same(t, "the cores that are left", h.AvailableCores(), 14)
		same(t, "the memory in use", h.UsedMemory(), 4096)
		same(t, "the memory that is left", h.AvailableMemory(), 65536-4096)
		_, err := h.Machines().List(t.Context())
		refused(t, err, 404, "")
		try(m.Delete(t.Context()))
		settle(t)
		same(t, "the cores in use", vmHost(t, "h1").UsedCores(), 0)
	})
}

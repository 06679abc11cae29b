package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// vmHostNamed is the VM host with a name, from the list.
func vmHostNamed(c *client.Client, name string) entity.VMHost {
	for _, h := range must(c.VMHosts.Get()) {
		if h.Name == name {
			return h
		}
	}
	panic(testFailure{"there is no VM host " + name})
}

func TestVMHosts(t *testing.T) {
	startClient(t, func(c *client.Client) {
		made := must(c.VMHosts.Create(&entity.VMHostParams{
			Name: "third", Type: "lxd", PowerAddress: "10.200.9.9:8443", Password: "swordfish", Project: "default", Zone: "az2",
		}))
		settleSimulator(t)
		h := must(c.VMHost.Get(made.ID))
		wantSame(t, "the cores", h.Total.Cores, 8)
		wantSame(t, "the zone", h.Zone.Name, "az2")
		must(c.VMHost.Update(h.ID, &entity.VMHostParams{Name: "fourth", CPUOverCommitRatio: 2, Pool: "blue"}))
		h = must(c.VMHost.Get(h.ID))
		wantSame(t, "the name", h.Name, "fourth")
		wantSame(t, "the ratio", h.CPUOverCommitRatio, 2)
		wantSame(t, "the pool", h.Pool.Name, "blue")
		wantSame(t, "the address", must(c.VMHost.GetParameters(h.ID))["power_address"], "10.200.9.9:8443")
		must(c.VMHost.Refresh(h.ID))
		mustSucceed(c.VMHost.Delete(h.ID))
		_, err := c.VMHost.Get(h.ID)
		wantNotFound(t, "VM host", err)
	})
}

func TestCompose(t *testing.T) {
	startClient(t, func(c *client.Client) {
		m := composeReady(t, c, "vm1")
		wantSame(t, "the cores", m.CPUCount, 2)
		wantSame(t, "the VM host", m.VMHost.Name, "h1")
		wantSame(t, "the cores in use", vmHostNamed(c, "h1").Used.Cores, 2)
		mustSucceed(c.Machine.Delete(m.SystemID))
		settleSimulator(t)
		wantSame(t, "the cores in use", vmHostNamed(c, "h1").Used.Cores, 0)
	})
}

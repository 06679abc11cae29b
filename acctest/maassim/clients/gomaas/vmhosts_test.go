package gomaas

import (
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// vmHost is the VM host of a name, as the list has it.
func vmHost(c *client.Client, name string) entity.VMHost {
	for _, h := range must(c.VMHosts.Get()) {
		if h.Name == name {
			return h
		}
	}
	panic(failure{"there is no VM host " + name})
}

func TestVMHosts(t *testing.T) {
	start(t, func(c *client.Client) {
		made := must(c.VMHosts.Create(&entity.VMHostParams{
			Name: "third", Type: "lxd", PowerAddress: "10.200.9.9:8443", Password: "swordfish", Project: "default", Zone: "az2",
		}))
		settle(t)
		h := must(c.VMHost.Get(made.ID))
		same(t, "the cores", h.Total.Cores, 8)
		same(t, "the zone", h.Zone.Name, "az2")
		must(c.VMHost.Update(h.ID, &entity.VMHostParams{Name: "fourth", CPUOverCommitRatio: 2, Pool: "blue"}))
		h = must(c.VMHost.Get(h.ID))
		same(t, "the name", h.Name, "fourth")
		same(t, "the ratio", h.CPUOverCommitRatio, 2)
		same(t, "the pool", h.Pool.Name, "blue")
		same(t, "the address", must(c.VMHost.GetParameters(h.ID))["power_address"], "10.200.9.9:8443")
		must(c.VMHost.Refresh(h.ID))
		try(c.VMHost.Delete(h.ID))
		_, err := c.VMHost.Get(h.ID)
		gone(t, "VM host", err)
	})
}

func TestCompose(t *testing.T) {
	start(t, func(c *client.Client) {
		m := vm(t, c, "vm1")
		same(t, "the cores", m.CPUCount, 2)
		same(t, "the VM host", m.VMHost.Name, "h1")
		same(t, "the cores in use", vmHost(c, "h1").Used.Cores, 2)
		try(c.Machine.Delete(m.SystemID))
		settle(t)
		same(t, "the cores in use", vmHost(c, "h1").Used.Cores, 0)
	})
}

package sim_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/canonical/lxd/shared/api"
)

// TestLXDPlugsNICs plugs NICs into a VM that runs, as far as LXD does, and takes one away.
func TestLXDPlugsNICs(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := world(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	if err := wait(c.CreateInstance(newVM("v"))); err != nil {
		t.Fatal(err)
	}
	change := func(edit func(devices map[string]map[string]string)) error {
		i, etag, err := c.GetInstance("v")
		if err != nil {
			t.Fatal(err)
		}
		put := i.Writable()
		put.Devices = maps.Clone(put.Devices)
		edit(put.Devices)
		return wait(c.UpdateInstance("v", put, etag))
	}
	nic := func(n int, parent string) (string, map[string]string) {
		return fmt.Sprintf("eth%d", n), map[string]string{"type": "nic", "nictype": "bridged", "parent": parent, "hwaddr": fmt.Sprintf("00:16:3e:00:00:%02x", n+1)}
	}
	add := func(n int, parent string) error {
		return change(func(devices map[string]map[string]string) { name, d := nic(n, parent); devices[name] = d })
	}
	power := func(action string) {
		t.Helper()
		if err := wait(c.UpdateInstanceState("v", api.InstanceStatePut{Action: action, Force: action == "stop"}, "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(1, "nobr"); err != nil {
		t.Errorf("a stopped VM may have a NIC on any bridge: %v", err)
	}
	if err := change(func(devices map[string]map[string]string) { delete(devices, "eth1") }); err != nil {
		t.Error(err)
	}
	power("start")
	if err := add(1, "nobr"); err == nil {
		t.Error("a NIC was plugged into a bridge that is not there")
	}
	for n := 1; n <= 4; n++ {
		if err := add(n, "maasbr0"); err != nil {
			t.Errorf("NIC %d: %v", n, err)
		}
	}
	if err := add(5, "maasbr0"); err == nil {
		t.Error("there was a fifth slot")
	}
	if err := change(func(devices map[string]map[string]string) { delete(devices, "eth4") }); err != nil {
		t.Error(err)
	}
	if err := add(5, "maasbr0"); err != nil {
		t.Errorf("a slot was free: %v", err)
	}
	power("stop")
	power("start")
	if err := add(6, "maasbr0"); err != nil {
		t.Errorf("the slots are free again after a start: %v", err)
	}
	if macs := maas.sim.Instances()[0].MACs; len(macs) != 6 {
		t.Errorf("it has the NICs %v", macs)
	}
}

package sim_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/canonical/lxd/shared/api"
)

// TestLXDPlugsNICs adds NICs to a running VM as far as LXD allows it, and removes one.
func TestLXDPlugsNICs(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	if err := waitForLXD(c.CreateInstance(newVM("v"))); err != nil {
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
		return waitForLXD(c.UpdateInstance("v", put, etag))
	}
	nic := func(n int, parent string) (string, map[string]string) {
		return fmt.Sprintf("eth%d", n), map[string]string{"type": "nic", "nictype": "bridged", "parent": parent, "hwaddr": fmt.Sprintf("00:16:3e:00:00:%02x", n+1)}
	}
	add := func(n int, parent string) error {
		return change(func(devices map[string]map[string]string) { name, d := nic(n, parent); devices[name] = d })
	}
	power := func(action string) {
		t.Helper()
		if err := waitForLXD(c.UpdateInstanceState("v", api.InstanceStatePut{Action: action, Force: action == "stop"}, "")); err != nil {
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
	steps := []struct {
		reason   string
		adds     string // number of a NIC
		drops    string
		says     string // empty if LXD accepts it
		restarts bool
	}{
		{reason: "The port is free.", adds: "1"},
		{reason: "So is the next one.", adds: "2"},
		{reason: "It gives its port back.", drops: "1"},
		{reason: "It would have the port of eth2.", adds: "3", says: "PCI: slot 0 function 0 not available"},
		{reason: "It has the port that eth1 had.", adds: "1"},
		{reason: "Its name comes last.", adds: "3"},
		{reason: "Its name comes last.", adds: "4"},
		{reason: "There are four for NICs that come.", adds: "5", says: "Bus not found"},
		{reason: "It gives its port back.", drops: "2"},
		{reason: "The start moves the ports of eth3 and eth4.", adds: "2", says: "PCI: slot 0 function 0 not available", restarts: true},
		{reason: "Its name comes last.", adds: "5"},
	}
	for _, step := range steps {
		if step.restarts {
			power("stop")
			power("start")
		}
		err := change(func(devices map[string]map[string]string) {
			if step.adds != "" {
				name, d := nic(int(step.adds[0]-'0'), "maasbr0")
				devices[name] = d
			}
			delete(devices, "eth"+step.drops)
		})
		if (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("%s\nadds %q, drops %q: want %q, got %v", step.reason, step.adds, step.drops, step.says, err)
		}
	}
	if macs := maas.sim.Instances()[0].MACs; len(macs) != 5 {
		t.Errorf("it has the NICs %v", macs)
	}
	power("stop")
	if err := change(func(devices map[string]map[string]string) { devices["gpu0"] = map[string]string{"type": "gpu"} }); err != nil {
		t.Fatal(err)
	}
	power("start")
	if err := add(6, "maasbr0"); err == nil || !strings.Contains(err.Error(), "in use by gpu0") {
		t.Errorf("the GPU has the port after those of the NICs, and LXD said %v", err)
	}
}

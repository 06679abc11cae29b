package sim_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestLXDEnlisted tests a VM on a MAAS without VM hosts: it is made in LXD and enlisted,
// and from then on MAAS controls its power.
func TestLXDEnlisted(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	synctest.Test(t, func(t *testing.T) {
		m := lxdModel(pair)
		m.MAASVersion = sim.VersionGone
		m.Latency = sim.Latency{PowerOn: time.Second, PowerOff: time.Second, Commission: 10 * time.Second, Deploy: 10 * time.Second}
		maas := newMAASClient(t, m)
		c := dialLXD(t, maas.sim, pair)
		defer c.Disconnect()
		if err := waitForLXD(c.CreateInstance(newVM("vm1"))); err != nil {
			t.Fatal(err)
		}
		id := maas.mustCall("POST", "machines/", "hostname=vm1", "architecture=amd64/generic", "mac_addresses=00:16:3e:00:00:01", "power_type=lxd",
			"commission=true", "power_parameters_power_address="+maas.sim.LXDs()[0].Address, "power_parameters_instance_name=vm1",
			"power_parameters_certificate="+pair.certificate, "power_parameters_key="+pair.key)["system_id"].(string)
		time.Sleep(5 * time.Second)
		if s, _, err := c.GetInstanceState("vm1"); err != nil || s.Status != "Running" {
			t.Errorf("while it commissions it is %+v, %v", s, err)
		}
		time.Sleep(time.Minute)
		if status := maas.readMachine(id)["status_name"]; status != "Ready" {
			t.Fatalf("after commissioning it is %v", status)
		}
		maas.mustCall("POST", "machines/?op=allocate", "system_id="+id)
		maas.mustCall("POST", "machines/"+id+"/?op=deploy")
		time.Sleep(time.Minute)
		stop := api.InstanceStatePut{Action: "stop", Timeout: 60}
		if err := waitForLXD(c.UpdateInstanceState("vm1", stop, "")); err != nil {
			t.Errorf("a system that was asked to go down: %v", err)
		}
		if power := maas.mustCall("GET", "machines/"+id+"/?op=query_power_state")["state"]; power != "off" {
			t.Errorf("MAAS says the power is %v", power)
		}
		maas.mustCall("DELETE", "machines/"+id+"/")
		if diff := cmp.Diff([]string{"vm1"}, leakedInstances(maas.sim)); diff != "" {
			t.Errorf("MAAS removed an instance that it had not made (-want +got):\n%s", diff)
		}
	})
}

// TestLXDPower checks which operations prevent a power action, and which a power action
// prevents.
func TestLXDPower(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	synctest.Test(t, func(t *testing.T) {
		m := lxdModel(pair)
		m.Latency.PowerOn = 10 * time.Second
		maas := newMAASClient(t, m)
		c := dialLXD(t, maas.sim, pair)
		defer c.Disconnect()
		id := maas.compose("hostname=vm1", "skip_commissioning=true")
		power := func(action string, force bool) error {
			return waitForLXD(c.UpdateInstanceState("vm1", api.InstanceStatePut{Action: action, Force: force}, ""))
		}
		op, err := c.UpdateInstanceState("vm1", api.InstanceStatePut{Action: "start"}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range []string{"start", "stop"} {
			if err := power(action, false); err == nil {
				t.Errorf("%s while it starts", action)
			}
		}
		if err := waitForLXD(c.DeleteInstance("vm1")); err == nil {
			t.Error("it was deleted while it starts")
		}
		wantStatus(t, maas.call("DELETE", "machines/"+id+"/"), 204, "")
		if diff := cmp.Diff([]string{"vm1"}, instanceNames(maas.sim)); diff != "" {
			t.Errorf("MAAS's delete while LXD starts it (-want +got):\n%s", diff)
		}
		if err := op.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := power("start", false); err == nil {
			t.Error("it started twice")
		}
		if err := power("restart", true); err != nil {
			t.Error(err)
		}
		forever, err := c.UpdateInstanceState("vm1", api.InstanceStatePut{Action: "stop", Timeout: -1}, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := power("stop", true); err != nil {
			t.Errorf("force, while it is asked to go down: %v", err)
		}
		if err := forever.Wait(); err != nil {
			t.Error(err)
		}
		if err := power("stop", true); err == nil {
			t.Error("it stopped twice")
		}
		_, err = c.UpdateInstanceState("vm1", api.InstanceStatePut{Action: "explode"}, "")
		wantLXD(t, "an unknown action", err, 400)
	})
}

// TestLXDOperationIsForgotten: LXD keeps an operation for five seconds after its end, and
// a wait ends with its timeout.
func TestLXDOperationIsForgotten(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	synctest.Test(t, func(t *testing.T) {
		m := lxdModel(pair)
		m.Latency.Compose = 2 * time.Minute
		maas := newMAASClient(t, m)
		c := dialLXD(t, maas.sim, pair)
		defer c.Disconnect()
		op, _, err := c.RawOperation("POST", "/instances", newVM("vm1"), "")
		if err != nil {
			t.Fatal(err)
		}
		id, start := op.Get().ID, time.Now()
		early, _, err := c.GetOperationWait(id, 10)
		if err != nil || early.Status != "Running" || time.Since(start) != 10*time.Second {
			t.Errorf("a wait of 10 s: %+v, %v, after %v", early, err, time.Since(start))
		}
		late, _, err := c.GetOperationWait(id, -1)
		if err != nil || late.Status != "Success" || time.Since(start) != time.Minute {
			t.Errorf("a wait for ever: %+v, %v, after %v", late, err, time.Since(start))
		}
		time.Sleep(4 * time.Second)
		if _, _, err := c.GetOperation(id); err != nil {
			t.Errorf("after four seconds: %v", err)
		}
		time.Sleep(2 * time.Second)
		_, _, err = c.GetOperation(id)
		wantLXD(t, "after six seconds", err, 404)
	})
}

// TestLXDChanges checks which changes of a VM are possible, and when.
func TestLXDChanges(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	wantLXD(t, "volume", c.CreateStoragePoolVolume("fast", api.StorageVolumesPost{Name: "data", Type: "custom", ContentType: "block",
		StorageVolumePut: api.StorageVolumePut{Config: map[string]string{"size": "5GB"}}}), 0)
	post := newVM("v")
	post.Devices["data"] = map[string]string{"type": "disk", "pool": "fast", "source": "data"}
	post.Start = true
	if err := waitForLXD(c.CreateInstance(post)); err != nil {
		t.Fatal(err)
	}
	wantLXD(t, "volume in use", c.DeleteStoragePoolVolume("fast", "custom", "data"), 400)
	cases := []struct {
		name    string
		running bool
		change  func(*api.InstancePut)
		ok      bool
	}{
		{"a note", true, func(p *api.InstancePut) { p.Config["user.note"] = "x" }, true},
		{"cores", true, func(p *api.InstancePut) { p.Config["limits.cpu"] = "3" }, true},
		{"less memory", true, func(p *api.InstancePut) { p.Config["limits.memory"] = "1GiB" }, true},
		{"more memory", true, func(p *api.InstancePut) { p.Config["limits.memory"] = "8GiB" }, false},
		{"secure boot", true, func(p *api.InstancePut) { p.Config["security.secureboot"] = "true" }, false},
		{"a USB device", true, func(p *api.InstancePut) { p.Devices["key"] = map[string]string{"type": "usb", "vendorid": "1d6b"} }, true},
		{"a TPM", true, func(p *api.InstancePut) { p.Devices["tpm0"] = map[string]string{"type": "tpm"} }, false},
		{"a TPM, stopped", false, func(p *api.InstancePut) { p.Devices["tpm0"] = map[string]string{"type": "tpm"} }, true},
		{"no TPM", true, func(p *api.InstancePut) { delete(p.Devices, "tpm0") }, false},
		{"no USB device", true, func(p *api.InstancePut) { delete(p.Devices, "key") }, true},
		{"an order of stopping", true, func(p *api.InstancePut) { p.Config["boot.stop.priority"] = "3" }, true},
		{"no TPM, stopped", false, func(p *api.InstancePut) { delete(p.Devices, "tpm0"); delete(p.Config, "boot.stop.priority") }, true},
		{"a priority of disks", false, func(p *api.InstancePut) { p.Config["limits.disk.priority"] = "10" }, true},
		{"a higher one than there is", false, func(p *api.InstancePut) { p.Config["limits.disk.priority"] = "11" }, false},
		{"no set of nodes", false, func(p *api.InstancePut) { p.Config["limits.cpu.nodes"] = "a" }, false},
		{"no truth", false, func(p *api.InstancePut) { p.Config["security.devlxd"] = "perhaps" }, false},
		{"an option of later versions", false, func(p *api.InstancePut) { p.Config["limits.cpu.pin_strategy"] = "auto" }, false},
		{"more memory, stopped", false, func(p *api.InstancePut) { p.Config["limits.memory"] = "8GiB" }, true},
		{"pinned cores", false, func(p *api.InstancePut) { p.Config["limits.cpu"] = "0-2,5" }, true},
		{"larger disk", false, func(p *api.InstancePut) { p.Devices["root"]["size"] = "20GB" }, true},
		{"smaller disk", false, func(p *api.InstancePut) { p.Devices["root"]["size"] = "1GB" }, false},
		{"protection", false, func(p *api.InstancePut) { p.Config["security.protection.delete"] = "true" }, true},
	}
	for _, tc := range cases {
		if i := maas.sim.Instances()[0]; i.Running != tc.running {
			if err := maas.sim.SetInstanceRunning("h1", "default", "v", tc.running); err != nil {
				t.Fatal(err)
			}
		}
		instance, tag, err := c.GetInstance("v")
		if err != nil {
			t.Fatal(err)
		}
		put := instance.Writable()
		tc.change(&put)
		if err := waitForLXD(c.UpdateInstance("v", put, tag)); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	want := sim.ResourceUse{Cores: 4, MemoryMiB: 8192, PoolBytes: map[string]int64{"default": 20e9, "fast": 5e9}}
	if diff := cmp.Diff(want, maas.sim.LXDs()[0].Used); diff != "" {
		t.Errorf("use (-want +got):\n%s", diff)
	}
	if macs := maas.sim.Instances()[0].MACs; macs[0] != "00:16:3e:00:00:01" {
		t.Errorf("the MAC changed: %v", macs)
	}
	if err := waitForLXD(c.DeleteInstance("v")); err == nil {
		t.Error("a protected VM was deleted")
	}
	if _, _, err := c.RawQuery("PATCH", "/1.0/instances/v", map[string]any{"config": map[string]string{"security.protection.delete": ""}}, ""); err != nil {
		t.Fatal(err)
	}
	instance, _, _ := c.GetInstance("v")
	if instance.Config["limits.cpu"] != "0-2,5" || len(instance.Devices) != 3 {
		t.Errorf("the patch took more than it was told to: %v", instance)
	}
	if err := waitForLXD(c.DeleteInstance("v")); err != nil {
		t.Error(err)
	}
	wantLXD(t, "volume that stayed", c.DeleteStoragePoolVolume("fast", "custom", "data"), 0)
}

// TestLXDProfiles tests a VM whose disk and NIC come from a profile.
func TestLXDProfiles(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	wantLXD(t, "profile", c.CreateProfile(api.ProfilesPost{Name: "small", ProfilePut: api.ProfilePut{
		Config: map[string]string{"limits.memory": "3GiB"},
		Devices: map[string]map[string]string{
			"root": {"type": "disk", "path": "/", "pool": "fast", "size": "4GB"},
			"eth0": {"type": "nic", "nictype": "bridged", "parent": "maasbr0"},
		}}}), 0)
	post := newVM("v")
	post.Profiles, post.Devices = []string{"small"}, nil
	maps.DeleteFunc(post.Config, func(key, _ string) bool { return key == "limits.memory" })
	if err := waitForLXD(c.CreateInstance(post)); err != nil {
		t.Fatal(err)
	}
	i, _, err := c.GetInstance("v")
	if err != nil || len(i.Devices) != 0 || i.ExpandedDevices["root"]["pool"] != "fast" || i.Config["volatile.eth0.hwaddr"] == "" {
		t.Errorf("got %+v, %v", i, err)
	}
	want := sim.ResourceUse{Cores: 2, MemoryMiB: 3072, PoolBytes: map[string]int64{"fast": 4e9}}
	if diff := cmp.Diff(want, maas.sim.LXDs()[0].Used); diff != "" {
		t.Errorf("use (-want +got):\n%s", diff)
	}
	wantLXD(t, "profile in use", c.DeleteProfile("small"), 400)
	post.Name, post.Profiles = "w", []string{"nope"}
	wantLXD(t, "profile missing", waitForLXD(c.CreateInstance(post)), 404)
	if err := waitForLXD(c.UpdateInstanceState("v", api.InstanceStatePut{Action: "start"}, "")); err != nil {
		t.Error(err)
	}
	noBridge := newVM("x")
	noBridge.Devices["eth0"]["parent"] = "nobr"
	if err := waitForLXD(c.CreateInstance(noBridge)); err != nil {
		t.Errorf("a parent that is missing shows at the start: %v", err)
	}
	if err := waitForLXD(c.UpdateInstanceState("x", api.InstanceStatePut{Action: "start"}, "")); err == nil {
		t.Error("it started without its bridge")
	}
}

// TestLXDPassword: the LXD trusts a client with its password, as long as there is one.
func TestLXDPassword(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.Hosts[0].TrustPassword = "s3cret"
	maas := newMAASClient(t, m)
	c := dialLXD(t, maas.sim, newClientPair(t))
	wantLXD(t, "wrong password", c.CreateCertificate(api.CertificatesPost{Type: "client", Password: "wrong"}), 403)
	wantLXD(t, "password", c.CreateCertificate(api.CertificatesPost{Type: "client", Password: "s3cret"}), 0)
	wantLXD(t, "password again", c.CreateCertificate(api.CertificatesPost{Type: "client", Password: "s3cret"}), 400)
	server, tag, err := c.GetServer()
	if err != nil || server.Auth != "trusted" || server.Config["core.trust_password"] != true {
		t.Fatalf("got %+v, %v", server, err)
	}
	wantLXD(t, "the server as it is", c.UpdateServer(server.Writable(), tag), 0)
	wantLXD(t, "a stranger's password after it", dialLXD(t, maas.sim, newClientPair(t)).CreateCertificate(api.CertificatesPost{Type: "client", Password: "s3cret"}), 0)
}

// TestLXDEvents receives the events of some operations.
func TestLXDEvents(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	listener, err := c.GetEventsAllProjects()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan api.Operation, 1)
	if _, err := listener.AddHandler([]string{"operation"}, func(e api.Event) {
		if op, err := operationOf(e); err == nil && op.StatusCode == api.Success {
			ended <- op
		}
	}); err != nil {
		t.Fatal(err)
	}
	op, err := c.CreateInstance(newVM("v"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case got := <-ended:
		if got.ID != op.Get().ID {
			t.Errorf("the event is of %s, not %s", got.ID, op.Get().ID)
		}
	case <-ctx.Done():
		t.Error("no event came")
	}
	maas.sim.Close()
	if err := listener.Wait(); err == nil {
		t.Error("the listener outlived the simulator")
	}
}

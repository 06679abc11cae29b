package sim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	lxdclient "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// clientPair is a client's certificate with its key, both in PEM.
type clientPair struct{ certificate, key string }

// newClientPair makes a new pair.
func newClientPair(t *testing.T) clientPair {
	t.Helper()
	made, err := makeClientPair()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func makeClientPair() (clientPair, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return clientPair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return clientPair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return clientPair{}, err
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return clientPair{text("CERTIFICATE", der), text("PRIVATE KEY", keyDER)}, nil
}

// lxdModel is a world with one host whose LXD trusts a client. MAAS has no VM host for it
// unless the test registers one.
func lxdModel(pair clientPair) sim.Model {
	m := oneHost()
	m.Hosts[0].TrustedCertificates = []string{pair.certificate}
	return m
}

// lxdArgs are the client's connection arguments, with the server's certificate.
func lxdArgs(s *sim.Sim, pair clientPair) *lxdclient.ConnectionArgs {
	return &lxdclient.ConnectionArgs{
		TLSClientCert: pair.certificate, TLSClientKey: pair.key, TLSServerCert: s.LXDs()[0].Certificate,
		TransportWrapper: func(t *http.Transport) lxdclient.HTTPTransporter { return s.LXDTransport(t) },
	}
}

// dialLXD connects to the first LXD as clients do.
func dialLXD(t *testing.T, s *sim.Sim, pair clientPair) lxdclient.InstanceServer {
	t.Helper()
	c, err := lxdclient.ConnectLXDWithContext(t.Context(), "https://"+s.LXDs()[0].Address, lxdArgs(s, pair))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantLXD fails the test unless the error has LXD's status; 0 is no error.
func wantLXD(t *testing.T, what string, err error, status int) {
	t.Helper()
	if status == 0 && err == nil || status != 0 && api.StatusErrorCheck(err, status) {
		return
	}
	t.Errorf("%s: want status %d, got %v", what, status, err)
}

// waitForLXD waits for an operation and returns its error.
func waitForLXD(op lxdclient.Operation, err error) error {
	if err != nil {
		return err
	}
	return op.Wait()
}

// newVM is the request for a VM as a client makes it.
func newVM(name string) api.InstancesPost {
	return api.InstancesPost{
		Name: name, Type: api.InstanceTypeVM, Source: api.InstanceSource{Type: "none"},
		InstancePut: api.InstancePut{
			Config: map[string]string{"limits.cpu": "2", "limits.memory": "2048MiB", "security.secureboot": "false", "user.owner": "me"},
			Devices: map[string]map[string]string{
				"root": {"type": "disk", "path": "/", "pool": "default", "size": "10000000000"},
				"eth0": {"type": "nic", "nictype": "bridged", "parent": "maasbr0", "hwaddr": "00:16:3e:00:00:01", "boot.priority": "1"},
			},
		},
	}
}

// TestLXDLifeOfAVM makes a VM through LXD's API, without sockets and inside a bubble. MAAS
// must see the same VM.
func TestLXDLifeOfAVM(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	synctest.Test(t, func(t *testing.T) {
		m := lxdModel(pair)
		m.Latency = sim.Latency{PowerOn: time.Second, PowerOff: time.Second, Delete: time.Second, Compose: 2 * time.Second}
		maas := newMAASClient(t, m)
		c := dialLXD(t, maas.sim, pair)
		defer c.Disconnect()
		start := time.Now()
		if err := waitForLXD(c.CreateInstance(newVM("made"))); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("creation took %v, want LXD's half of compose", took)
		}
		if err := waitForLXD(c.CreateInstance(newVM("made"))); err == nil {
			t.Error("a second one of the name was made")
		}
		maas.mustCall("POST", "vm-hosts/1/?op=refresh")
		maas.sim.Settle()
		got := maas.sim.Instances()[0]
		want := sim.Instance{Host: "h1", Project: "default", Name: "made", Cores: 2, MemoryMiB: 2048, MACs: []string{"00:16:3e:00:00:01"}, MachineID: got.MachineID}
		if diff := cmp.Diff(want, got); diff != "" || got.MachineID == "" {
			t.Errorf("MAAS adopted another VM (-want +got):\n%s", diff)
		}
		if err := waitForLXD(c.UpdateInstanceState("made", api.InstanceStatePut{Action: "start"}, "")); err != nil {
			t.Fatal(err)
		}
		if power := maas.mustCall("GET", "machines/"+got.MachineID+"/?op=query_power_state")["state"]; power != "on" {
			t.Errorf("MAAS says the power is %v", power)
		}
		_, err := c.DeleteInstance("made")
		wantLXD(t, "delete of a running VM", err, 400)
		stop := api.InstanceStatePut{Action: "stop", Timeout: 30}
		start = time.Now()
		if err := waitForLXD(c.UpdateInstanceState("made", stop, "")); err == nil || time.Since(start) != 30*time.Second {
			t.Errorf("a VM without a guest went down: %v after %v", err, time.Since(start))
		}
		stop.Force = true
		if err := waitForLXD(c.UpdateInstanceState("made", stop, "")); err != nil {
			t.Error(err)
		}
		if err := waitForLXD(c.DeleteInstance("made")); err != nil {
			t.Error(err)
		}
		_, _, err = c.GetInstance("made")
		wantLXD(t, "read of what was deleted", err, 404)
		if left := maas.sim.Instances(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestLXDShowsComposed reads a VM that MAAS composed.
func TestLXDShowsComposed(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	id := maas.compose("hostname=web", "cores=3", "memory=4096", "storage=root:20(default),data:5(fast)", "skip_commissioning=true")
	full, err := c.GetInstancesFull(api.InstanceTypeVM)
	if err != nil || len(full) != 1 {
		t.Fatalf("got %v, %v", full, err)
	}
	i := full[0]
	mac := maas.sim.Instances()[0].MACs[0]
	got := map[string]string{"cpu": i.Config["limits.cpu"], "memory": i.Config["limits.memory"], "secureboot": i.Config["security.secureboot"],
		"mac": i.Config["volatile.eth0.hwaddr"], "root": i.Devices["root"]["size"], "data": i.Devices["disk1"]["pool"], "parent": i.Devices["eth0"]["parent"], "state": i.State.Status}
	want := map[string]string{"cpu": "3", "memory": "4294967296", "secureboot": "false", "mac": mac, "root": "20000000000", "data": "fast", "parent": "maasbr0", "state": "Stopped"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v, err := c.GetStoragePoolVolumes("fast"); err != nil || len(v) != 1 || v[0].Config["size"] != "5000000000" {
		t.Errorf("the second disk is %v, %v", v, err)
	}
	put := i.Writable()
	put.Config["limits.memory"], put.Devices["root"]["size"] = "8GiB", "30000000000"
	if err := waitForLXD(c.UpdateInstance("web", put, "")); err != nil {
		t.Fatal(err)
	}
	maas.mustCall("POST", "vm-hosts/1/?op=refresh")
	if memory := maas.readMachine(id)["memory"]; memory != float64(8192) {
		t.Errorf("MAAS sees %v MiB after the change", memory)
	}
	if used := maas.sim.LXDs()[0].Used.PoolBytes["default"]; used != 30e9 {
		t.Errorf("the pool holds %d bytes", used)
	}
	maas.call("DELETE", "machines/"+id+"/")
	if v, err := c.GetStoragePoolVolumes("fast"); err != nil || len(v) != 0 {
		t.Errorf("MAAS left volumes: %v, %v", v, err)
	}
}

// TestLXDTrust checks the views of an untrusted client, of one that is restricted to a
// project, and of one without restriction.
func TestLXDTrust(t *testing.T) {
	t.Parallel()
	stranger, restricted, admin := newClientPair(t), newClientPair(t), newClientPair(t)
	maas := newMAASClient(t, lxdModel(admin))
	a := dialLXD(t, maas.sim, admin)
	if err := a.CreateProject(api.ProjectsPost{Name: "maas"}); err != nil {
		t.Fatal(err)
	}
	wantLXD(t, "a project twice", a.CreateProject(api.ProjectsPost{Name: "maas"}), 409)
	block, _ := pem.Decode([]byte(restricted.certificate))
	add := api.CertificatesPost{Name: "r", Type: "client", Restricted: true, Projects: []string{"maas"}, Certificate: base64Of(block.Bytes)}
	wantLXD(t, "a certificate", a.CreateCertificate(add), 0)
	wantLXD(t, "a certificate twice", a.CreateCertificate(add), 409)
	add.Certificate = restricted.certificate
	wantLXD(t, "a certificate in PEM", a.CreateCertificate(add), 400)

	u := dialLXD(t, maas.sim, stranger)
	server, _, err := u.GetServer()
	if err != nil || server.Auth != "untrusted" || server.Environment.ServerVersion != "" || len(server.APIExtensions) == 0 {
		t.Errorf("a stranger sees %+v, %v", server, err)
	}
	_, err = u.GetStoragePools()
	wantLXD(t, "a stranger's look at pools", err, 403)
	_, err = u.GetInstances(api.InstanceTypeAny)
	wantLXD(t, "a stranger's look at instances", err, 403)

	r := dialLXD(t, maas.sim, restricted)
	in := r.UseProject("maas")
	server, _, err = r.GetServer()
	if err != nil || server.Auth != "trusted" || server.Environment.ServerVersion != "5.21.3" || server.Config != nil {
		t.Errorf("the restricted see %+v, %v", server, err)
	}
	pools, err := r.GetStoragePools()
	if err != nil || len(pools) != 2 || pools[0].Config != nil {
		t.Errorf("the restricted see pools %v, %v", pools, err)
	}
	resources, err := r.GetServerResources()
	if err != nil || resources.CPU.Total != 8 || resources.Memory.Total != 16384<<20 {
		t.Errorf("resources: %v", err)
	}
	space, err := r.GetStoragePoolResources("fast")
	if err != nil || space.Space.Total != 50e9 {
		t.Errorf("pool resources: %+v, %v", space, err)
	}
	for name, look := range map[string]func(lxdclient.InstanceServer) error{
		"instances": func(c lxdclient.InstanceServer) error { _, err := c.GetInstances(api.InstanceTypeAny); return err },
		"profiles":  func(c lxdclient.InstanceServer) error { _, err := c.GetProfiles(); return err },
		"networks":  func(c lxdclient.InstanceServer) error { _, err := c.GetNetworks(); return err },
		"bridge":    func(c lxdclient.InstanceServer) error { _, err := c.GetNetworkState("maasbr0"); return err },
	} {
		wantLXD(t, name+" of the default project", look(r), 403)
		wantLXD(t, name+" of its own project", look(in), 0)
	}
	wantLXD(t, "a project by the restricted", r.CreateProject(api.ProjectsPost{Name: "more"}), 403)
	wantLXD(t, "a pool by the restricted", r.CreateStoragePool(api.StoragePoolsPost{Name: "more", Driver: "dir"}), 403)
	wantLXD(t, "a certificate by the restricted", r.CreateCertificate(api.CertificatesPost{Name: "x", Type: "client"}), 403)
	projects, err := r.GetProjectNames()
	if diff := cmp.Diff([]string{"maas"}, projects); err != nil || diff != "" {
		t.Errorf("projects: %v %s", err, diff)
	}
	if err := waitForLXD(in.CreateInstance(newVM("theirs"))); err != nil {
		t.Errorf("a VM in its project: %v", err)
	}
	_, err = a.UseProject("ghost").GetInstances(api.InstanceTypeAny)
	wantLXD(t, "a project that is missing", err, 404)
	all, err := a.GetInstancesAllProjects(api.InstanceTypeAny)
	if err != nil || len(all) != 1 || all[0].Project != "maas" {
		t.Errorf("all projects: %v, %v", all, err)
	}
}

// TestLXDConditions tests an LXD that is unreachable, hanging or slow.
func TestLXDConditions(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	synctest.Test(t, func(t *testing.T) {
		maas := newMAASClient(t, lxdModel(pair))
		address, args := "https://"+maas.sim.LXDs()[0].Address, lxdArgs(maas.sim, pair)
		connect := func(patience time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			_, err := lxdclient.ConnectLXDWithContext(ctx, address, args)
			return time.Since(start), err
		}
		set := func(c sim.Condition) {
			if err := maas.sim.SetLXDCondition("h1", c); err != nil {
				t.Fatal(err)
			}
		}
		set(sim.ConditionUnreachable)
		if _, err := connect(time.Minute); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("unreachable: %v", err)
		}
		set(sim.ConditionHanging)
		if took, err := connect(time.Minute); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("hanging: %v after %v", err, took)
		}
		set(sim.ConditionSlow)
		if took, err := connect(time.Minute); err != nil || took != 3*time.Second {
			t.Errorf("slow: %v after %v", err, took)
		}
		set(sim.ConditionOK)
		if took, err := connect(time.Minute); err != nil || took != 0 {
			t.Errorf("ok: %v after %v", err, took)
		}
		hung := make(chan error, 1)
		set(sim.ConditionHanging)
		go func() { _, err := connect(time.Hour); hung <- err }()
		synctest.Wait()
		maas.sim.Close()
		if err := <-hung; err == nil {
			t.Error("a call outlived the simulator")
		}
		if _, err := connect(time.Minute); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("closed: %v", err)
		}
	})
}

// TestLXDFaults breaks calls of one LXD only.
func TestLXDFaults(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	maas.sim.ResetJournal()
	maas.sim.AddFault(sim.Fault{Kind: sim.FaultReset, Method: "GET"})
	_, _, err := c.GetProfile("default")
	wantLXD(t, "under a fault of MAAS", err, 0)
	maas.sim.ClearFaults()
	maas.sim.AddFault(sim.Fault{Path: "lxd/h1/1.0/profiles/*", Kind: sim.FaultStatus, Status: 500, Body: "broken", Times: 1})
	_, _, err = c.GetProfile("default")
	wantLXD(t, "a status", err, 500)
	_, _, err = c.GetProfile("default")
	wantLXD(t, "once only", err, 0)
	maas.sim.AddFault(sim.Fault{Path: "lxd/*/1.0/**", Method: "POST", Kind: sim.FaultLostReply, When: sim.FaultAfterEffect, Nth: 1})
	if _, err = c.CreateInstance(newVM("lost")); err == nil {
		t.Error("the reply came")
	}
	if diff := cmp.Diff([]string{"lost"}, instanceNames(maas.sim)); diff != "" {
		t.Errorf("the effect of a lost reply (-want +got):\n%s", diff)
	}
	wantStatus(t, maas.call("GET", "zones/"), 200, "default")
	j := maas.sim.Journal()
	if j.Total() != 1 || j.LXD.Count("GET 1.0/profiles/{name}") != 3 || j.LXD.Calls[0].Host != "h1" {
		t.Errorf("journal: %d calls of MAAS, %+v", j.Total(), j.LXD)
	}
}

// TestLXDRefused checks the statuses of errors.
func TestLXDRefused(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	maas := newMAASClient(t, lxdModel(pair))
	c := dialLXD(t, maas.sim, pair)
	if err := waitForLXD(c.CreateInstance(newVM("v"))); err != nil {
		t.Fatal(err)
	}
	instance, instanceTag, err := c.GetInstance("v")
	if err != nil {
		t.Fatal(err)
	}
	profile, profileTag, _ := c.GetProfile("default")
	pool, poolTag, _ := c.GetStoragePool("fast")
	server, serverTag, _ := c.GetServer()
	profile.Description, pool.Description = "new", "new"
	changed := profile.Writable()
	moved := pool.Writable()
	moved.Config = map[string]string{"source": "/dev/sdz"}
	unknown := server.Writable()
	unknown.Config = map[string]any{"core.bogus": "1"}
	elsewhere := server.Writable()
	elsewhere.Config = map[string]any{"core.https_address": "203.0.113.1:8443"}
	twoRoots := api.ProfilePut{Devices: map[string]map[string]string{"a": {"type": "disk", "path": "/", "pool": "default"}, "b": {"type": "disk", "path": "/", "pool": "fast"}}}
	noNetwork := api.ProfilePut{Devices: map[string]map[string]string{"a": {"type": "nic", "network": "nope"}}}
	steps := []struct {
		name   string
		err    error
		status int
	}{
		{"pool missing", secondError(c.GetStoragePool("nope")), 404},
		{"network missing", secondError(c.GetNetwork("nope")), 404},
		{"profile missing", secondError(c.GetProfile("nope")), 404},
		{"project missing", secondError(c.GetProject("nope")), 404},
		{"instance missing", secondError(c.GetInstance("nope")), 404},
		{"operation missing", secondError(c.GetOperation("nope")), 404},
		{"pool twice", c.CreateStoragePool(api.StoragePoolsPost{Name: "fast", Driver: "dir"}), 409},
		{"pool of an unknown driver", c.CreateStoragePool(api.StoragePoolsPost{Name: "new", Driver: "nosuch"}), 500},
		{"pool with a bad key", c.CreateStoragePool(api.StoragePoolsPost{Name: "new", Driver: "dir", StoragePoolPut: api.StoragePoolPut{Config: map[string]string{"bogus": "1"}}}), 500},
		{"pool moved", c.UpdateStoragePool("fast", moved, ""), 500},
		{"pool in use", c.DeleteStoragePool("default"), 400},
		{"network", c.CreateNetwork(api.NetworksPost{Name: "br9", Type: "bridge"}), 0},
		{"network twice", c.CreateNetwork(api.NetworksPost{Name: "br9", Type: "bridge"}), 400},
		{"network's value", c.UpdateNetwork("br9", api.NetworkPut{Config: map[string]string{"ipv4.address": "x"}}, ""), 400},
		{"network's ETag", c.UpdateNetwork("br9", api.NetworkPut{}, "stale"), 412},
		{"server's key", c.UpdateServer(unknown, serverTag), 400},
		{"server's address", c.UpdateServer(elsewhere, serverTag), 500},
		{"server's ETag", c.UpdateServer(server.Writable(), "stale"), 412},
		{"server as it is", c.UpdateServer(server.Writable(), serverTag), 0},
		{"profile with two roots", c.UpdateProfile("default", twoRoots, ""), 500},
		{"profile on a missing network", c.UpdateProfile("default", noNetwork, ""), 404},
		{"profile", c.UpdateProfile("default", changed, profileTag), 0},
		{"profile's ETag", c.UpdateProfile("default", changed, profileTag), 412},
		{"pool's description", c.UpdateStoragePool("fast", pool.Writable(), poolTag), 0},
		{"pool's description, old ETag", c.UpdateStoragePool("fast", pool.Writable(), poolTag), 0},
		{"instance", waitForLXD(c.UpdateInstance("v", withKey(instance, "user.a", "1"), instanceTag)), 0},
		{"instance's ETag", waitForLXD(c.UpdateInstance("v", withKey(instance, "user.a", "2"), instanceTag)), 412},
		{"default project", c.DeleteProject("default"), 403},
	}
	for _, s := range steps {
		wantLXD(t, s.name, s.err, s.status)
	}
}

// TestLXDOperationsFail checks errors that only the operation reports.
func TestLXDOperationsFail(t *testing.T) {
	t.Parallel()
	pair := newClientPair(t)
	m := lxdModel(pair)
	maas := newMAASClient(t, m)
	c := dialLXD(t, maas.sim, pair)
	cases := map[string]struct {
		reason string
		change func(*api.InstancesPost)
	}{
		"UnknownKey": {"LXD knows its keys.", func(p *api.InstancesPost) { p.Config["limits.bogus"] = "1" }},
		"BootMode":   {"boot.mode came with 6.7.", func(p *api.InstancesPost) { p.Config["boot.mode"] = "bios" }},
		"NoPool":     {"The pool does not exist.", func(p *api.InstancesPost) { p.Devices["root"]["pool"] = "nope" }},
		"NoNetwork":  {"The network does not exist.", func(p *api.InstancesPost) { p.Devices["eth0"] = map[string]string{"type": "nic", "network": "nope"} }},
		"NoVolume": {"The volume does not exist.", func(p *api.InstancesPost) {
			p.Devices["d"] = map[string]string{"type": "disk", "pool": "fast", "source": "nope"}
		}},
		"NoRoot":       {"A VM needs a disk.", func(p *api.InstancesPost) { p.Devices["root"] = map[string]string{"type": "none"} }},
		"BadCores":     {"limits.cpu is a number or a set.", func(p *api.InstancesPost) { p.Config["limits.cpu"] = "many" }},
		"BadMemory":    {"limits.memory is a size.", func(p *api.InstancesPost) { p.Config["limits.memory"] = "much" }},
		"BadMAC":       {"hwaddr is a MAC.", func(p *api.InstancesPost) { p.Devices["eth0"]["hwaddr"] = "x" }},
		"DeviceOption": {"Each device has options of its own.", func(p *api.InstancesPost) { p.Devices["x"] = map[string]string{"type": "gpu", "adress": "y"} }},
		"NoPCIAddress": {"A PCI device is found by its address.", func(p *api.InstancesPost) { p.Devices["x"] = map[string]string{"type": "pci"} }},
		"ForContainers": {"VMs have no character devices.", func(p *api.InstancesPost) {
			p.Devices["x"] = map[string]string{"type": "unix-char", "path": "/dev/tty1"}
		}},
		"UnknownDevice": {"LXD knows its devices.", func(p *api.InstancesPost) { p.Devices["x"] = map[string]string{"type": "bogus"} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			post := newVM("v")
			tc.change(&post)
			op, err := c.CreateInstance(post)
			if err != nil {
				t.Fatalf("%s The call itself failed: %v", tc.reason, err)
			}
			if err := op.Wait(); err == nil {
				t.Errorf("%s It was made", tc.reason)
			}
			if left := instanceNames(maas.sim); len(left) > 0 {
				t.Errorf("%s It left %v", tc.reason, left)
			}
		})
	}
}

// TestLXDVersions checks the differences between versions.
func TestLXDVersions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason              string
		token, password     int // statuses for a token in its own field, and as a password
		secureBoot, inAsync bool
	}{
		"5.0.4":  {"A token is sent as a password.", 403, 0, true, false},
		"5.21.3": {"A token may be in its own field or a password.", 0, 0, true, false},
		"6.5":    {"Passwords are gone.", 0, 501, true, false},
		"6.8":    {"secureboot is gone, pools are asynchronous.", 0, 501, false, true},
	}
	for version, tc := range cases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			pair := newClientPair(t)
			m := lxdModel(pair)
			m.Hosts[0].LXDVersion = version
			maas := newMAASClient(t, m)
			c := dialLXD(t, maas.sim, pair)
			wantLXD(t, "token in its field", presentToken(t, maas.sim, c, func(p *api.CertificatesPost, token string) { p.TrustToken = token }), tc.token)
			wantLXD(t, "token as password", presentToken(t, maas.sim, c, func(p *api.CertificatesPost, token string) { p.Password = token }), tc.password)
			if err := waitForLXD(c.CreateInstance(newVM("v"))); (err == nil) != tc.secureBoot {
				t.Errorf("%s A VM with security.secureboot: %v", tc.reason, err)
			}
			resp, _, err := c.RawQuery("POST", "/1.0/storage-pools", api.StoragePoolsPost{Name: "p", Driver: "dir"}, "")
			if err != nil || (resp.Type == api.AsyncResponse) != tc.inAsync {
				t.Errorf("%s A pool: %+v, %v", tc.reason, resp, err)
			}
			if c.HasExtension("explicit_trust_token") != (tc.token == 0) || c.HasExtension("storage_and_network_operations") != tc.inAsync {
				t.Errorf("%s The extensions say otherwise", tc.reason)
			}
		})
	}
}

// presentToken makes a new client use a token.
func presentToken(t *testing.T, s *sim.Sim, admin lxdclient.InstanceServer, put func(*api.CertificatesPost, string)) error {
	t.Helper()
	op, err := admin.CreateCertificateToken(api.CertificatesPost{Name: "new", Type: "client", Token: true})
	if err != nil {
		t.Fatal(err)
	}
	about := op.Get()
	token, err := about.ToCertificateAddToken()
	if err != nil {
		t.Fatal(err)
	}
	c := dialLXD(t, s, newClientPair(t))
	post := api.CertificatesPost{Name: "new", Type: "client"}
	put(&post, token.String())
	if err := c.CreateCertificate(post); err != nil {
		return err
	}
	wantLXD(t, "the same again", c.CreateCertificate(post), 400)
	other := dialLXD(t, s, newClientPair(t))
	wantLXD(t, "the token again", other.CreateCertificate(post), 403)
	return nil
}

// TestLXDListens reaches LXDs over sockets, at the addresses that MAAS knows.
func TestLXDListens(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{sim.LXDListenAuto, sim.LXDListenPorts} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			pair := newClientPair(t)
			m := lxdModel(pair)
			m.LXDListen = listen
			m.Machines = []sim.MachineModel{{Hostname: "metal1"}}
			server := sim.StartServer(t, m)
			maas := &maasClient{t: t, sim: server.Sim, key: server.APIKey(), base: server.URL, via: server.RoundTripper()}
			l := lxdNamed(t, server.Sim, "h1")
			if listen == sim.LXDListenAuto && l.Listening[0] != l.Address {
				t.Errorf("it listens at %s, and is %s", l.Listening[0], l.Address)
			}
			probe := func(l sim.LXD) error {
				_, err := lxdclient.ConnectLXD("https://"+l.Listening[0], &lxdclient.ConnectionArgs{
					TLSClientCert: pair.certificate, TLSClientKey: pair.key, TLSServerCert: l.Certificate})
				return err
			}
			if err := probe(l); err != nil {
				t.Fatal(err)
			}
			if err := server.SetLXDCondition("h1", sim.ConditionUnreachable); err != nil {
				t.Fatal(err)
			}
			if !refusesConnections(l) {
				t.Error("an LXD that is unreachable takes connections")
			}
			deployLXD(maas, "metal1", pair)
			metal := lxdNamed(t, server.Sim, "metal1")
			if err := probe(metal); err != nil {
				t.Fatal(err)
			}
			maas.mustCall("POST", "machines/"+metal.MachineID+"/?op=release")
			server.Settle()
			if !refusesConnections(metal) {
				t.Error("an LXD whose machine was released takes connections")
			}
			deployLXD(maas, "metal1", pair)
			again := lxdNamed(t, server.Sim, "metal1")
			if again.Certificate == metal.Certificate {
				t.Error("another LXD shows the old certificate")
			}
			if err := probe(again); err != nil {
				t.Error(err)
			}
			host := maas.mustCall("POST", "vm-hosts/", "type=lxd", "power_address="+again.Listening[0], "certificate="+pair.certificate, "key="+pair.key)
			if host["version"] != again.Version {
				t.Errorf("MAAS cannot reach it there: %v", host)
			}
		})
	}
}

// refusesConnections tells whether connections to the LXD are refused.
func refusesConnections(l sim.LXD) bool {
	conn, err := net.Dial("tcp", l.Listening[0])
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func lxdNamed(t *testing.T, s *sim.Sim, name string) sim.LXD {
	t.Helper()
	for _, l := range s.LXDs() {
		if l.Name == name {
			if len(l.Listening) == 0 {
				t.Fatalf("%s does not listen: %+v", name, l)
			}
			return l
		}
	}
	t.Fatalf("no LXD %s: %+v", name, s.LXDs())
	return sim.LXD{}
}

// deployLXD deploys a machine as an LXD that trusts a client.
func deployLXD(c *maasClient, hostname string, pair clientPair) {
	c.t.Helper()
	id := c.mustCall("POST", "machines/?op=allocate", "name="+hostname)["system_id"].(string)
	script := "#!/bin/sh\nlxd init --auto --network-address=[::]\nlxc config trust add - <<END\n" + pair.certificate + "END\n"
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "user_data="+base64Of([]byte(script)))
	c.sim.Settle()
	c.readMachine(id)
	c.sim.Settle()
}

// TestLXDNetworksAreApart gives two simulators separate networks. One of them asks for a
// given network, outside of those that auto takes. It gets it, and gets it again after it
// was released.
func TestLXDNetworksAreApart(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.LXDListen = sim.LXDListenAuto
	first, second := newMAASClient(t, m), newMAASClient(t, m)
	a, b := first.sim.LXDs()[0].Address, second.sim.LXDs()[0].Address
	if a == b {
		t.Errorf("both are at %s", a)
	}
	m.LXDListen = "127.76.0.0/16"
	only := newMAASClient(t, m)
	if _, err := sim.New(m); err == nil {
		t.Error("a network was given twice")
	}
	only.sim.Close()
	again, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

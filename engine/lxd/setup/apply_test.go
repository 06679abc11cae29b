package setup

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"

	client "github.com/canonical/lxd/client"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine/lxd/lxdtest"
)

// freshLXD is an LXD that nobody has set up.
type freshLXD struct {
	dial    func(t *testing.T, ctx context.Context) client.InstanceServer
	bridges []string // of its machine
	address string   // that it can listen at; empty: it has none yet
	sim     *sim.Sim // nil for a real one
}

// freshLXDs are the LXDs for the tests of Apply: a real one, if it is installed, and
// simulated ones of several versions.
func freshLXDs() map[string]func(t *testing.T) freshLXD {
	all := map[string]func(t *testing.T) freshLXD{"Real": newRealLXD}
	for _, version := range []string{"5.21.3", "6.6", "6.8"} { // from 6.6 on more and more is asynchronous
		all[version] = func(t *testing.T) freshLXD { return newSimulatedLXD(t, version) }
	}
	return all
}

func newRealLXD(t *testing.T) freshLXD {
	t.Helper()
	s := lxdtest.StartForTest(t, "br0", "br1")
	return freshLXD{bridges: []string{"br0", "br1"}, dial: func(t *testing.T, ctx context.Context) client.InstanceServer {
		t.Helper()
		conn, err := ConnectLocal(ctx, s.Socket, "")
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}}
}

// newSimulatedLXD returns a simulated LXD, and connects to it as an administrator from
// another machine.
func newSimulatedLXD(t *testing.T, version string) freshLXD {
	t.Helper()
	admin := makeKey(t)
	world, err := sim.New(sim.Model{
		Subnets: []sim.SubnetModel{{CIDR: "10.77.0.0/24"}, {CIDR: "10.78.0.0/24"}},
		Hosts:   []sim.HostModel{{Name: "node", Cores: 8, MemoryMiB: 16384, Unregistered: true, LXDVersion: version, TrustedCertificates: []string{admin.Certificate}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	node := world.LXDs()[0]
	address, _, err := net.SplitHostPort(node.Address)
	if err != nil {
		t.Fatal(err)
	}
	f := freshLXD{address: address, sim: world, dial: func(t *testing.T, ctx context.Context) client.InstanceServer {
		t.Helper()
		conn, err := client.ConnectLXDWithContext(ctx, "https://"+node.Address, &client.ConnectionArgs{
			TLSClientCert: admin.Certificate, TLSClientKey: admin.Key, TLSServerCert: node.Certificate,
			TransportWrapper: func(t *http.Transport) client.HTTPTransporter { return world.LXDTransport(t) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}}
	networks, err := f.connect(t).GetNetworks()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks {
		if n.Type == "bridge" {
			f.bridges = append(f.bridges, n.Name)
		}
	}
	return f
}

// connect connects until the test ends.
func (f freshLXD) connect(t *testing.T) client.InstanceServer {
	t.Helper()
	return f.dial(t, t.Context())
}

// runOnEachLXD runs a test on each kind of LXD.
func runOnEachLXD(t *testing.T, do func(t *testing.T, f freshLXD)) {
	t.Helper()
	for name, start := range freshLXDs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(t, start(t))
		})
	}
}

// newHost returns a host that suits every machine.
func (f freshLXD) newHost(t *testing.T, change ...func(*cloudinit.Host)) cloudinit.Host {
	t.Helper()
	h := cloudinit.Host{
		ListenAddress:       f.address,
		StoragePools:        map[string]cloudinit.StoragePool{"vms": {Driver: cloudinit.Dir}},
		Networks:            map[string]cloudinit.Network{f.bridges[0]: {}},
		TrustedCertificates: []string{makeKey(t).Certificate},
	}
	for _, c := range change {
		c(&h)
	}
	return h
}

// verdictsByObject returns the verdicts of the steps, with "done" for what was done.
func verdictsByObject(r Report) map[string]string {
	all := map[string]string{}
	for _, s := range r.Steps {
		all[s.Object] = string(s.Verdict)
		if s.Done {
			all[s.Object] = "done"
		}
	}
	return all
}

// objects returns the names of the host's parts in the order of Apply.
func (f freshLXD) objects(t *testing.T, h cloudinit.Host) []string {
	t.Helper()
	all := []string{"interface " + f.bridges[0], "storage pool vms", "project maas", "profile default of project maas"}
	for _, c := range h.TrustedCertificates {
		all = append(all, fmt.Sprintf("certificate %.12s", fingerprintOf(t, c)))
	}
	return append(all, "listening")
}

// TestApply sets up an LXD: first as a dry run, then for real, then again. At the end a
// client that LXD trusts now inspects it.
func TestApply(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		conn, h := f.connect(t), f.newHost(t)
		bridge, listening := "keep", "make"
		if f.sim != nil {
			listening = "keep"
		}
		objects := f.objects(t, h)
		want := map[string]string{objects[0]: bridge, objects[1]: "make", objects[2]: "make", objects[3]: "make", objects[4]: "make", objects[5]: listening}
		before := readState(t, conn)
		dry, err := Apply(t.Context(), conn, h, Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, verdictsByObject(dry)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(before, readState(t, conn), ignoreOrder); diff != "" {
			t.Errorf("a dry run changed something: -before +after:\n%s", diff)
		}
		done, err := Apply(t.Context(), conn, h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for object, verdict := range want {
			if verdict == "make" {
				want[object] = "done"
			}
		}
		if diff := cmp.Diff(want, verdictsByObject(done)); diff != "" || done.OpenCount() != 0 {
			t.Errorf("-want +got:\n%s", diff)
		}
		f.checkApplied(t, conn, h)
		after := readState(t, conn)
		again, err := Apply(t.Context(), conn, h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if again.ChangedCount() != 0 || again.OpenCount() != 0 {
			t.Errorf("the second run did something: %v", verdictsByObject(again))
		}
		if diff := cmp.Diff(after, readState(t, conn), ignoreOrder); diff != "" {
			t.Errorf("the second run changed something: -before +after:\n%s", diff)
		}
	})
}

// checkApplied checks what LXD has.
func (f freshLXD) checkApplied(t *testing.T, conn client.InstanceServer, h cloudinit.Host) {
	t.Helper()
	in := conn.UseProject("maas")
	profile, _, err := in.GetProfile("default")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"root": {"type": "disk", "path": "/", "pool": "vms"},
		"eth0": {"type": "nic", "name": "eth0", "nictype": "bridged", "parent": f.bridges[0]},
	}
	if diff := cmp.Diff(want, profile.Devices); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, certificate := range h.TrustedCertificates {
		trusted, _, err := conn.GetCertificate(fingerprintOf(t, certificate))
		if err != nil {
			t.Fatal(err)
		}
		if !trusted.Restricted || !slices.Equal(trusted.Projects, []string{"maas"}) || trusted.Type != "client" {
			t.Errorf("it is trusted so: %+v", trusted)
		}
	}
}

// ignoreOrder compares lists without their order: LXD returns them in any order.
var ignoreOrder = cmpopts.SortSlices(func(a, b string) bool { return a < b })

// readState reads everything that Apply may change.
func readState(t *testing.T, conn client.InstanceServer) map[string]any {
	t.Helper()
	all := map[string]any{}
	keep := func(name string, value any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all[name] = value
	}
	server, _, err := conn.GetServer()
	keep("config", server.Config, err)
	pools, err := conn.GetStoragePools()
	keep("pools", pools, err)
	networks, err := conn.GetNetworks()
	keep("networks", networks, err)
	projects, err := conn.GetProjects()
	keep("projects", projects, err)
	certificates, err := conn.GetCertificates()
	keep("certificates", certificates, err)
	for _, p := range projects {
		profiles, err := conn.UseProject(p.Name).GetProfiles()
		keep("profiles of "+p.Name, profiles, err)
	}
	return all
}

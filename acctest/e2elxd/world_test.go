package e2elxd

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// world is a MAAS with machines that really boot, and our engine.
type world struct {
	maas   *sim.Sim
	url    string
	engine *assembly.Engine
	key    fleetkey.Key
	macs   map[string]string // by hostname
	network
}

// network connects the machines of a world. Its first address is MAAS's, which
// is also the router.
type network struct {
	daemon
	number int32
	bridge string
	cidr   string
	maasIP string
}

var networkCount atomic.Int32

// newNetwork makes the network of a world.
func newNetwork(t *testing.T) network {
	t.Helper()
	d, err := startDataCentre()
	if err != nil {
		t.Fatal(err)
	}
	i := networkCount.Add(1)
	n := network{daemon: d, number: i, bridge: fmt.Sprintf("maas%d", i), cidr: fmt.Sprintf("10.99.%d.0/24", i), maasIP: fmt.Sprintf("10.99.%d.1", i)}
	for _, words := range []string{"link add " + n.bridge + " type bridge", "addr add " + n.maasIP + "/24 dev " + n.bridge, "link set " + n.bridge + " up"} {
		if err := runCommand("ip", strings.Fields(words)...); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// newWorld starts a MAAS for one test, with machines of these names.
func newWorld(t *testing.T, hostnames ...string) *world {
	t.Helper()
	n := newNetwork(t)
	w := &world{network: n, macs: map[string]string{}}
	model := sim.Model{Subnets: []sim.SubnetModel{{CIDR: n.cidr, Gateway: n.maasIP, DHCP: true}}, Images: []string{"ubuntu/noble"}}
	for i, name := range hostnames {
		w.macs[name] = fmt.Sprintf("00:16:3e:99:%02x:%02x", n.number, i+1)
		model.Machines = append(model.Machines, sim.MachineModel{
			Hostname: name, Cores: 4, MemoryMiB: 8192, DiskGB: 500, MAC: w.macs[name], FirstBoot: sim.BootReal,
			VendorData: "runcmd: [touch /run/maas-vendor-data]\n",
		})
	}
	s, err := sim.New(model)
	if err != nil {
		t.Fatal(err)
	}
	server, err := sim.ServeAt(s, n.maasIP+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	w.maas, w.url = s, server.URL
	if w.key, err = fleetkey.LoadOrCreate(inFolder("key-"+strings.Join(hostnames, "-")), time.Now()); err != nil {
		t.Fatal(err)
	}
	w.engine = newEngine(t, server.URL, s.APIKey())
	return w
}

// newEngine makes the engine as a front end does.
func newEngine(t *testing.T, url, key string) *assembly.Engine {
	t.Helper()
	rows := ledger.NewMemory(nil)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	m, err := maas.New(maas.Config{URL: url, APIKey: key, Interval: 500 * time.Millisecond, Ledger: rows, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	e, err := assembly.New(engine.Config{
		Machines: m.Machines, Composer: m.Hosts, Names: m.Names, Catalog: m.Catalog, Metal: m.Machines, Registrar: m.Hosts, Reports: m.Events, Ledger: rows, Log: log,
		Probe: lxd.NewProber(lxd.Config{Timeout: 3 * time.Second}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// hostSpec is a wanted host on a machine. It has the bridge br0 unless change
// sets another one.
func (w *world) hostSpec(hostname string, change func(*engine.HostSpec)) engine.HostSpec {
	spec := engine.HostSpec{
		Machine: engine.MachineSpec{Machine: hostname, Deploy: &engine.Deployment{Image: "ubuntu/noble"}},
		Name:    hostname, Project: "maas", Bridge: &engine.BridgeSpec{Name: "br0"},
		Credentials: engine.Credentials{Certificate: w.key.Certificate, Key: w.key.Key},
	}
	if change != nil {
		change(&spec)
	}
	return spec
}

// beginHost steps the host until its machine must boot, and boots the machine.
func (w *world) beginHost(t *testing.T, spec engine.HostSpec, before ...func(*testing.T, machine)) (func(context.Context) (engine.Result[engine.Host], error), machine) {
	t.Helper()
	hostname := spec.Machine.Machine
	step := w.engine.Hosts.Steps(engine.Ref{Key: engine.Key("e2e/" + hostname), Name: hostname}, spec)
	for range 20 {
		res, err := step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if res.Object.Machine.Status == engine.StatusDeploying {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	files, err := w.maas.InstalledFiles(hostname, w.url)
	if err != nil {
		t.Fatal(err)
	}
	return step, w.installMachine(t, hostname, w.macs[hostname], files, before...)
}

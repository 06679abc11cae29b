package assembly_test

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
	"github.com/maaslxd/maaslxd/engine/region"
)

// testMAAS is a simulated MAAS and the way to it.
type testMAAS struct {
	sim            *sim.Sim
	url            string
	apiKey         string        // of the processes that start; empty: the administrator's
	processTimeout time.Duration // of a process, until it ends by itself; zero: without end
	transport      func() http.RoundTripper
	composeWindow  time.Duration
	interval       time.Duration
	probe          engine.Probe   // of the processes that start; may be nil
	shared         *region.Region // by the engines that start; nil: each is a process of its own
}

func world() sim.Model {
	return sim.Model{
		MAASVersion: "3.7",
		Zones:       []string{"az1"},
		Images:      []string{"ubuntu/jammy", "ubuntu/noble"},
		Subnets:     []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}},
		Hosts: []sim.HostModel{
			{
				Name: "lxd1", Cores: 8, MemoryMiB: 16384, Zone: "az1", LXDVersion: "5.21.3", Subnets: []string{"lan"},
				StoragePools: []sim.StoragePoolModel{{Name: "default", Driver: "zfs", SizeGB: 100, Default: true}},
			},
			{Name: "lxd2", Cores: 8, MemoryMiB: 16384},
		},
		Latency: sim.Latency{
			Compose: 300 * time.Millisecond, Commission: 6 * time.Second,
			Deploy: 6 * time.Second, Release: time.Second,
			PowerOn: 2 * time.Second, PowerOff: time.Second,
		},
	}
}

// inMemory builds a MAAS without sockets. It belongs into a synctest bubble.
func inMemory(t *testing.T) testMAAS {
	t.Helper()
	return inMemoryOf(t, world())
}

func inMemoryOf(t *testing.T, m sim.Model) testMAAS {
	t.Helper()
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return testMAAS{
		sim: s, url: "http://maas.example/MAAS",
		transport: s.RoundTripper,
	}
}

// overHTTP builds a region behind a listener. Its times are short, for they
// are real; but a compose that was cut off may take long on a busy machine.
func overHTTP(t *testing.T, m sim.Model) testMAAS {
	t.Helper()
	m.Latency = sim.Latency{
		Compose: 10 * time.Millisecond, Commission: 30 * time.Millisecond,
		Deploy: 30 * time.Millisecond, Release: 10 * time.Millisecond,
		FirstBoot: time.Millisecond, Inventory: 5 * time.Millisecond,
	}
	s := sim.StartServer(t, m)
	return testMAAS{
		sim: s.Sim, url: s.URL,
		transport:     func() http.RoundTripper { return http.DefaultTransport },
		composeWindow: 3 * time.Second, interval: 20 * time.Millisecond,
	}
}

// process is one run of a program with the engine in it.
type process struct {
	engine  *assembly.Engine
	breaker *breaker
	ctx     context.Context
}

// start begins a run whose nth call breaks; zero breaks none.
func (r testMAAS) start(t *testing.T, rows engine.Ledger, nth int, with breakage) process {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	if r.processTimeout > 0 {
		ctx, die = context.WithTimeout(t.Context(), r.processTimeout)
	}
	t.Cleanup(die)
	b := &breaker{next: r.transport(), nth: nth, with: with, die: die}
	if l, ok := rows.(*ledger.Ledger); ok {
		t.Cleanup(func() { l.Close() })
	}
	client, err := maas.New(maas.Config{
		URL: r.url, APIKey: cmp.Or(r.apiKey, r.sim.APIKey()), Transport: b, Interval: r.interval, Ledger: rows,
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := assembly.NewIn(cmp.Or(r.shared, region.New()), engine.Config{
		Machines: client.Machines, Composer: client.Hosts, Names: client.Names, Catalog: client.Catalog, Metal: client.Machines, Registrar: client.Hosts,
		Ledger: rows, ComposeWindow: r.composeWindow, Probe: r.probe,
	})
	if err != nil {
		t.Fatal(err)
	}
	return process{engine: e, breaker: b, ctx: ctx}
}

const vmKey = engine.Key("default/web-1")

func webVMSpec() engine.VMSpec {
	return engine.VMSpec{
		Name: "web-1", Host: "lxd1", Cores: 2, MemoryMiB: 2048,
		Disks: []engine.Disk{{Name: "root", SizeGB: 8}}, Tags: []string{"web"},
		Deploy: &engine.Deployment{Image: "ubuntu/noble", UserData: []byte("#cloud-config\n")},
	}
}

// create applies the spec as a front end does.
func (p process) create(ref engine.Ref) (engine.VM, error) {
	return engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, webVMSpec()))
}

func (p process) delete(ref engine.Ref) error {
	_, err := engine.WaitUntilDone(p.ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		return p.engine.VMs.Delete(ctx, ref)
	})
	return err
}

var newVMRef = engine.Ref{Key: vmKey, Name: "web-1"}

// wantOne checks that there is one VM, deployed, of the wanted size, and marked
// as finished.
func (r testMAAS) wantOne(t *testing.T) {
	t.Helper()
	instances := r.sim.Instances()
	if len(instances) != 1 {
		t.Fatalf("want exactly one instance, got %+v", instances)
	}
	for _, m := range r.sim.Machines() {
		if m.SystemID != instances[0].MachineID {
			continue
		}
		if m.StatusName != "Deployed" || m.Hostname != "web-1" || m.Cores != 2 || m.MemoryMiB != 2048 {
			t.Errorf("want web-1 Deployed with 2 cores and 2048 MiB, got %+v", m)
		}
		if !finishedMark.MatchString(m.Description) {
			t.Errorf("the mark does not say finished: %q", m.Description)
		}
		return
	}
	t.Errorf("MAAS does not know the instance %+v", instances[0])
}

// countComposes counts the composes that reached MAAS.
func (r testMAAS) countComposes() int {
	return r.sim.Journal().Count("POST vm-hosts/{id}/ compose")
}

func (r testMAAS) wantNone(t *testing.T) {
	t.Helper()
	if instances := r.sim.Instances(); len(instances) != 0 {
		t.Errorf("want no instance left, got %+v", instances)
	}
	for _, m := range r.sim.Machines() {
		if m.Hostname == "web-1" {
			t.Errorf("want no machine left, got %+v", m)
		}
	}
}

// finishedMark is the last line of a finished VM's description.
var finishedMark = regexp.MustCompile(`(?m)^maaslxd-[0-9a-f]{12} \S+$`)

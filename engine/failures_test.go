package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// region is a simulated MAAS and the way to it.
type region struct {
	sim           *sim.Sim
	url           string
	transport     func() http.RoundTripper
	composeWindow time.Duration
	interval      time.Duration
	firstBoot     engine.FirstBoot // of the processes that start; may be nil
	probe         engine.Probe     // likewise
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

// inMemory builds a region without sockets. It belongs into a synctest bubble.
func inMemory(t *testing.T) region {
	t.Helper()
	return inMemoryOf(t, world())
}

func inMemoryOf(t *testing.T, m sim.Model) region {
	t.Helper()
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return region{
		sim: s, url: "http://maas.example/MAAS",
		transport: s.RoundTripper,
	}
}

// overHTTP builds a region behind a listener. Its times are short, for they
// are real.
func overHTTP(t *testing.T) region {
	t.Helper()
	m := world()
	m.Latency = sim.Latency{
		Compose: 10 * time.Millisecond, Commission: 30 * time.Millisecond,
		Deploy: 30 * time.Millisecond, Release: 10 * time.Millisecond,
	}
	s := sim.Start(t, m)
	return region{
		sim: s.Sim, url: s.URL,
		transport:     func() http.RoundTripper { return http.DefaultTransport },
		composeWindow: 300 * time.Millisecond, interval: 20 * time.Millisecond,
	}
}

// process is one run of a program with the engine in it.
type process struct {
	engine  *engine.Engine
	breaker *breaker
	ctx     context.Context
}

// start begins a run whose nth call breaks; zero breaks none.
func (r region) start(t *testing.T, rows engine.Ledger, nth int, with breakage) process {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	t.Cleanup(die)
	b := &breaker{next: r.transport(), nth: nth, with: with, die: die}
	if l, ok := rows.(*ledger.Ledger); ok {
		t.Cleanup(func() { l.Close() })
	}
	client, err := maas.New(maas.Config{
		URL: r.url, APIKey: r.sim.APIKey(), Transport: b, Interval: r.interval, Tag: rows.Tag,
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{
		Machines: client, Composer: client, Names: client, Catalog: client, Metal: client, Registrar: client,
		Ledger: rows, ComposeWindow: r.composeWindow, FirstBoot: r.firstBoot, Probe: r.probe,
	})
	if err != nil {
		t.Fatal(err)
	}
	return process{engine: e, breaker: b, ctx: ctx}
}

const vmKey = engine.Key("default/web-1")

func wanted() engine.VMSpec {
	return engine.VMSpec{
		Name: "web-1", Host: "lxd1", Cores: 2, MemoryMiB: 2048,
		Disks: []engine.Disk{{Name: "root", SizeGB: 8}}, Tags: []string{"web"},
		Deploy: &engine.Deployment{Image: "ubuntu/noble", UserData: []byte("#cloud-config\n")},
	}
}

// create applies the spec as a front end does.
func (p process) create(ref engine.Ref) (engine.VM, error) {
	return engine.Wait(p.ctx, p.engine.VMs.Steps(ref, wanted()))
}

func (p process) delete(ref engine.Ref) error {
	_, err := engine.Wait(p.ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		return p.engine.VMs.Delete(ctx, ref)
	})
	return err
}

var unborn = engine.Ref{Key: vmKey, Name: "web-1"}

// survivable are the breakages after which the same run must get there.
var survivable = []breakage{
	{name: "503", breaks: unavailable},
	{name: "503 after the effect", after: true, breaks: unavailable},
	{name: "reset", breaks: reset},
	{name: "lost reply", after: true, breaks: reset},
}

// hanging calls end with the client's own deadline, for which only virtual
// time has the patience.
var hanging = []breakage{
	{name: "hang", breaks: hang},
	{name: "hang after the effect", after: true, breaks: hang},
}

var deadly = []breakage{
	{name: "death", deadly: true, breaks: death},
	{name: "death amid the call", deadly: true, amid: true, breaks: death},
	{name: "death after the effect", deadly: true, after: true, breaks: death},
}

// wantOne checks that there is one VM, deployed, of the wanted size, and marked
// as finished.
func (r region) wantOne(t *testing.T) {
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

// composes counts the composes that reached MAAS.
func (r region) composes() int {
	return r.sim.Journal().Count("POST vm-hosts/{id}/ compose")
}

func (r region) wantNone(t *testing.T) {
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

// TestFailEverywhere breaks each external call of a create and of a delete,
// before and after its effect, and wants exactly one VM, composed once, or
// nothing left.
func TestFailEverywhere(t *testing.T) {
	var broken atomic.Int64
	t.Cleanup(func() { t.Logf("survived %d broken calls", broken.Load()) }) // after the parallel ones
	t.Run("InMemory", func(t *testing.T) {
		in := func(t *testing.T, f func(*testing.T, region)) {
			synctest.Test(t, func(t *testing.T) { f(t, inMemory(t)) })
		}
		failEverywhere(t, in, append(hanging, survivable...), &broken)
	})
	t.Run("HTTP", func(t *testing.T) {
		over := func(t *testing.T, f func(*testing.T, region)) {
			t.Parallel()
			f(t, overHTTP(t))
		}
		failEverywhere(t, over, survivable, &broken)
	})
}

type runner func(t *testing.T, f func(*testing.T, region))

func failEverywhere(t *testing.T, in runner, survivable []breakage, broken *atomic.Int64) {
	creating, deleting := countCalls(t)
	t.Logf("a create makes %d calls, a delete %d", creating, deleting)
	// each runs a case for every call of an operation and every breakage. Runs
	// differ a little in how reads fall together, so a few numbers more are
	// tried; a number beyond the last call breaks nothing, and is not counted.
	each := func(operation string, calls int, with []breakage, f func(*testing.T, region, int, breakage) string) {
		for _, b := range with {
			for nth := 1; nth <= calls+2; nth++ {
				t.Run(fmt.Sprintf("%s/%s/%d", operation, b.name, nth), func(t *testing.T) {
					in(t, func(t *testing.T, r region) {
						if hit := f(t, r, nth, b); hit != "" {
							broken.Add(1)
							t.Logf("broke %s", hit)
						}
					})
				})
			}
		}
	}
	each("Create", creating, survivable, func(t *testing.T, r region, nth int, with breakage) string {
		p := r.start(t, ledger.NewMemory(nil), nth, with)
		if _, err := p.create(unborn); err != nil {
			t.Errorf("create after %s of %q: %v", with.name, p.breaker.broken(), err)
		}
		r.wantOne(t)
		if n := r.composes(); n != 1 {
			t.Errorf("composed %d times after %s of %q", n, with.name, p.breaker.broken())
		}
		return p.breaker.broken()
	})
	each("CreateDiesSameLedger", creating, deadly, func(t *testing.T, r region, nth int, with breakage) string {
		return createAgain(t, r, nth, with, false)
	})
	each("CreateDiesEmptyLedger", creating, deadly, func(t *testing.T, r region, nth int, with breakage) string {
		return createAgain(t, r, nth, with, true)
	})
	each("CreateDiesThenDelete", creating, deadly, func(t *testing.T, r region, nth int, with breakage) string {
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, nth, with)
		p.create(unborn) //nolint:errcheck // it dies
		if err := r.start(t, rows, 0, breakage{}).delete(unborn); err != nil {
			t.Errorf("delete after %s of %q: %v", with.name, p.breaker.broken(), err)
		}
		r.wantNone(t)
		return p.breaker.broken()
	})
	each("Delete", deleting, survivable, func(t *testing.T, r region, nth int, with breakage) string {
		ref := r.existing(t)
		p := r.start(t, ledger.NewMemory(nil), nth, with)
		if err := p.delete(ref); err != nil {
			t.Errorf("delete after %s of %q: %v", with.name, p.breaker.broken(), err)
		}
		r.wantNone(t)
		return p.breaker.broken()
	})
	each("DeleteDies", deleting, deadly, func(t *testing.T, r region, nth int, with breakage) string {
		ref := r.existing(t)
		p := r.start(t, ledger.NewMemory(nil), nth, with)
		p.delete(ref) //nolint:errcheck // it dies
		if err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).delete(ref); err != nil {
			t.Errorf("delete after %s of %q: %v", with.name, p.breaker.broken(), err)
		}
		r.wantNone(t)
		return p.breaker.broken()
	})
}

// createAgain lets a create die and starts another one, as a user would. With
// an empty ledger one death cannot be resumed: the one after the last call,
// which leaves a finished VM that could be anyone's. It must be named.
func createAgain(t *testing.T, r region, nth int, with breakage, emptyLedger bool) string {
	rows := ledger.NewMemory(nil)
	p := r.start(t, rows, nth, with)
	first, died := p.create(unborn)
	if emptyLedger {
		rows = ledger.NewMemory(nil)
	}
	_, err := r.start(t, rows, 0, breakage{}).create(unborn)
	switch {
	case errors.Is(err, engine.ErrConflict):
		if died != nil && !r.finished() {
			t.Errorf("create after %s of %q: %v (first run: %+v)", with.name, p.breaker.broken(), err, first)
		}
	case err != nil:
		t.Errorf("create after %s of %q: %v", with.name, p.breaker.broken(), err)
	}
	r.wantOne(t)
	if n := r.composes(); !emptyLedger && n != 1 {
		t.Errorf("%d composes reached MAAS after %s of %q, although the ledger knew of the first", n, with.name, p.breaker.broken())
	}
	return p.breaker.broken()
}

// finishedMark is the last line of a finished VM's description.
var finishedMark = regexp.MustCompile(`(?m)^maaslxd-[0-9a-f]{12} \S+$`)

// finished reports whether the machine's description says so.
func (r region) finished() bool {
	for _, m := range r.sim.Machines() {
		if m.Hostname == "web-1" {
			return finishedMark.MatchString(m.Description)
		}
	}
	return false
}

// existing makes the VM and returns what a front end knows of it.
func (r region) existing(t *testing.T) engine.Ref {
	t.Helper()
	vm, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).create(unborn)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}
}

// countCalls runs a create and a delete that nothing breaks.
var countCalls = func() func(t *testing.T) (creating, deleting int) {
	var once sync.Once
	var c, d int
	return func(t *testing.T) (int, int) {
		once.Do(func() {
			synctest.Test(t, func(t *testing.T) {
				r := inMemory(t)
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				vm, err := p.create(unborn)
				if err != nil {
					t.Fatal(err)
				}
				r.wantOne(t)
				q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				if err := q.delete(engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID}); err != nil {
					t.Fatal(err)
				}
				r.wantNone(t)
				c, d = p.breaker.calls, q.breaker.calls
			})
		})
		return c, d
	}
}()

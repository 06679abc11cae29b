package lxd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// newHugePagesSpec returns a VM of 2048 MiB that is not deployed, on any host.
func newHugePagesSpec(name string) engine.VMSpec {
	want := newTwoCoreSpec(name)
	want.Host, want.HugePages, want.Placement.Strategy = "", true, placement.Pack
	return want
}

// TestHugePagesOfTwo: two programs with one ledger create a VM each at the same time. Each
// host has huge pages for one VM, and everything else for both.
func TestHugePagesOfTwo(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		hosts   int
		named   string
		want    []string // hosts of the VMs that are made
		lacking int      // creates that fail
	}{
		"Elsewhere": {"The second one goes to the other host.", 2, "", []string{"h1", "h2"}, 0},
		"Nowhere":   {"There is no other host.", 1, "", []string{"h1"}, 1},
		"Named":     {"The user has chosen the host.", 2, "h1", []string{"h1"}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newWorld(t, tc.hosts, withHugePages(3072)), ledger.NewMemory(nil)
			w.sim.AddFault(sim.Fault{Method: "POST", Path: "lxd/*/1.0/instances", Kind: sim.FaultDelay, Delay: 300 * time.Millisecond})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var outcomes [2]error
			var both errgroup.Group
			for n, vm := range []string{"web1", "web2"} {
				want, e := newHugePagesSpec(vm), w.newEngineWith(t, book)
				want.Host = tc.named
				both.Go(func() error {
					_, outcomes[n] = engine.WaitUntilDone(ctx, e.VMs.Steps(engine.Ref{Key: engine.Key("test/" + vm), Name: vm}, want))
					return nil
				})
			}
			both.Wait() //nolint:errcheck // the errors are in outcomes
			lacking := 0
			for _, err := range outcomes {
				if err == nil {
					continue
				}
				lacking++
				if typed, ok := errors.AsType[*engine.Error](err); !ok || typed.Type != engine.InsufficientResources || !strings.Contains(err.Error(), "huge pages") {
					t.Errorf("%s\ngot %v, want a lack of huge pages", tc.reason, err)
				}
			}
			var got []string
			for _, i := range w.sim.Instances() {
				got = append(got, i.Host)
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) || lacking != tc.lacking {
				t.Errorf("%s\nVMs on %v, want %v; %v", tc.reason, got, tc.want, outcomes)
			}
		})
	}
}

// TestHugePagesOfGrowth: a VM grows while another one is made, and the huge pages suffice
// for one of them.
func TestHugePagesOfGrowth(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 1, withHugePages(5120)), ledger.NewMemory(nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	step := func(ref engine.Ref, want engine.VMSpec) (engine.VM, error) {
		want.Host = "h1"
		return engine.WaitUntilDone(ctx, w.newEngineWith(t, book).VMs.Steps(ref, want))
	}
	first := engine.Ref{Key: "test/web1", Name: "web1"}
	made, err := step(first, newHugePagesSpec("web1"))
	if err != nil {
		t.Fatal(err)
	}
	first.SystemID, first.Finished = made.SystemID, true
	w.sim.AddFault(sim.Fault{Method: "*", Path: "lxd/h1/1.0/instances**", Kind: sim.FaultDelay, Delay: 300 * time.Millisecond})
	var outcomes [2]error
	var both errgroup.Group
	both.Go(func() error {
		larger := newHugePagesSpec("web1")
		larger.MemoryMiB = 4096
		_, outcomes[0] = step(first, larger)
		return nil
	})
	both.Go(func() error {
		_, outcomes[1] = step(engine.Ref{Key: "test/web2", Name: "web2"}, newHugePagesSpec("web2"))
		return nil
	})
	both.Wait() //nolint:errcheck // the errors are in outcomes
	if (outcomes[0] == nil) == (outcomes[1] == nil) {
		t.Errorf("Want one of them refused.\ngot %v", outcomes)
	}
	if got := w.readHugePages(t); got.Used > got.Total {
		t.Errorf("huge pages are over-committed: %+v", got)
	}
}

// TestHugePagesOfStoppedVM: a stopped VM holds no huge pages, but needs them when it
// starts. So they count as promised.
func TestHugePagesOfStoppedVM(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, withHugePages(8192))
	for n, tc := range []struct {
		reason string
		name   string
		pages  bool
		used   int64
	}{
		{"It is off.", "web1", true, 2048},
		{"It takes none.", "web2", false, 2048},
		{"Two of them.", "web3", true, 4096},
	} {
		comp := newComposition(tc.name)
		comp.HugePages = tc.pages
		w.composeVM(w.composer, comp)
		if got := w.readHugePages(t); got != (engine.Amount{Total: 8192, Used: tc.used}) {
			t.Errorf("%d: %s\n%+v MiB of huge pages, want %d used", n, tc.reason, got, tc.used)
		}
	}
	for _, i := range w.sim.Instances() {
		if err := w.sim.SetInstanceRunning(i.Host, i.Project, i.Name, true); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.readHugePages(t); got.Used != 4096 {
		t.Errorf("%d MiB of huge pages used by VMs that run, want 4096: each counts once", got.Used)
	}
}

// readHugePages returns the huge pages of the first host, as a new process sees them.
func (w *composeWorld) readHugePages(t *testing.T) engine.Amount {
	t.Helper()
	hosts, err := w.newComposer().Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return hosts[0].HugePagesMiB
}

func withHugePages(mib int64) func(*sim.Model) {
	return func(m *sim.Model) {
		for n := range m.Hosts {
			m.Hosts[n].HugePagesMiB = mib
		}
	}
}

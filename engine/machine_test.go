package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// metalWorld is a MAAS with bare metal, and an LXD with room, which allocate
// must not fill.
func metalWorld() sim.Model {
	m := world()
	m.Zones, m.Pools = []string{"az1", "az2"}, []string{"metal"}
	m.Tags = []string{"gpu", "nvme"}
	m.Machines = []sim.MachineModel{
		{Hostname: "small", Cores: 4, MemoryMiB: 8192, DiskGB: 100},
		{Hostname: "tagged", Cores: 8, MemoryMiB: 16384, DiskGB: 100, Zone: "az1", Tags: []string{"gpu", "nvme"}},
		{Hostname: "half", Cores: 8, MemoryMiB: 32768, DiskGB: 100, Zone: "az1", Tags: []string{"gpu"}},
		{Hostname: "pooled", Cores: 16, MemoryMiB: 65536, DiskGB: 2000, Zone: "az2", Pool: "metal"},
		{Hostname: "fresh", Status: "New", Cores: 2, MemoryMiB: 2048, DiskGB: 10},
		{Hostname: "busy", Status: "Deployed", Cores: 2, MemoryMiB: 2048, DiskGB: 10},
		{Hostname: "broken", Status: "Broken", Cores: 2, MemoryMiB: 2048, DiskGB: 10},
	}
	return m
}

const metalKey = engine.Key("default/db-1")

var unallocated = engine.Ref{Key: metalKey}

// noble is a deployment that the worlds have the image for.
func noble() *engine.Deployment { return &engine.Deployment{Image: "ubuntu/noble"} }

// inMetal runs a test in virtual time, with a process that nothing breaks.
func inMetal(t *testing.T, f func(t *testing.T, r region, p process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, metalWorld())
		f(t, r, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
	})
}

func (p process) machine(ref engine.Ref, want engine.MachineSpec) (engine.BareMetal, error) {
	return engine.Wait(p.ctx, p.engine.Machines.Steps(ref, want))
}

func (p process) release(ref engine.Ref) error {
	_, err := engine.Wait(p.ctx, func(ctx context.Context) (engine.Result[engine.BareMetal], error) {
		return p.engine.Machines.Delete(ctx, ref)
	})
	return err
}

// writes are the routes of the calls that change anything, in their order.
func (r region) writes() (routes []string) {
	for _, c := range r.sim.Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") {
			routes = append(routes, c.Route)
		}
	}
	return routes
}

// acquired names the machines that somebody has acquired in this test, sorted.
func (r region) acquired() (names []string) {
	for _, m := range r.sim.Machines() {
		if m.Owner != "" && m.Hostname != "busy" && m.HostedHosts == "" {
			names = append(names, m.Hostname)
		}
	}
	slices.Sort(names)
	return names
}

// edit changes a machine as an operator would.
func (r region) edit(t *testing.T, hostname string, e sim.MachineEdit) {
	t.Helper()
	if err := r.sim.EditMachine(r.machine(t, hostname).SystemID, e); err != nil {
		t.Fatal(err)
	}
}

// wantReady checks that a machine is back where it came from.
func (r region) wantReady(t *testing.T, hostname string) {
	t.Helper()
	m := r.machine(t, hostname)
	if m.StatusName != "Ready" || m.Owner != "" || len(m.OwnerData) != 0 {
		t.Errorf("want %s Ready and un-owned, got %s of %q with %v", hostname, m.StatusName, m.Owner, m.OwnerData)
	}
}

// wantNoDeletes checks that no record was deleted, and nothing released by
// force.
func (r region) wantNoDeletes(t *testing.T) {
	t.Helper()
	for _, c := range r.sim.Journal().Calls {
		if strings.HasPrefix(c.Route, "DELETE machines/") || len(c.Form["force"])+len(c.Query["force"]) > 0 && strings.HasSuffix(c.Route, " release") {
			t.Errorf("%s was sent with %v", c.Route, c.Form)
		}
	}
}

func TestMachineSelect(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      engine.Selector
		want   string
	}{
		"Any":          {"The smallest that is Ready: large ones stay for those who need them.", engine.Selector{}, "small"},
		"Zone":         {"In the zone.", engine.Selector{Zone: "az2"}, "pooled"},
		"Pool":         {"In the pool.", engine.Selector{Pool: "metal"}, "pooled"},
		"Tag":          {"The smaller of two that have it.", engine.Selector{Tags: []string{"gpu"}}, "tagged"},
		"AllTags":      {"All tags are wanted, not any.", engine.Selector{Tags: []string{"nvme", "gpu"}}, "tagged"},
		"Architecture": {"Short.", engine.Selector{Architecture: "amd64"}, "small"},
		"Subarch":      {"In full.", engine.Selector{Architecture: "amd64/generic", MinCores: 5}, "tagged"},
		"Cores":        {"At least.", engine.Selector{MinCores: 9}, "pooled"},
		"Memory":       {"At least.", engine.Selector{MinMemoryMiB: 16385}, "half"},
		"Disk":         {"The largest disk counts.", engine.Selector{MinDiskGB: 1000}, "pooled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r region, p process) {
				got, err := p.machine(unallocated, engine.MachineSpec{Select: tc.s, Deploy: noble()})
				if err != nil || got.Hostname != tc.want || got.StatusName != "Deployed" || !got.Ours || !got.Finished {
					t.Errorf("%s\nwant %s Deployed, ours and finished, got %+v, %v", tc.reason, tc.want, got, err)
				}
				if diff := cmp.Diff([]string{tc.want}, r.acquired()); diff != "" {
					t.Errorf("acquired (-want +got):\n%s", diff)
				}
				for _, c := range r.sim.Journal().Calls {
					if strings.HasSuffix(c.Route, " allocate") && (len(c.Form["system_id"]) != 1 || len(c.Form["agent_name"]) != 1) {
						t.Errorf("allocate was left to MAAS: %v", c.Form)
					}
				}
				if n := len(r.sim.Instances()); n != 0 {
					t.Errorf("%d VMs were made", n)
				}
			})
		})
	}
}

// TestMachineSelectNone wants an error that says what was looked for, and
// nothing taken.
func TestMachineSelectNone(t *testing.T) {
	cases := map[string]struct {
		reason string
		s      engine.Selector
		field  string // of the SpecError; empty: there is none that fits
	}{
		"TooLarge":    {"Nothing is that large, and VMs are not made for it.", engine.Selector{MinCores: 64}, ""},
		"NoTag":       {"A tag that MAAS does not know matches nothing.", engine.Selector{Tags: []string{"nosuch"}}, ""},
		"OtherArch":   {"No such architecture.", engine.Selector{Architecture: "arm64"}, ""},
		"UnknownZone": {"A slip of the pen.", engine.Selector{Zone: "az9"}, "selector.zone"},
		"UnknownPool": {"A slip of the pen.", engine.Selector{Pool: "nosuch"}, "selector.pool"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r region, p process) {
				began := time.Now()
				_, err := p.machine(unallocated, engine.MachineSpec{Select: tc.s, Deploy: noble()})
				var bad *engine.SpecError
				var failure *engine.Error
				switch {
				case tc.field != "" && (!errors.As(err, &bad) || bad.Field != tc.field || bad.Hint == ""):
					t.Errorf("%s\nwant an error about %s with a hint, got %v", tc.reason, tc.field, err)
				case tc.field == "" && (!errors.As(err, &failure) || failure.Type != engine.InsufficientResources || failure.Hint == ""):
					t.Errorf("%s\nwant InsufficientResources with a hint, got %v", tc.reason, err)
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it took %s to say so", took)
				}
				if len(r.acquired()) != 0 || len(r.sim.Instances()) != 0 {
					t.Errorf("taken: %v, VMs %v", r.acquired(), r.sim.Instances())
				}
			})
		})
	}
}

func TestMachineNeverAVMNorLocked(t *testing.T) {
	inMetal(t, func(t *testing.T, r region, p process) {
		vm := engine.VMSpec{Name: "tiny", Host: "lxd1", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}}
		if _, err := engine.Wait(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/tiny", Name: "tiny"}, vm)); err != nil {
			t.Fatal(err)
		}
		r.edit(t, "small", sim.MachineEdit{Locked: ptr(true)})
		got, err := p.machine(unallocated, engine.MachineSpec{})
		if err != nil || got.Hostname != "tagged" || got.StatusName != "Allocated" {
			t.Errorf("want tagged Allocated, as small is locked and tiny a VM, got %s %s, %v", got.Hostname, got.StatusName, err)
		}
	})
}

func TestMachineNamed(t *testing.T) {
	for name, how := range map[string]func(sim.Machine) string{
		"Hostname": func(m sim.Machine) string { return m.Hostname },
		"FQDN":     func(m sim.Machine) string { return m.Hostname + "." + m.Domain },
		"SystemID": func(m sim.Machine) string { return m.SystemID },
	} {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r region, p process) {
				got, err := p.machine(unallocated, engine.MachineSpec{Machine: how(r.machine(t, "pooled")), Deploy: noble()})
				if err != nil || got.Hostname != "pooled" || got.StatusName != "Deployed" {
					t.Errorf("got %s %s, %v", got.Hostname, got.StatusName, err)
				}
			})
		})
	}
}

// TestMachineNamedRefused wants one clear error about the machine, with a way
// out, and nothing touched.
func TestMachineNamedRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   engine.MachineSpec
		words  []string
	}{
		"Unknown":       {"There is none.", engine.MachineSpec{Machine: "nosuch"}, []string{`"nosuch"`}},
		"New":           {"It was never commissioned.", engine.MachineSpec{Machine: "fresh"}, []string{"New"}},
		"Owned":         {"It is someone else's.", engine.MachineSpec{Machine: "busy"}, []string{"Deployed", "admin"}},
		"Broken":        {"It is broken.", engine.MachineSpec{Machine: "broken"}, []string{"Broken"}},
		"AdoptReady":    {"Only what is Deployed can be adopted.", engine.MachineSpec{Machine: "small", Adopt: true}, []string{"Ready"}},
		"AdoptUnknown":  {"There is none.", engine.MachineSpec{Machine: "nosuch", Adopt: true}, []string{`"nosuch"`}},
		"AdoptSelected": {"Nothing is adopted by chance.", engine.MachineSpec{Adopt: true}, []string{"named"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r region, p process) {
				before := r.sim.Machines()
				_, err := p.machine(unallocated, tc.spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field != "machine" || bad.Hint == "" {
					t.Fatalf("%s\nwant an error about machine with a hint, got %v", tc.reason, err)
				}
				for _, word := range tc.words {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s\n%q does not say %s", tc.reason, err, word)
					}
				}
				if diff := cmp.Diff(before, r.sim.Machines()); diff != "" || len(r.writes()) != 0 {
					t.Errorf("%s\n%v changed (-before +after):\n%s", tc.reason, r.writes(), diff)
				}
			})
		})
	}
}

// TestMachineBadImage wants no machine taken for what cannot be installed.
func TestMachineBadImage(t *testing.T) {
	inMetal(t, func(t *testing.T, r region, p process) {
		_, err := p.machine(unallocated, engine.MachineSpec{Deploy: &engine.Deployment{Image: "ubuntu/nosuch"}})
		var bad *engine.SpecError
		if !errors.As(err, &bad) || bad.Field != "deploy.image" {
			t.Errorf("want an error about the image, got %v", err)
		}
		if len(r.acquired()) != 0 {
			t.Errorf("%v was taken for it", r.acquired())
		}
	})
}

func TestMachineAdopt(t *testing.T) {
	inMetal(t, func(t *testing.T, r region, p process) {
		before := r.machine(t, "busy")
		spec := engine.MachineSpec{Machine: "busy", Adopt: true}
		got, err := p.machine(unallocated, spec)
		if err != nil || !got.Ours || !got.Finished {
			t.Fatalf("got %+v, %v", got, err)
		}
		q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		_, err = q.machine(engine.Ref{Key: "other/db"}, spec)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), string(metalKey)) {
			t.Errorf("another key must not adopt it: %v", err)
		}
		if _, err := q.machine(unallocated, spec); !errors.Is(err, engine.ErrConflict) {
			t.Errorf("another state of this key must import it: %v", err)
		}
		if err := q.release(engine.Ref{Key: metalKey, SystemID: before.SystemID, Finished: true}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, r.machine(t, "busy"), cmp.FilterValues(func(a, b map[string]string) bool { return len(a)+len(b) == 0 }, cmp.Ignore())); diff != "" {
			t.Errorf("adopting and letting go changed the machine (-before +after):\n%s", diff)
		}
		if err := q.release(engine.Ref{Key: metalKey, SystemID: before.SystemID, Finished: true}); err != nil {
			t.Errorf("a second delete: %v", err)
		}
	})
}

// TestMachineAdoptWhileDeploying waits for what someone else installs.
func TestMachineAdoptWhileDeploying(t *testing.T) {
	inMetal(t, func(t *testing.T, r region, p process) {
		operator, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.UserAPIKey(), Transport: r.sim.RoundTripper()})
		if err != nil {
			t.Fatal(err)
		}
		if err := operator.Deploy(t.Context(), r.machine(t, "small").SystemID, *noble()); err != nil {
			t.Fatal(err)
		}
		got, err := p.machine(unallocated, engine.MachineSpec{Machine: "small", Adopt: true})
		if err != nil || got.StatusName != "Deployed" || !got.Finished {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestMachineAdoptionCutOff lets the process die after each call of an
// adoption. The machine is someone else's: it is never released.
func TestMachineAdoptionCutOff(t *testing.T) {
	spec := engine.MachineSpec{Machine: "busy", Adopt: true}
	for nth := 1; nth <= 6; nth++ {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := inMemoryOf(t, metalWorld())
				id := r.machine(t, "busy").SystemID
				r.start(t, ledger.NewMemory(nil), nth, deadly[2]).machine(unallocated, spec) //nolint:errcheck // it dies
				if err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).release(engine.Ref{Key: metalKey, SystemID: id}); err != nil {
					t.Error(err)
				}
				if m := r.machine(t, "busy"); m.StatusName != "Deployed" || len(m.OwnerData) != 0 {
					t.Errorf("it is %s with %v", m.StatusName, m.OwnerData)
				}
			})
		})
	}
}

// TestMachineFinishedElsewhere: another state that wants a machine of the same
// key is told to import the one that is there.
func TestMachineFinishedElsewhere(t *testing.T) {
	for name, spec := range map[string]engine.MachineSpec{
		"Selected": {Deploy: noble()}, "Named": {Machine: "small", Deploy: noble()}, "Allocated": {},
	} {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r region, p process) {
				m, err := p.machine(unallocated, spec)
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.start(t, ledger.NewMemory(nil), 0, breakage{}).machine(unallocated, spec)
				var bad *engine.SpecError
				if !errors.Is(err, engine.ErrConflict) || !errors.As(err, &bad) || !strings.Contains(bad.Hint, "import it by its system id "+m.SystemID) {
					t.Errorf("want a conflict with an import hint, got %v", err)
				}
				if diff := cmp.Diff([]string{m.Hostname}, r.acquired()); diff != "" {
					t.Errorf("acquired (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestMachineTwoProcesses lets two processes want a machine for one key at the
// same moment, each delayed a little differently.
func TestMachineTwoProcesses(t *testing.T) {
	for delay := range 12 {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := metalWorld()
				m.Machines = nil
				for i := range 6 {
					m.Machines = append(m.Machines, sim.MachineModel{Hostname: fmt.Sprintf("m%d", i), Cores: 4, MemoryMiB: 8192, DiskGB: 100})
				}
				m.Latency.Call = 100 * time.Millisecond
				r := inMemoryOf(t, m)
				var wg sync.WaitGroup
				specs := []engine.MachineSpec{{Machine: "m3", Deploy: noble()}, {Machine: "m1", Deploy: noble()}}
				errs := make([]error, len(specs))
				for i, spec := range specs {
					p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
					wg.Go(func() {
						time.Sleep(time.Duration(i*delay) * 50 * time.Millisecond)
						_, errs[i] = p.machine(unallocated, spec)
					})
				}
				wg.Wait()
				time.Sleep(time.Minute)
				if got := r.acquired(); len(got) != 1 || errs[0] != nil && errs[1] != nil {
					t.Errorf("want one machine of m1 and m3, got %v, %v", got, errs)
				}
				for _, err := range errs {
					if err != nil && !errors.Is(err, engine.ErrConflict) {
						t.Errorf("want a conflict for the slower one, got %v", err)
					}
				}
			})
		})
	}
}

// TestMachineTwoKeys: as many keys as machines, all at once.
func TestMachineTwoKeys(t *testing.T) {
	inMetal(t, func(t *testing.T, r region, p process) {
		names := make([]string, 4)
		var wg sync.WaitGroup
		for i := range names {
			q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
			wg.Go(func() {
				got, err := q.machine(engine.Ref{Key: engine.Key(fmt.Sprint("default/db-", i))}, engine.MachineSpec{Deploy: noble()})
				if err != nil {
					t.Error(err)
				}
				names[i] = got.Hostname
			})
		}
		wg.Wait()
		slices.Sort(names)
		if diff := cmp.Diff([]string{"half", "pooled", "small", "tagged"}, names); diff != "" {
			t.Errorf("machines (-want +got):\n%s", diff)
		}
	})
}

// TestMachineSurplus: a process died between allocating a second machine and
// giving it back.
func TestMachineSurplus(t *testing.T) {
	two := func(t *testing.T, r region, p process) engine.BareMetal {
		t.Helper()
		m, err := p.machine(unallocated, engine.MachineSpec{Machine: "pooled"})
		if err != nil {
			t.Fatal(err)
		}
		other, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.APIKey(), Transport: r.sim.RoundTripper()})
		if err != nil {
			t.Fatal(err)
		}
		listed := r.agentOf(t, p)
		if err := other.Allocate(t.Context(), r.machine(t, "small").SystemID, listed); err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Run("Create", func(t *testing.T) {
		inMetal(t, func(t *testing.T, r region, p process) {
			two(t, r, p)
			r.edit(t, "pooled", sim.MachineEdit{OwnerData: &map[string]string{}})
			got, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).machine(unallocated, engine.MachineSpec{Deploy: noble()})
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if diff := cmp.Diff([]string{got.Hostname}, r.acquired()); diff != "" {
				t.Errorf("acquired (-want +got):\n%s", diff)
			}
		})
	})
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprint("Delete", known), func(t *testing.T) {
			inMetal(t, func(t *testing.T, r region, p process) {
				ref := unallocated
				if m := two(t, r, p); known {
					ref.SystemID = m.SystemID
				}
				if err := p.release(ref); err != nil {
					t.Error(err)
				}
				r.wantReady(t, "pooled")
				r.wantReady(t, "small")
			})
		})
	}
}

// agentOf is the word that Allocate leaves for metalKey.
func (r region) agentOf(t *testing.T, _ process) string {
	t.Helper()
	for _, c := range r.sim.Journal().Calls {
		if strings.HasSuffix(c.Route, " allocate") {
			return c.Form["agent_name"][0]
		}
	}
	t.Fatal("nothing was allocated")
	return ""
}

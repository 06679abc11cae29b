package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

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

var newMachineRef = engine.Ref{Key: metalKey}

// noble is a deployment that the worlds have the image for.
func noble() *engine.Deployment { return &engine.Deployment{Image: "ubuntu/noble"} }

// inMetal runs a test in virtual time, with a process that nothing breaks.
func inMetal(t *testing.T, f func(t *testing.T, r testMAAS, p process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := inMemoryOf(t, metalWorld())
		f(t, r, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
	})
}

func (p process) applyMachine(ref engine.Ref, want engine.MachineSpec) (engine.BareMetal, error) {
	return engine.WaitUntilDone(p.ctx, p.engine.Machines.Steps(ref, want))
}

func (p process) release(ref engine.Ref) error {
	_, err := engine.WaitUntilDone(p.ctx, func(ctx context.Context) (engine.Result[engine.BareMetal], error) {
		return p.engine.Machines.Delete(ctx, ref)
	})
	return err
}

// writes are the routes of the calls that change anything, in their order.
func (r testMAAS) writes() (routes []string) {
	for _, c := range r.sim.Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") {
			routes = append(routes, c.Route)
		}
	}
	return routes
}

// acquired names the machines that somebody has acquired in this test, sorted.
func (r testMAAS) acquired() (names []string) {
	for _, m := range r.sim.Machines() {
		if m.Owner != "" && m.Hostname != "busy" && m.HostedHosts == "" {
			names = append(names, m.Hostname)
		}
	}
	slices.Sort(names)
	return names
}

// edit changes a machine as an operator would.
func (r testMAAS) edit(t *testing.T, hostname string, e sim.MachineEdit) {
	t.Helper()
	if err := r.sim.EditMachine(r.machine(t, hostname).SystemID, e); err != nil {
		t.Fatal(err)
	}
}

// wantReady checks that a machine is back where it came from.
func (r testMAAS) wantReady(t *testing.T, hostname string) {
	t.Helper()
	m := r.machine(t, hostname)
	if m.StatusName != "Ready" || m.Owner != "" || len(m.OwnerData) != 0 {
		t.Errorf("want %s Ready and un-owned, got %s of %q with %v", hostname, m.StatusName, m.Owner, m.OwnerData)
	}
}

// wantNoDeletes checks that no record was deleted, and nothing released by
// force.
func (r testMAAS) wantNoDeletes(t *testing.T) {
	t.Helper()
	for _, c := range r.sim.Journal().Calls {
		if strings.HasPrefix(c.Route, "DELETE machines/") || len(c.Form["force"])+len(c.Query["force"]) > 0 && strings.HasSuffix(c.Route, " release") {
			t.Errorf("%s was sent with %v", c.Route, c.Form)
		}
	}
}

func TestMachineNamed(t *testing.T) {
	for name, how := range map[string]func(sim.Machine) string{
		"Hostname": func(m sim.Machine) string { return m.Hostname },
		"FQDN":     func(m sim.Machine) string { return m.Hostname + "." + m.Domain },
		"SystemID": func(m sim.Machine) string { return m.SystemID },
	} {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				got, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: how(r.machine(t, "pooled")), Deploy: noble()})
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
		"Unknown":       {"MAAS has no machine of this name.", engine.MachineSpec{Machine: "nosuch"}, []string{`"nosuch"`}},
		"New":           {"It was never commissioned.", engine.MachineSpec{Machine: "fresh"}, []string{"New"}},
		"Owned":         {"It is someone else's.", engine.MachineSpec{Machine: "busy"}, []string{"Deployed", "admin"}},
		"OfThisProgram": {"A release would destroy what it was made for.", engine.MachineSpec{Machine: "tagged"}, []string{`made for "other/vm-hosts/kvm-1"`, "Choose another machine."}},
		"Broken":        {"It is broken.", engine.MachineSpec{Machine: "broken"}, []string{"Broken"}},
		"AdoptReady":    {"Only what is Deployed can be adopted.", engine.MachineSpec{Machine: "small", Adopt: true}, []string{"Ready"}},
		"AdoptUnknown":  {"MAAS has no machine of this name.", engine.MachineSpec{Machine: "nosuch", Adopt: true}, []string{`"nosuch"`}},
		"AdoptSelected": {"Nothing is adopted by chance.", engine.MachineSpec{Adopt: true}, []string{"named"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				if tc.spec.Machine == "tagged" {
					if _, err := p.applyMachine(engine.Ref{Key: "other/vm-hosts/kvm-1"}, engine.MachineSpec{Machine: "tagged", Deploy: noble()}); err != nil {
						t.Fatal(err)
					}
				}
				before, written := r.sim.Machines(), len(r.writes())
				_, err := p.applyMachine(newMachineRef, tc.spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != "machine" || bad.Hint == "" {
					t.Fatalf("%s\nwant an error about machine with a hint, got %v", tc.reason, err)
				}
				for _, word := range tc.words {
					if !strings.Contains(errorWithHint(err), word) {
						t.Errorf("%s\n%q does not say %s", tc.reason, err, word)
					}
				}
				if diff := cmp.Diff(before, r.sim.Machines()); diff != "" || len(r.writes()) != written {
					t.Errorf("%s\n%v changed (-before +after):\n%s", tc.reason, r.writes(), diff)
				}
			})
		})
	}
}

// TestMachineBadImage wants no machine taken for what cannot be installed.
func TestMachineBadImage(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		_, err := p.applyMachine(newMachineRef, engine.MachineSpec{Deploy: &engine.Deployment{Image: "ubuntu/nosuch"}})
		var bad *engine.SpecError
		if !errors.As(err, &bad) || bad.Field.String() != "deploy.image" {
			t.Errorf("want an error about the image, got %v", err)
		}
		if len(r.acquired()) != 0 {
			t.Errorf("%v was taken for it", r.acquired())
		}
	})
}

func TestMachineAdopt(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		before := r.machine(t, "busy")
		spec := engine.MachineSpec{Machine: "busy", Adopt: true}
		got, err := p.applyMachine(newMachineRef, spec)
		if err != nil || !got.Ours || !got.Finished {
			t.Fatalf("got %+v, %v", got, err)
		}
		q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		_, err = q.applyMachine(engine.Ref{Key: "other/db"}, spec)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), string(metalKey)) {
			t.Errorf("another key must not adopt it: %v", err)
		}
		if _, err := q.applyMachine(newMachineRef, spec); !errors.Is(err, engine.ErrConflict) {
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

// TestMachineInherit takes a machine over from whoever deployed it: it is kept
// as it is, and released once it is no longer wanted.
func TestMachineInherit(t *testing.T) {
	inMetal(t, func(t *testing.T, _ testMAAS, p process) {
		spec := engine.MachineSpec{Machine: "busy", Adopt: true, TakeOwnership: true}
		got, err := p.applyMachine(newMachineRef, spec)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Ours || !got.Finished || got.Status != engine.StatusDeployed {
			t.Errorf("ours %t, finished %t, %s; want a Deployed machine of ours", got.Ours, got.Finished, got.StatusName)
		}
		if err := p.release(engine.Ref{Key: metalKey, SystemID: got.SystemID}); err != nil {
			t.Fatal(err)
		}
		left, err := p.engine.Machines.Observe(p.ctx, engine.Ref{Key: metalKey, SystemID: got.SystemID})
		if err != nil || left.Status != engine.StatusReady || left.Owner != "" {
			t.Errorf("after its deletion: %s, owner %q, error %v; want Ready and nobody's", left.StatusName, left.Owner, err)
		}
	})
}

// TestMachineAdoptWhileDeploying waits for what someone else installs, with the same
// account of MAAS: only the owner of a machine may write its owner data.
func TestMachineAdoptWhileDeploying(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		operator, err := maas.New(maas.Config{URL: r.url, APIKey: r.sim.APIKey(), Transport: r.sim.RoundTripper()})
		if err != nil {
			t.Fatal(err)
		}
		if err := operator.Machines.Deploy(t.Context(), r.machine(t, "small").SystemID, *noble()); err != nil {
			t.Fatal(err)
		}
		got, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "small", Adopt: true})
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
				r.start(t, ledger.NewMemory(nil), nth, deadlyBreakages[2]).applyMachine(newMachineRef, spec) //nolint:errcheck // it dies
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
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				m, err := p.applyMachine(newMachineRef, spec)
				if err != nil {
					t.Fatal(err)
				}
				_, err = r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyMachine(newMachineRef, spec)
				var bad *engine.SpecError
				if !errors.Is(err, engine.ErrConflict) || !errors.As(err, &bad) || !slices.Contains(bad.Ways, engine.WayImportLost.ForMachine(m.SystemID)) {
					t.Errorf("want a conflict with an import hint, got %v", err)
				}
				if diff := cmp.Diff([]string{m.Hostname}, r.acquired()); diff != "" {
					t.Errorf("acquired (-want +got):\n%s", diff)
				}
			})
		})
	}
}

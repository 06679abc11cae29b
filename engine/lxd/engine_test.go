package lxd

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// catalogWithVMHosts is the catalog of a MAAS that can make VMs.
type catalogWithVMHosts struct{ engine.Catalog }

func (a catalogWithVMHosts) Capabilities(ctx context.Context) (engine.Capabilities, error) {
	can, err := a.Catalog.Capabilities(ctx)
	can.VMHosts = true
	return can, err
}

// newEngine returns an engine with its own empty ledger.
func (w *composeWorld) newEngine(t *testing.T) *assembly.Engine {
	t.Helper()
	return w.newEngineWith(t, ledger.NewMemory(nil))
}

// newEngineWith returns an engine with a ledger that others may share.
func (w *composeWorld) newEngineWith(t *testing.T, book engine.Ledger, change ...func(*engine.Config)) *assembly.Engine {
	t.Helper()
	client, err := maas.New(maas.Config{
		URL: "http://maas.test:5240/MAAS", APIKey: w.sim.APIKey(), Transport: w.sim.RoundTripper(), Interval: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := w.newComposer(func(c *ComposerConfig) { c.Machines, c.Enlister, c.Ledger = client.Machines, client.Enlister, book })
	config := engine.Config{
		Machines: client.Machines, Composer: c, Names: c.WrapNames(client.Names), Catalog: catalogWithVMHosts{client.Catalog}, Metal: client.Machines, Registrar: client.Hosts, Ledger: book,
	}
	for _, each := range change {
		each(&config)
	}
	e, err := assembly.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// newSpec returns the spec of a VM on any host.
func newSpec() engine.VMSpec {
	return engine.VMSpec{
		Name: "web1", Cores: 2, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}, {Name: "data", SizeGB: 5, Pool: "fast"}},
		Deploy: &engine.Deployment{Image: "ubuntu/noble"},
	}
}

var web1Ref = engine.Ref{Key: "test/web1", Name: "web1"}

// TestVMLifecycleWithoutVMHosts deploys a VM on a MAAS without VM hosts, and deletes it.
func TestVMLifecycleWithoutVMHosts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld, *engine.VMSpec)
		host   string
	}{
		"Named": {"On the host that is named.", func(_ *testing.T, _ *composeWorld, s *engine.VMSpec) {
			s.Host, s.Interfaces = "h2", []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
		}, "h2"},
		"Placed": {"On one that can be reached.", func(t *testing.T, w *composeWorld, _ *engine.VMSpec) {
			if err := w.sim.SetLXDCondition("h1", sim.ConditionUnreachable); err != nil {
				t.Fatal(err)
			}
		}, "h2"},
		"Resumed": {"Another process began it, and its ledger is lost.", func(t *testing.T, w *composeWorld, s *engine.VMSpec) {
			s.Host = "h1"
			if res, err := w.newEngine(t).VMs.Reconcile(t.Context(), web1Ref, *s); err != nil || res.Done {
				t.Fatalf("%+v, %v", res, err)
			}
		}, "h1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			want := newSpec()
			tc.before(t, w, &want)
			e, ref := w.newEngine(t), web1Ref
			vm, err := engine.WaitUntilDone(t.Context(), e.VMs.Steps(ref, want))
			if err != nil {
				t.Fatal(err)
			}
			if vm.StatusName != "Deployed" || !vm.Ours || !vm.Finished {
				t.Errorf("the VM is %+v", vm)
			}
			if diff := cmp.Diff([]string{"instance web1 on " + tc.host, "machine web1"}, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			ref.SystemID, ref.Finished = vm.SystemID, true
			if err := deleteVM(t, w.newEngine(t), ref); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// deleteVM deletes a VM, and gives up after a while.
func deleteVM(t *testing.T, e *assembly.Engine, ref engine.Ref) error {
	t.Helper()
	return deleteVMWithin(t, time.Minute, e, ref)
}

// deleteVMWithin is deleteVM with a time limit, for a delete that may never succeed.
func deleteVMWithin(t *testing.T, patience time.Duration, e *assembly.Engine, ref engine.Ref) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.VM], error) { return e.VMs.Delete(ctx, ref) })
	return err
}

// TestEngineLost distinguishes a vanished instance from an LXD that does not answer.
func TestEngineLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	want := newSpec()
	want.Deploy = nil
	ref := web1Ref
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want))
	if err != nil {
		t.Fatal(err)
	}
	ref.SystemID, ref.Finished = vm.SystemID, true
	if err := w.sim.SetLXDCondition("h1", sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	var typed *engine.Error
	if err := deleteVMWithin(t, 10*time.Second, w.newEngine(t), ref); !errors.As(err, &typed) || typed.Type != engine.HostUnavailable {
		t.Errorf("an LXD that does not answer: %v", err)
	}
	if diff := cmp.Diff([]string{"instance web1 on h1", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("both sides stay (-want +got):\n%s", diff)
	}
	if err := w.sim.SetLXDCondition("h1", sim.ConditionOK); err != nil {
		t.Fatal(err)
	}
	if err := w.sim.RemoveInstance("h1", "maas", "web1"); err != nil {
		t.Fatal(err)
	}
	if err := deleteVM(t, w.newEngine(t), ref); err != nil {
		t.Errorf("an instance that is gone: %v", err)
	}
	if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

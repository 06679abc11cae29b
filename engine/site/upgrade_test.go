package site

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// livingSite is a site that has run for a while on a MAAS with a VM host, and has
// made the VM web there.
type livingSite struct {
	*Site
	config Config
	sim    *sim.Server
	host   engine.VMHost
	ref    engine.Ref
	vm     engine.VM
}

func newLivingSite(t *testing.T) livingSite {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), "key.pem"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := sim.StartServer(t, sim.Model{MAASVersion: sim.Version37, LXDListen: sim.LXDListenAuto, Hosts: []sim.HostModel{
		{Name: "h1", Cores: 8, MemoryMiB: 16384, Project: "maas", TrustedCertificates: []string{key.Certificate}},
	}})
	l := livingSite{sim: s, ref: engine.Ref{Key: "test/web", Name: "web"}}
	l.config = Config{
		URL: s.URL, APIKey: s.APIKey(), Ledger: ledger.NewMemory(nil), Interval: 20 * time.Millisecond,
		Credentials: func(context.Context) (engine.Credentials, error) { return key.Credentials, nil },
	}
	if l.Site, err = New(l.config); err != nil {
		t.Fatal(err)
	}
	hosts, err := l.Inventory.Hosts(t.Context())
	if err != nil || len(hosts) != 1 {
		t.Fatalf("hosts: %+v, %v", hosts, err)
	}
	l.host = hosts[0]
	_, err = l.choice.lxd.registrar.Register(t.Context(), engine.Registration{ // as every host is noted
		Name: "h1", MachineID: l.host.MachineID, Endpoint: engine.Endpoint{Address: s.LXDs()[0].Listening[0], Project: "maas"},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := engine.VMSpec{Name: "web", Cores: 2, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}}
	if l.vm, err = engine.WaitUntilDone(t.Context(), l.VMs.Steps(l.ref, spec)); err != nil {
		t.Fatal(err)
	}
	l.ref.SystemID, l.ref.Finished = l.vm.SystemID, true
	return l
}

// askMaker asks who makes the VMs for one thing, as a step does.
func (s *Site) askMaker(ctx context.Context, ask func(context.Context, *maker) error) error {
	_, err := runStep(ctx, s.choice, s.choice.chooseMaker, func(ctx context.Context, w *maker) (struct{}, error) { return struct{}{}, ask(ctx, w) })
	return err
}

// upgrade removes MAAS's VM hosts. The site has chosen MAAS, and keeps nothing
// else: whatever it read is too old by now.
func (l *livingSite) upgrade(t *testing.T) {
	t.Helper()
	if err := l.sim.Upgrade(); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.Site, err = New(l.config); err != nil {
		t.Fatal(err)
	}
	l.choice.chosen = l.choice.maas
}

// TestUpgradeEndsChoice: a choice does not outlive MAAS's VM hosts, however long the
// process runs, and whatever it asks for first.
func TestUpgradeEndsChoice(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		first  func(context.Context, livingSite) error
		left   int // instances
	}{
		"Hosts": {"The list answers 410.", func(ctx context.Context, l livingSite) error {
			_, err := l.Inventory.Hosts(ctx)
			return err
		}, 1},
		"Able": {"It says what was read of MAAS.", func(ctx context.Context, l livingSite) error {
			return l.askMaker(ctx, func(ctx context.Context, w *maker) error { return w.composer.CheckCanCompose(ctx) })
		}, 1},
		"HostOf": {"MAAS shows the machine without a VM host.", func(ctx context.Context, l livingSite) error {
			m, err := l.Machines.Machine(ctx, l.ref.SystemID)
			if err != nil {
				return err
			}
			host, err := l.Inventory.HostOf(ctx, m)
			if err == nil && host.MachineID != l.host.MachineID {
				err = errors.New("it is on " + host.MachineID)
			}
			return err
		}, 1},
		"Complete": {"It would show the size that MAAS knows.", func(ctx context.Context, l livingSite) error {
			vm, err := l.VMs.Observe(ctx, l.ref)
			if err == nil && vm.HostName != "h1" {
				err = errors.New("it is on " + vm.HostName)
			}
			return err
		}, 1},
		"VMs": {"MAAS knows no VM on any host, which would look empty.", func(ctx context.Context, l livingSite) error {
			found, err := l.Inventory.VMsOn(ctx, []engine.VMHost{l.host})
			if err == nil && len(found) != 1 {
				err = errors.New("the VM is not found")
			}
			return err
		}, 1},
		"Create": {"The whole step is taken again.", func(ctx context.Context, l livingSite) error {
			_, err := engine.WaitUntilDone(ctx, l.VMs.Steps(engine.Ref{Key: "test/db", Name: "db"}, anotherVM()))
			return err
		}, 2},
		"Check": {"A plan sees the hosts that there are now.", func(ctx context.Context, l livingSite) error {
			wanted := anotherVM()
			wanted.Host = "h1"
			o := l.VMs.Check(ctx, engine.Ref{Key: "test/db", Name: "db"}, wanted)
			return errors.Join(slices.Concat(o.Permanent, o.Temporary, o.Unchecked)...)
		}, 1},
		"Delete": {"Its machine is on no VM host any more, and it is our VM.", func(ctx context.Context, l livingSite) error {
			_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.VM], error) { return l.VMs.Delete(ctx, l.ref) })
			return err
		}, 0},
		"Decompose": {"The upgrade came after all checks; MAAS would leave the instance.", func(ctx context.Context, l livingSite) error {
			if err := l.Machines.PowerOff(ctx, l.ref.SystemID); err != nil {
				return err
			}
			return l.askMaker(ctx, func(ctx context.Context, w *maker) error { return w.composer.Decompose(ctx, l.ref.SystemID) })
		}, 0},
		"Endpoint": {"So does the registrar follow.", func(ctx context.Context, l livingSite) error {
			e, err := l.Inventory.Endpoint(ctx, l.host)
			if err == nil && e.Project != "maas" {
				err = errors.New("it is in the project " + e.Project)
			}
			return err
		}, 1},
		"Tag": {"And where it changes something.", func(ctx context.Context, l livingSite) error {
			return l.askMaker(ctx, func(ctx context.Context, w *maker) error { return w.registrar.TagHost(ctx, l.host, "blue") })
		}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLivingSite(t)
			l.upgrade(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := tc.first(ctx, l); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if got, err := l.ChosenComposer(ctx); got != LXD || err != nil {
				t.Errorf("after the upgrade VMs are made by %q, %v; want %q", got, err, LXD)
			}
			if n := len(l.sim.Instances()); n != tc.left {
				t.Errorf("%d instances are left, want %d", n, tc.left)
			}
		})
	}
}

func anotherVM() engine.VMSpec {
	return engine.VMSpec{Name: "db", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 4}}}
}

// TestStrayGone: a 410 that is not about VM hosts turns nothing: VMs made in LXD beside
// VM hosts of MAAS would be adopted and power-cycled.
func TestStrayGone(t *testing.T) {
	t.Parallel()
	l := newLivingSite(t)
	takes := 0
	_, err := runStep(t.Context(), l.choice, l.choice.chooseMaker, func(context.Context, *maker) (struct{}, error) {
		takes++
		return struct{}{}, engine.ErrGone
	})
	if takes != 1 || !errors.Is(err, engine.ErrGone) {
		t.Errorf("the step was taken %d times, %v", takes, err)
	}
	if got, err := l.ChosenComposer(t.Context()); got != MAAS || err != nil {
		t.Errorf("chosen is %q, %v", got, err)
	}
}

// TestSecondTakeKnowsTheFirst: what the first take of a step has done to the object is known
// to the second.
func TestSecondTakeKnowsTheFirst(t *testing.T) {
	t.Parallel()
	l := newLivingSite(t)
	l.upgrade(t)
	var refs []engine.Ref
	k := newChosenKind(l.choice, func(w *maker) engine.Kind[engine.VMSpec, engine.VM] {
		return engine.NewKind(engine.Verbs[engine.VMSpec, engine.VM]{
			Reconcile: func(ctx context.Context, ref engine.Ref, _ engine.VMSpec) (engine.Result[engine.VM], error) {
				refs = append(refs, ref)
				_, err := w.composer.Hosts(ctx)
				return engine.Result[engine.VM]{Moved: w == l.choice.maas}, err
			},
		})
	})
	res, err := k.Reconcile(t.Context(), engine.Ref{SystemID: "abc123"}, engine.VMSpec{})
	if err != nil || len(refs) != 2 || refs[1].SystemID != "" || !res.Moved {
		t.Errorf("taken with %+v: %+v, %v", refs, res, err)
	}
}

// TestNotUpgraded: a machine that is no VM does not turn the choice.
func TestNotUpgraded(t *testing.T) {
	t.Parallel()
	l := newLivingSite(t)
	host, err := l.Machines.Machine(t.Context(), l.host.MachineID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Inventory.HostOf(t.Context(), host); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("the VM host of a machine that is none's VM: %v", err)
	}
	if got, err := l.ChosenComposer(t.Context()); got != MAAS || err != nil {
		t.Errorf("chosen is %q, %v", got, err)
	}
}

// TestPinIsNoted: the certificate that an LXD showed to what makes the VMs is held
// to by the next process, too, where nobody else asks the LXD.
func TestPinIsNoted(t *testing.T) {
	t.Parallel()
	l := newLivingSite(t)
	l.upgrade(t)
	pair, err := l.config.Credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Credentials{Certificate: l.sim.LXDs()[0].Certificate}.Fingerprint()
	spec := engine.HostSpec{Machine: engine.MachineSpec{Machine: "h1", Adopt: true}, Project: "maas", Credentials: pair}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	host, err := engine.WaitUntilDone(ctx, l.Kinds.Hosts.Steps(engine.Ref{Key: "test/h1", Name: "h1"}, spec))
	if err != nil || host.ServerFingerprint != want {
		t.Fatalf("the host says %q, %v; want %s", host.ServerFingerprint, err, want)
	}
	m, err := l.Machines.Machine(ctx, l.host.MachineID)
	if err != nil {
		t.Fatal(err)
	}
	if record, _ := m.HostRecord(); record.ServerFingerprint != want {
		t.Errorf("the machine says %q, want %s", record.ServerFingerprint, want)
	}
}

// TestUpgradedKeepsTheKey: a compose that an upgrade turns to LXD takes the private
// key to MAAS, which is refused on plain http then as before.
func TestUpgradedKeepsTheKey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		mayTravel error
		made      int
	}{
		"Refused": {"MAAS is on plain http.", engine.ErrInvalid, 1},
		"Allowed": {"It may be read by nobody else.", nil, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLivingSite(t)
			l.upgrade(t)
			l.choice.checkKeyTransport = func() error { return tc.mayTravel }
			err := l.askMaker(t.Context(), func(ctx context.Context, w *maker) error {
				_, err := w.composer.Compose(ctx, l.host, engine.Composition{
					Hostname: "db", Cores: 1, MemoryMiB: 1024, Architecture: "amd64/generic", Disks: []engine.Disk{{Name: "root", SizeGB: 4}},
					Marker: "maaslxd-db", Key: "test/db", Description: "maaslxd-db test/db (in progress)",
				})
				return err
			})
			if !errors.Is(err, tc.mayTravel) {
				t.Errorf("%s: got %v, want %v", tc.reason, err, tc.mayTravel)
			}
			if n := len(l.sim.Instances()); n != tc.made {
				t.Errorf("%s: there are %d instances, want %d", tc.reason, n, tc.made)
			}
		})
	}
}

// TestKeyStaysHere: a host is neither deployed nor registered, and its key is not
// changed, where anybody could read the private key on the way to MAAS.
func TestKeyStaysHere(t *testing.T) {
	t.Parallel()
	l := newLivingSite(t)
	l.choice.checkKeyTransport = func() error { return CheckKeyTransport("http://maas.example:5240/MAAS", false) }
	pair, err := l.config.Credentials(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := l.sim.DescribeState()
	l.sim.ResetJournal()
	for name, do := range map[string]func() error{
		"deploy": func() error {
			_, err := l.Kinds.Hosts.Reconcile(t.Context(), engine.Ref{Key: "test/h2", Name: "h2"}, engine.HostSpec{
				Machine: engine.MachineSpec{Deploy: &engine.Deployment{}}, Project: "maas", Credentials: pair, Bridge: &engine.BridgeSpec{Name: "br0"},
			})
			return err
		},
		"register": func() error {
			return l.askMaker(t.Context(), func(ctx context.Context, w *maker) error {
				_, err := w.registrar.Register(ctx, engine.Registration{Name: "h2", Endpoint: engine.Endpoint{Address: "10.9.9.9:8443", Project: "maas"}, Credentials: pair})
				return err
			})
		},
		"update": func() error {
			return l.askMaker(t.Context(), func(ctx context.Context, w *maker) error {
				return w.registrar.UpdateHost(ctx, l.host, engine.HostUpdate{Credentials: &pair})
			})
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "others on the way could read the private LXD client key") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, call := range l.sim.Journal().Calls {
		if !strings.HasPrefix(call.Route, "GET ") {
			t.Errorf("MAAS was asked for %s", call.Route)
		}
	}
	if after := l.sim.DescribeState(); !slices.Equal(before, after) {
		t.Errorf("there is %q, and there was %q", after, before)
	}
}

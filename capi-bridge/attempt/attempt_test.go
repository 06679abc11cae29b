package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/attempt"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// apiServer is a fake one.
func apiServer(t *testing.T, calls interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(infrav1.AddToScheme(scheme), corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build()
}

// keyOf is the key of a machine of these tests.
func keyOf(name string) engine.Key { return engine.Key("uid/ns/c/" + name) }

// machine is a VM's object that a manager has claimed.
func machine(name string, annotations map[string]string) *infrav1.MaasMachine {
	m := &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}, Finalizers: []string{infrav1.MachineFinalizer},
		Annotations: map[string]string{ownership.KeyAnnotation: string(keyOf(name)), ownership.KindAnnotation: ownership.KindVM},
	}}
	for name, value := range annotations {
		m.Annotations[name] = value
	}
	return m
}

// claimed are the annotations of an object for which nothing was begun.
var claimed = map[string]string{ownership.AttemptAnnotation: ownership.NoAttempt}

// closes is where closed hosts are listed.
var closes = client.ObjectKey{Namespace: "own", Name: "closes"}

// world is an API server with the leaders that follow each other.
type world struct {
	client.WithWatch
	t   *testing.T
	mu  sync.Mutex
	now time.Time
}

func newWorld(t *testing.T, calls interceptor.Funcs, objects ...client.Object) *world {
	return &world{WithWatch: apiServer(t, calls, objects...), t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// leader is a new leader's ledger of the region "maas".
func (w *world) leader(change ...func(*attempt.Config)) ledger.Rows {
	w.t.Helper()
	c := attempt.Config{Reader: w, Writer: w, Now: w.time, Closes: closes}
	for _, each := range change {
		each(&c)
	}
	l := attempt.New(c)
	w.t.Cleanup(func() { l.Close() })
	return l.Region("maas")
}

// recorded is what the annotation of a machine says.
func (w *world) recorded(name string) string {
	w.t.Helper()
	m := &infrav1.MaasMachine{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, m); err != nil {
		w.t.Fatal(err)
	}
	return m.Annotations[ownership.AttemptAnnotation]
}

var need = engine.Need{Cores: 2, MemoryMiB: 2048, DiskBytes: map[string]int64{"default": 8e9}}

// wish asks for one of the hosts, each of which has room for one VM.
func wish(t *testing.T, l engine.Ledger, name string, hosts ...string) engine.Reservation {
	t.Helper()
	tag, err := l.Tag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Reservation{Key: keyOf(name), Name: name, Group: "g", Need: need, Inventory: tag}
	for n, host := range hosts {
		r.Candidates = append(r.Candidates, engine.Candidate{HostKey: host, Zone: "z", Rank: int64(n), DefaultPool: "default", Free: need})
	}
	return r
}

// begin reserves a host for a machine, and notes that MAAS is asked now.
func begin(t *testing.T, l engine.Ledger, name string, hosts ...string) engine.Row {
	t.Helper()
	row, fresh, err := l.Place(t.Context(), wish(t, l, name, hosts...))
	if err != nil || !fresh {
		t.Fatalf("placed %v: %+v, %v", fresh, row, err)
	}
	if err := l.Renew(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	return rowOf(t, l, name)
}

func rowOf(t *testing.T, l engine.Ledger, name string) engine.Row {
	t.Helper()
	row, err := l.Row(t.Context(), keyOf(name))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// objects makes the object of each key that a ledger is asked to write.
type objects struct {
	engine.Ledger
	w *world
}

func (o objects) make(ctx context.Context, key engine.Key) error {
	m := machine("x", claimed)
	m.Name = "m" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, string(key)) + "x"
	m.Annotations[ownership.KeyAnnotation] = string(key)
	if err := o.w.Create(ctx, m); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func (o objects) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	if err := o.make(ctx, r.Key); err != nil {
		return engine.Row{}, false, err
	}
	return o.Ledger.Place(ctx, r)
}

func (o objects) Bind(ctx context.Context, row engine.Row) error {
	if err := o.make(ctx, row.Key); err != nil {
		return err
	}
	return o.Ledger.Bind(ctx, row)
}

// TestContract: what every ledger keeps to, this one does.
func TestContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		w := newWorld(t, interceptor.Funcs{})
		all := attempt.New(attempt.Config{Reader: w, Writer: w, Closes: closes})
		t.Cleanup(func() { all.Close() })
		return ledgertest.Store{Open: func(region string) engine.Ledger { return objects{all.Region(region), w} }}
	})
}

// TestNextLeader: a leader has the rows of the one before it, as far as VMs may come of
// them.
func TestNextLeader(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		do     func(t *testing.T, w *world, l engine.Ledger)
		state  engine.RowState // of the row of m; empty: there is none
		system string
	}{
		"Placed": {
			reason: "MAAS was not asked: nothing was begun.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				if _, _, err := l.Place(t.Context(), wish(t, l, "m", "h1")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Begun": {reason: "MAAS may be at it.", do: func(t *testing.T, _ *world, l engine.Ledger) { begin(t, l, "m", "h1") }, state: engine.RowPending},
		"Bound": {
			reason: "The VM may bear no mark yet.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				row := begin(t, l, "m", "h1")
				row.SystemID = "abc123"
				if err := l.Bind(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowBound, system: "abc123",
		},
		"Dropped": {
			reason: "It was refused, and nothing of it is left.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				if err := l.Drop(t.Context(), begin(t, l, "m", "h1")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Moved": {
			reason: "The next attempt was not begun: the former one counts.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				begin(t, l, "m", "h1")
				r := wish(t, l, "m", "h1", "h2")
				r.Exclude = []string{"h1"}
				if row, _, err := l.Move(t.Context(), 2, r); err != nil || row.HostKey != "h2" {
					t.Fatalf("%+v, %v", row, err)
				}
			},
			state: engine.RowPending,
		},
		"Deleting": {
			reason: "Its room stays taken until it is gone.",
			do: func(t *testing.T, w *world, l engine.Ledger) {
				begin(t, l, "m", "h1")
				m := machine("m", nil)
				if err := w.Delete(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowLeaving,
		},
		"Provisioned": {
			reason: "The manager was killed before it noted the system id with the row.",
			do: func(t *testing.T, w *world, l engine.Ledger) {
				begin(t, l, "m", "h1")
				m := machine("m", nil)
				if err := w.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
					t.Fatal(err)
				}
				m.Annotations[ownership.SystemIDAnnotation], m.Status.Initialization.Provisioned = "abc123", ptr.To(true)
				if err := w.Update(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowBound, system: "abc123",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
			before := w.leader()
			tc.do(t, w, before)
			was, wasErr := before.Row(t.Context(), keyOf("m"))
			w.pass(20 * time.Second)
			row, err := w.leader().Row(t.Context(), keyOf("m"))
			if tc.state == "" {
				if !errors.Is(err, engine.ErrNotFound) {
					t.Errorf("%s The next leader has %+v, %v", tc.reason, row, err)
				}
				return
			}
			if err != nil || row.State != tc.state || row.SystemID != tc.system || row.HostKey != "h1" || row.Attempt != 1 || row.Group != "g" {
				t.Errorf("%s The next leader has %+v, %v", tc.reason, row, err)
			}
			if name == "Begun" || name == "Bound" {
				if row.Age < 19*time.Second {
					t.Errorf("%s It is %v old, and was begun 20 s ago", tc.reason, row.Age)
				}
				was.Age, row.Age = 0, 0
				if diff := cmp.Diff(was, row); diff != "" || wasErr != nil {
					t.Errorf("%s The row is another one (-was +is), %v:\n%s", tc.reason, wasErr, diff)
				}
			}
		})
	}
}

// TestAllObjectsCount: the list of a new leader has also what it does not reconcile, and
// what it restores takes room from others.
func TestAllObjectsCount(t *testing.T) {
	t.Parallel()
	paused, filtered := machine("paused", claimed), machine("filtered", claimed)
	paused.Annotations[clusterv1.PausedAnnotation] = ""
	filtered.Labels[clusterv1.WatchLabel] = "somebody"
	w := newWorld(t, interceptor.Funcs{}, paused, filtered, machine("new", claimed))
	first := w.leader()
	begin(t, first, "paused", "h1")
	begin(t, first, "filtered", "h2")
	next := w.leader()
	if rows, err := next.Pending(t.Context()); err != nil || len(rows) != 2 {
		t.Errorf("pending are %+v, %v", rows, err)
	}
	if row, _, err := next.Place(t.Context(), wish(t, next, "new", "h1", "h2")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("placed %+v, %v", row, err)
	}
	if row, _, err := next.Place(t.Context(), wish(t, next, "new", "h1", "h2", "h3")); err != nil || row.HostKey != "h3" {
		t.Errorf("placed %+v, %v", row, err)
	}
}

// TestUnrecorded: what a manager with a volume has begun may be under way on any host.
// Nothing is placed until that is over, and nobody needs to do anything.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*infrav1.MaasMachine)
		waits  bool
	}{
		"Claimed":   {"A key without a record counts as begun now.", func(*infrav1.MaasMachine) {}, true},
		"Malformed": {"So does a record that nobody can read.", func(m *infrav1.MaasMachine) { m.Annotations[ownership.AttemptAnnotation] = "{" }, true},
		"Known":     {"MAAS tells the rest.", func(m *infrav1.MaasMachine) { m.Annotations[ownership.SystemIDAnnotation] = "abc123" }, false},
		"Metal":     {"Bare metal has no row.", func(m *infrav1.MaasMachine) { m.Annotations[ownership.KindAnnotation] = ownership.KindMachine }, false},
		"Nothing":   {"Nothing was begun.", func(m *infrav1.MaasMachine) { m.Annotations[ownership.AttemptAnnotation] = ownership.NoAttempt }, false},
		"Unclaimed": {"Nor here.", func(m *infrav1.MaasMachine) { delete(m.Annotations, ownership.KeyAnnotation) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := machine("old", nil)
			tc.change(old)
			w := newWorld(t, interceptor.Funcs{}, old, machine("new", claimed))
			l := w.leader()
			early := wish(t, l, "new", "h1")
			_, _, err := l.Place(t.Context(), early)
			if waits := errors.Is(err, engine.ErrBusy); waits != tc.waits || !waits && err != nil {
				t.Fatalf("%s A machine is placed: %v", tc.reason, err)
			}
			err = l.CloseHost(t.Context(), engine.Close{HostKey: "h1", Holder: "change", Lease: time.Minute})
			if waits := errors.Is(err, engine.ErrBusy); waits != tc.waits || !waits && err != nil {
				t.Errorf("%s A host is closed: %v", tc.reason, err)
			}
			row, err := l.Row(t.Context(), keyOf("old"))
			if has := err == nil; has != tc.waits || has && (!row.Since.Equal(w.time()) || row.State != engine.RowPending || row.Name == "") {
				t.Errorf("%s The row is %+v, %v", tc.reason, row, err)
			}
			if !tc.waits {
				return
			}
			w.pass(engine.ComposeWindow + time.Second)
			if _, _, err := l.Place(t.Context(), early); !errors.Is(err, engine.ErrBusy) {
				t.Errorf("%s An inventory from before serves: %v", tc.reason, err)
			}
			if _, _, err := l.Place(t.Context(), wish(t, l, "new", "h1")); err != nil {
				t.Errorf("%s It waits on: %v", tc.reason, err)
			}
			if row, fresh, err := l.Move(t.Context(), 2, wish(t, l, "old", "h2")); err != nil || !fresh {
				t.Errorf("%s It is not begun anew: %+v, %v", tc.reason, row, err)
			}
		})
	}
}

// TestSameHost: a leader reuses the host of a compose that a former one has sent. Its own
// it moves elsewhere.
func TestSameHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	begin(t, w.leader(), "m", "h1")
	l := w.leader()
	r := wish(t, l, "m", "h1", "h2")
	r.Exclude = []string{"h1"}
	if row, fresh, err := l.Move(t.Context(), 2, r); err != nil || !fresh || row.HostKey != "h1" || len(row.Excluded) > 0 {
		t.Errorf("attempt 2: %+v, %v", row, err)
	}
	r = wish(t, l, "m", "h1", "h2")
	r.Exclude = []string{"h1"}
	if row, fresh, err := l.Move(t.Context(), 3, r); err != nil || !fresh || row.HostKey != "h2" || !slices.Equal(row.Excluded, []string{"h1"}) {
		t.Errorf("attempt 3: %+v, %v", row, err)
	}
}

// TestNothingIsBegun: where the record cannot be written, or the manager leads no more,
// MAAS is not asked.
func TestNothingIsBegun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		sabotage func(t *testing.T, w *world, c *broken)
		err      error
	}{
		"LeadsNoMore": {"Another one leads by now.", func(_ *testing.T, _ *world, c *broken) { c.leads = fmt.Errorf("no: %w", engine.ErrBusy) }, engine.ErrBusy},
		"NoAPIServer": {"The record may not be there.", func(_ *testing.T, _ *world, c *broken) { c.patch = errors.New("down") }, engine.ErrUnavailable},
		"Gone": {"Nobody would find what is made.", func(t *testing.T, w *world, _ *broken) {
			w.edit(t, "m", func(m *infrav1.MaasMachine) { m.Finalizers = nil })
			w.remove(t, "m")
		}, engine.ErrBusy},
		"AnotherBegan": {"Another manager has begun it.", func(t *testing.T, w *world, _ *broken) { begin(t, w.leader(), "m", "h2") }, engine.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &broken{}
			w := newWorld(t, interceptor.Funcs{Patch: b.Patch}, machine("m", claimed))
			l := w.leader(func(c *attempt.Config) { c.Leads = func(context.Context) error { return b.leads } })
			row, _, err := l.Place(t.Context(), wish(t, l, "m", "h1"))
			if err != nil {
				t.Fatal(err)
			}
			tc.sabotage(t, w, b)
			if err := l.Renew(t.Context(), row); !errors.Is(err, tc.err) {
				t.Errorf("%s The error is %v", tc.reason, err)
			}
		})
	}
}

// broken is what of the world does not work.
type broken struct{ leads, patch error }

func (b *broken) Patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
	if b.patch != nil {
		return b.patch
	}
	return c.Patch(ctx, o, p, options...)
}

func (w *world) edit(t *testing.T, name string, change func(*infrav1.MaasMachine)) {
	t.Helper()
	m := machine(name, nil)
	err := w.Get(t.Context(), client.ObjectKeyFromObject(m), m)
	if err == nil {
		change(m)
		err = w.Update(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(t *testing.T, name string) {
	t.Helper()
	if err := w.Delete(t.Context(), machine(name, nil)); err != nil {
		t.Fatal(err)
	}
}

// TestRecordBeforeLease: the record is there when the lease is read. Otherwise another
// manager could take the lease and list the objects in between.
func TestRecordBeforeLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	asked := 0
	l := w.leader(func(c *attempt.Config) {
		c.Leads = func(context.Context) error {
			if asked++; !strings.Contains(w.recorded("m"), `"host":"h1"`) {
				t.Errorf("recorded is %q", w.recorded("m"))
			}
			return nil
		}
	})
	begin(t, l, "m", "h1")
	if asked != 1 {
		t.Errorf("the lease was read %d times", asked)
	}
}

// TestConflict: what others write to the object meanwhile does not keep a VM from being
// made, and stays.
func TestConflict(t *testing.T) {
	t.Parallel()
	once := sync.Once{}
	var w *world
	w = newWorld(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
		once.Do(func() { w.edit(t, "m", func(m *infrav1.MaasMachine) { m.Labels["by"] = "others" }) })
		return c.Patch(ctx, o, p, options...)
	}}, machine("m", claimed))
	begin(t, w.leader(), "m", "h1")
	m := machine("m", nil)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil || m.Labels["by"] != "others" || !strings.Contains(w.recorded("m"), "h1") {
		t.Errorf("%+v, %v", m.ObjectMeta, err)
	}
}

// TestArrival: an object that comes after the list, as from another management cluster,
// brings its row along.
func TestArrival(t *testing.T) {
	t.Parallel()
	there := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	row := begin(t, there.leader(), "m", "h1")
	here := newWorld(t, interceptor.Funcs{})
	l := here.leader()
	if _, err := l.Tag(t.Context()); err != nil { // which lists the objects
		t.Fatal(err)
	}
	if err := here.Create(t.Context(), machine("m", map[string]string{ownership.AttemptAnnotation: there.recorded("m")})); err != nil {
		t.Fatal(err)
	}
	if got := rowOf(t, l, "m"); !cmp.Equal(got, row) {
		t.Errorf("the row is\n%+v, and was\n%+v", got, row)
	}
}

// TestUnrecordedArrival: what comes without a record counts as begun when it comes.
func TestUnrecordedArrival(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("new", claimed))
	l := w.leader()
	if _, err := l.Tag(t.Context()); err != nil { // which lists the objects
		t.Fatal(err)
	}
	w.pass(time.Hour)
	if err := w.Create(t.Context(), machine("old", nil)); err != nil {
		t.Fatal(err)
	}
	if row := rowOf(t, l, "old"); row.State != engine.RowPending || row.Age > time.Second {
		t.Errorf("it has %+v", row)
	}
	if row, _, err := l.Place(t.Context(), wish(t, l, "new", "h1")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("placed %+v, %v", row, err)
	}
}

// TestLostReplyOfARecord: a record that was written, and whose answer was lost, is this
// manager's own. Nobody waits for a compose that was never sent.
func TestLostReplyOfARecord(t *testing.T) {
	t.Parallel()
	once := sync.Once{}
	w := newWorld(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) (err error) {
		err = c.Patch(ctx, o, p, options...)
		once.Do(func() { err = errors.Join(err, errors.New("the answer is lost")) })
		return err
	}}, machine("m", claimed))
	l := w.leader()
	row, _, err := l.Place(t.Context(), wish(t, l, "m", "h1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Renew(t.Context(), row); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("the first answer is lost: %v", err)
	}
	if err := l.Renew(t.Context(), row); err != nil {
		t.Errorf("the record is its own: %v", err)
	}
}

// TestNotElected: nothing is read, and so nothing reserved, before the manager leads.
func TestNotElected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	elected := make(chan struct{})
	l := w.leader(func(c *attempt.Config) { c.Elected = elected })
	if _, err := l.Tag(t.Context()); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("before: %v", err)
	}
	begin(t, w.leader(), "m", "h1")
	close(elected)
	if row := rowOf(t, l, "m"); row.HostKey != "h1" {
		t.Errorf("it has %+v", row)
	}
}

// TestRegions: a row is of the MAAS in which it was begun; one that was begun by the
// address of a MAAS is of its mark's region afterwards.
func TestRegions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	begin(t, w.leader(), "m", "h1")
	all := attempt.New(attempt.Config{Reader: w, Writer: w, Now: w.time})
	defer all.Close()
	other, mark := all.Region("other"), all.Region("mark")
	if rows, err := other.Rows(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("another MAAS has %+v, %v", rows, err)
	}
	if err := mark.TakeRegion(t.Context(), "maas"); err != nil {
		t.Fatal(err)
	}
	if rows, err := mark.Rows(t.Context()); err != nil || len(rows) != 1 || rows[0].HostKey != "h1" {
		t.Errorf("the mark's region has %+v, %v", rows, err)
	}
}

// TestClosesOutliveTheLeader: MAAS may be at a host when the leader that asked for it is
// dead. The next one places nothing there until the close is over.
func TestClosesOutliveTheLeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	first := w.leader()
	for _, host := range []string{"h1", "h2"} {
		if err := first.CloseHost(t.Context(), engine.Close{HostKey: host, Holder: "first", Lease: time.Minute, Window: engine.ComposeWindow}); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.OpenHost(t.Context(), "h2", "first"); err != nil {
		t.Fatal(err)
	}
	w.pass(20 * time.Second)
	next := w.leader()
	if row, _, err := next.Place(t.Context(), wish(t, next, "m", "h1")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("on the closed host: %+v, %v", row, err)
	}
	if err := next.CloseHost(t.Context(), engine.Close{HostKey: "h1", Holder: "next", Lease: time.Minute}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("another holder closes it: %v", err)
	}
	if row, _, err := next.Place(t.Context(), wish(t, next, "m", "h1", "h2")); err != nil || row.HostKey != "h2" {
		t.Errorf("on the open host: %+v, %v", row, err)
	}
	w.pass(time.Minute)
	if err := next.CloseHost(t.Context(), engine.Close{HostKey: "h1", Holder: "next", Lease: time.Minute}); err != nil {
		t.Errorf("the close does not end: %v", err)
	}
}

// TestNothingIsClosed: a host is left alone by who leads no more, or cannot write it down.
func TestNothingIsClosed(t *testing.T) {
	t.Parallel()
	no := fmt.Errorf("no: %w", engine.ErrBusy)
	down := errors.New("down")
	w := newWorld(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return down }})
	want := engine.Close{HostKey: "h1", Holder: "first", Lease: time.Minute}
	if err := w.leader().CloseHost(t.Context(), want); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("no API server: %v", err)
	}
	w = newWorld(t, interceptor.Funcs{})
	stale := w.leader(func(c *attempt.Config) { c.Leads = func(context.Context) error { return no } })
	if err := stale.CloseHost(t.Context(), want); !errors.Is(err, no) {
		t.Errorf("it leads no more: %v", err)
	}
}

// TestMoveWaitsForItsHost: while the host of a former leader's compose is closed for a
// moment, its VM is moved nowhere else: that compose may come late. It moves where the
// host has no room at all.
func TestMoveWaitsForItsHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	begin(t, w.leader(), "m", "h1")
	l := w.leader()
	wanted := func() engine.Reservation {
		r := wish(t, l, "m", "h1", "h2")
		r.Exclude = []string{"h1"}
		return r
	}
	w.pass(engine.ComposeWindow + time.Second)
	if err := l.CloseHost(t.Context(), engine.Close{HostKey: "h1", Holder: "change", Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if row, _, err := l.Move(t.Context(), 2, wanted()); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("while its host is closed: %+v, %v", row, err)
	}
	if err := l.OpenHost(t.Context(), "h1", "change"); err != nil {
		t.Fatal(err)
	}
	small := wanted()
	small.Candidates[0].Free = engine.Need{}
	if row, fresh, err := l.Move(t.Context(), 2, small); err != nil || !fresh || row.HostKey != "h2" {
		t.Errorf("without room on its host: %+v, %v", row, err)
	}
}

// TestMalformedCloses: where nobody can read which VM hosts are closed, nothing is placed,
// and the error says what to do.
func TestMalformedCloses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `"x"`, `[{"host":"h1"}]`, `[{"region":"maas"}]`} {
		of := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: closes.Namespace, Name: closes.Name, Annotations: map[string]string{
			infrav1.AnnotationPrefix + "closed-hosts": text,
		}}}
		w := newWorld(t, interceptor.Funcs{}, machine("m", claimed), of)
		l := w.leader()
		_, err := l.Tag(t.Context())
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: got %v", text, err)
			continue
		}
		for _, part := range []string{"own/closes", "closed-hosts", "kubectl annotate"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got %v, want %s", text, err, part)
			}
		}
		if err := w.Delete(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		begin(t, l, "m", "h1")
	}
}

// TestDeletedObjectsAreForgotten: what is remembered of objects does not grow with each
// VM that there ever was.
func TestDeletedObjectsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	l := attempt.New(attempt.Config{Reader: w, Writer: w, Now: w.time, Closes: closes})
	defer l.Close()
	rows := l.Region("maas")
	row := begin(t, rows, "m", "h1")
	if err := w.Delete(t.Context(), machine("m", nil)); err != nil {
		t.Fatal(err)
	}
	if err := rows.Leaving(t.Context(), row.Key); err != nil {
		t.Fatal(err)
	}
	if err := rows.Drop(t.Context(), rowOf(t, rows, "m")); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Row(t.Context(), row.Key); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n := l.Remembered(); n > 0 {
		t.Errorf("%d objects are remembered", n)
	}
	if w.recorded("m") != ownership.NoAttempt {
		t.Errorf("the record is %s", w.recorded("m"))
	}
}

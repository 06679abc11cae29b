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

// newAPIServer is a fake one.
func newAPIServer(t *testing.T, calls interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(infrav1.AddToScheme(scheme), corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build()
}

// testKey is the key of a machine of these tests.
func testKey(name string) engine.Key { return engine.Key("uid/ns/c/" + name) }

// newMachine is a VM's object that a manager has claimed.
func newMachine(name string, annotations map[string]string) *infrav1.MaasMachine {
	m := &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}, Finalizers: []string{infrav1.MachineFinalizer},
		Annotations: map[string]string{ownership.KeyAnnotation: string(testKey(name)), ownership.KindAnnotation: ownership.KindVM},
	}}
	for name, value := range annotations {
		m.Annotations[name] = value
	}
	return m
}

// claimedAnnotations are the annotations of an object for which nothing was begun.
var claimedAnnotations = map[string]string{ownership.AttemptAnnotation: ownership.NoAttempt}

// closesKey is where closed hosts are listed.
var closesKey = client.ObjectKey{Namespace: "own", Name: "closes"}

// leaderSetup is an API server with the leaders that follow each other.
type leaderSetup struct {
	client.WithWatch
	t   *testing.T
	mu  sync.Mutex
	now time.Time
}

func newLeaderSetup(t *testing.T, calls interceptor.Funcs, objects ...client.Object) *leaderSetup {
	return &leaderSetup{WithWatch: newAPIServer(t, calls, objects...), t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (w *leaderSetup) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *leaderSetup) advanceClock(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// newLeader is a new leader's ledger of the region "maas".
func (w *leaderSetup) newLeader(change ...func(*attempt.Config)) ledger.RegionLedger {
	w.t.Helper()
	c := attempt.Config{Reader: w, Writer: w, Now: w.clock, ClosesKey: closesKey}
	for _, each := range change {
		each(&c)
	}
	l := attempt.New(c)
	w.t.Cleanup(func() { l.Close() })
	return l.Region("maas")
}

// readRecord is what the annotation of a machine says.
func (w *leaderSetup) readRecord(name string) string {
	w.t.Helper()
	m := &infrav1.MaasMachine{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, m); err != nil {
		w.t.Fatal(err)
	}
	return m.Annotations[ownership.AttemptAnnotation]
}

var need = engine.Need{Cores: 2, MemoryMiB: 2048, DiskBytes: map[string]int64{"default": 8e9}}

// newReservation asks for one of the hosts, each of which has room for one VM.
func newReservation(t *testing.T, l engine.Ledger, name string, hosts ...string) engine.Reservation {
	t.Helper()
	tag, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Reservation{Key: testKey(name), Name: name, Group: "g", Need: need, Inventory: tag}
	for n, host := range hosts {
		r.Candidates = append(r.Candidates, engine.Candidate{HostKey: host, Zone: "z", Rank: int64(n), DefaultPool: "default", Free: need})
	}
	return r
}

// placeAndRenew reserves a host for a machine, and notes that MAAS is asked now.
func placeAndRenew(t *testing.T, l engine.Ledger, name string, hosts ...string) engine.Row {
	t.Helper()
	row, fresh, err := l.Place(t.Context(), newReservation(t, l, name, hosts...))
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
	row, err := l.Row(t.Context(), testKey(name))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// machineMakingLedger makes the object of each key that a ledger is asked to write.
type machineMakingLedger struct {
	engine.Ledger
	w *leaderSetup
}

func (o machineMakingLedger) createMachine(ctx context.Context, key engine.Key) error {
	m := newMachine("x", claimedAnnotations)
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

func (o machineMakingLedger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	if err := o.createMachine(ctx, r.Key); err != nil {
		return engine.Row{}, false, err
	}
	return o.Ledger.Place(ctx, r)
}

func (o machineMakingLedger) Bind(ctx context.Context, row engine.Row) error {
	if err := o.createMachine(ctx, row.Key); err != nil {
		return err
	}
	return o.Ledger.Bind(ctx, row)
}

// TestContract: what every ledger keeps to, this one does.
func TestContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		w := newLeaderSetup(t, interceptor.Funcs{})
		all := attempt.New(attempt.Config{Reader: w, Writer: w, ClosesKey: closesKey})
		t.Cleanup(func() { all.Close() })
		return ledgertest.Store{Open: func(region string) engine.Ledger { return machineMakingLedger{all.Region(region), w} }}
	})
}

// TestNextLeader: a leader has the rows of the one before it, as far as VMs may come of
// them.
func TestNextLeader(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		do     func(t *testing.T, w *leaderSetup, l engine.Ledger)
		state  engine.RowState // of the row of m; empty: there is none
		system string
	}{
		"Placed": {
			reason: "MAAS was not asked: nothing was begun.",
			do: func(t *testing.T, _ *leaderSetup, l engine.Ledger) {
				if _, _, err := l.Place(t.Context(), newReservation(t, l, "m", "h1")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Begun": {reason: "MAAS may be composing the VM.", do: func(t *testing.T, _ *leaderSetup, l engine.Ledger) { placeAndRenew(t, l, "m", "h1") }, state: engine.RowPending},
		"Bound": {
			reason: "The VM may bear no mark yet.",
			do: func(t *testing.T, _ *leaderSetup, l engine.Ledger) {
				row := placeAndRenew(t, l, "m", "h1")
				row.SystemID = "abc123"
				if err := l.Bind(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowBound, system: "abc123",
		},
		"Dropped": {
			reason: "It was refused, and nothing of it is left.",
			do: func(t *testing.T, _ *leaderSetup, l engine.Ledger) {
				if err := l.Drop(t.Context(), placeAndRenew(t, l, "m", "h1")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Moved": {
			reason: "The next attempt was not begun: the former one counts.",
			do: func(t *testing.T, _ *leaderSetup, l engine.Ledger) {
				placeAndRenew(t, l, "m", "h1")
				r := newReservation(t, l, "m", "h1", "h2")
				r.Exclude = []string{"h1"}
				if row, _, err := l.Move(t.Context(), 2, r); err != nil || row.HostKey != "h2" {
					t.Fatalf("%+v, %v", row, err)
				}
			},
			state: engine.RowPending,
		},
		"Deleting": {
			reason: "Its room stays taken until it is gone.",
			do: func(t *testing.T, w *leaderSetup, l engine.Ledger) {
				placeAndRenew(t, l, "m", "h1")
				m := newMachine("m", nil)
				if err := w.Delete(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowLeaving,
		},
		"Provisioned": {
			reason: "The manager was killed before it noted the system id with the row.",
			do: func(t *testing.T, w *leaderSetup, l engine.Ledger) {
				placeAndRenew(t, l, "m", "h1")
				m := newMachine("m", nil)
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
			w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
			before := w.newLeader()
			tc.do(t, w, before)
			was, wasErr := before.Row(t.Context(), testKey("m"))
			w.advanceClock(20 * time.Second)
			row, err := w.newLeader().Row(t.Context(), testKey("m"))
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
	paused, filtered := newMachine("paused", claimedAnnotations), newMachine("filtered", claimedAnnotations)
	paused.Annotations[clusterv1.PausedAnnotation] = ""
	filtered.Labels[clusterv1.WatchLabel] = "somebody"
	w := newLeaderSetup(t, interceptor.Funcs{}, paused, filtered, newMachine("new", claimedAnnotations))
	first := w.newLeader()
	placeAndRenew(t, first, "paused", "h1")
	placeAndRenew(t, first, "filtered", "h2")
	next := w.newLeader()
	if rows, err := next.PendingRows(t.Context()); err != nil || len(rows) != 2 {
		t.Errorf("pending are %+v, %v", rows, err)
	}
	if row, _, err := next.Place(t.Context(), newReservation(t, next, "new", "h1", "h2")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("placed %+v, %v", row, err)
	}
	if row, _, err := next.Place(t.Context(), newReservation(t, next, "new", "h1", "h2", "h3")); err != nil || row.HostKey != "h3" {
		t.Errorf("placed %+v, %v", row, err)
	}
}

// TestObjectWithoutRecord: what a manager with a volume has begun may be under way on any host.
// Nothing is placed until that is over, and nobody needs to do anything.
func TestObjectWithoutRecord(t *testing.T) {
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
			old := newMachine("old", nil)
			tc.change(old)
			w := newLeaderSetup(t, interceptor.Funcs{}, old, newMachine("new", claimedAnnotations))
			l := w.newLeader()
			early := newReservation(t, l, "new", "h1")
			_, _, err := l.Place(t.Context(), early)
			if waits := errors.Is(err, engine.ErrBusy); waits != tc.waits || !waits && err != nil {
				t.Fatalf("%s A machine is placed: %v", tc.reason, err)
			}
			err = l.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "change", Lease: time.Minute})
			if waits := errors.Is(err, engine.ErrBusy); waits != tc.waits || !waits && err != nil {
				t.Errorf("%s A host is closed: %v", tc.reason, err)
			}
			row, err := l.Row(t.Context(), testKey("old"))
			if has := err == nil; has != tc.waits || has && (!row.Since.Equal(w.clock()) || row.State != engine.RowPending || row.Name == "") {
				t.Errorf("%s The row is %+v, %v", tc.reason, row, err)
			}
			if !tc.waits {
				return
			}
			w.advanceClock(engine.ComposeWindow + time.Second)
			if _, _, err := l.Place(t.Context(), early); !errors.Is(err, engine.ErrBusy) {
				t.Errorf("%s An inventory from before serves: %v", tc.reason, err)
			}
			if _, _, err := l.Place(t.Context(), newReservation(t, l, "new", "h1")); err != nil {
				t.Errorf("%s It waits on: %v", tc.reason, err)
			}
			if row, fresh, err := l.Move(t.Context(), 2, newReservation(t, l, "old", "h2")); err != nil || !fresh {
				t.Errorf("%s It is not begun anew: %+v, %v", tc.reason, row, err)
			}
		})
	}
}

// TestSameHost: a leader reuses the host of a compose that a former one has sent. Its own
// it moves elsewhere.
func TestSameHost(t *testing.T) {
	t.Parallel()
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	placeAndRenew(t, w.newLeader(), "m", "h1")
	l := w.newLeader()
	r := newReservation(t, l, "m", "h1", "h2")
	r.Exclude = []string{"h1"}
	if row, fresh, err := l.Move(t.Context(), 2, r); err != nil || !fresh || row.HostKey != "h1" || len(row.Excluded) > 0 {
		t.Errorf("attempt 2: %+v, %v", row, err)
	}
	r = newReservation(t, l, "m", "h1", "h2")
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
		sabotage func(t *testing.T, w *leaderSetup, c *brokenCalls)
		err      error
	}{
		"LeadsNoMore": {"Another one leads by now.", func(_ *testing.T, _ *leaderSetup, c *brokenCalls) { c.leads = fmt.Errorf("no: %w", engine.ErrBusy) }, engine.ErrBusy},
		"NoAPIServer": {"The record may not be there.", func(_ *testing.T, _ *leaderSetup, c *brokenCalls) { c.patch = errors.New("down") }, engine.ErrUnavailable},
		"Gone": {"Nobody would find what is made.", func(t *testing.T, w *leaderSetup, _ *brokenCalls) {
			w.editMachine(t, "m", func(m *infrav1.MaasMachine) { m.Finalizers = nil })
			w.deleteMachine(t, "m")
		}, engine.ErrBusy},
		"AnotherBegan": {"Another manager has begun it.", func(t *testing.T, w *leaderSetup, _ *brokenCalls) { placeAndRenew(t, w.newLeader(), "m", "h2") }, engine.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &brokenCalls{}
			w := newLeaderSetup(t, interceptor.Funcs{Patch: b.Patch}, newMachine("m", claimedAnnotations))
			l := w.newLeader(func(c *attempt.Config) { c.CheckLeader = func(context.Context) error { return b.leads } })
			row, _, err := l.Place(t.Context(), newReservation(t, l, "m", "h1"))
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

// brokenCalls is what of the world does not work.
type brokenCalls struct{ leads, patch error }

func (b *brokenCalls) Patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
	if b.patch != nil {
		return b.patch
	}
	return c.Patch(ctx, o, p, options...)
}

func (w *leaderSetup) editMachine(t *testing.T, name string, change func(*infrav1.MaasMachine)) {
	t.Helper()
	m := newMachine(name, nil)
	err := w.Get(t.Context(), client.ObjectKeyFromObject(m), m)
	if err == nil {
		change(m)
		err = w.Update(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *leaderSetup) deleteMachine(t *testing.T, name string) {
	t.Helper()
	if err := w.Delete(t.Context(), newMachine(name, nil)); err != nil {
		t.Fatal(err)
	}
}

// TestRecordBeforeLease: the record is there when the lease is read. Otherwise another
// manager could take the lease and list the objects in between.
func TestRecordBeforeLease(t *testing.T) {
	t.Parallel()
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	asked := 0
	l := w.newLeader(func(c *attempt.Config) {
		c.CheckLeader = func(context.Context) error {
			if asked++; !strings.Contains(w.readRecord("m"), `"host":"h1"`) {
				t.Errorf("recorded is %q", w.readRecord("m"))
			}
			return nil
		}
	})
	placeAndRenew(t, l, "m", "h1")
	if asked != 1 {
		t.Errorf("the lease was read %d times", asked)
	}
}

// TestWriteBesideOthers: what others write to the object meanwhile does not keep a VM from being
// made, and stays.
func TestWriteBesideOthers(t *testing.T) {
	t.Parallel()
	once := sync.Once{}
	var w *leaderSetup
	w = newLeaderSetup(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
		once.Do(func() { w.editMachine(t, "m", func(m *infrav1.MaasMachine) { m.Labels["by"] = "others" }) })
		return c.Patch(ctx, o, p, options...)
	}}, newMachine("m", claimedAnnotations))
	placeAndRenew(t, w.newLeader(), "m", "h1")
	m := newMachine("m", nil)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil || m.Labels["by"] != "others" || !strings.Contains(w.readRecord("m"), "h1") {
		t.Errorf("%+v, %v", m.ObjectMeta, err)
	}
}

// TestMovedObjectBringsItsRow: an object that comes after the list, as from another management cluster,
// brings its row along.
func TestMovedObjectBringsItsRow(t *testing.T) {
	t.Parallel()
	there := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	row := placeAndRenew(t, there.newLeader(), "m", "h1")
	here := newLeaderSetup(t, interceptor.Funcs{})
	l := here.newLeader()
	if _, err := l.CurrentTag(t.Context()); err != nil { // which lists the objects
		t.Fatal(err)
	}
	if err := here.Create(t.Context(), newMachine("m", map[string]string{ownership.AttemptAnnotation: there.readRecord("m")})); err != nil {
		t.Fatal(err)
	}
	if got := rowOf(t, l, "m"); !cmp.Equal(got, row) {
		t.Errorf("the row is\n%+v, and was\n%+v", got, row)
	}
}

// TestUnrecordedArrival: what comes without a record counts as begun when it comes.
func TestUnrecordedArrival(t *testing.T) {
	t.Parallel()
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("new", claimedAnnotations))
	l := w.newLeader()
	if _, err := l.CurrentTag(t.Context()); err != nil { // which lists the objects
		t.Fatal(err)
	}
	w.advanceClock(time.Hour)
	if err := w.Create(t.Context(), newMachine("old", nil)); err != nil {
		t.Fatal(err)
	}
	if row := rowOf(t, l, "old"); row.State != engine.RowPending || row.Age > time.Second {
		t.Errorf("it has %+v", row)
	}
	if row, _, err := l.Place(t.Context(), newReservation(t, l, "new", "h1")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("placed %+v, %v", row, err)
	}
}

// TestLostReplyOfARecord: a record that was written, and whose answer was lost, is this
// manager's own. Nobody waits for a compose that was never sent.
func TestLostReplyOfARecord(t *testing.T) {
	t.Parallel()
	once := sync.Once{}
	w := newLeaderSetup(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) (err error) {
		err = c.Patch(ctx, o, p, options...)
		once.Do(func() { err = errors.Join(err, errors.New("the answer is lost")) })
		return err
	}}, newMachine("m", claimedAnnotations))
	l := w.newLeader()
	row, _, err := l.Place(t.Context(), newReservation(t, l, "m", "h1"))
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
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	elected := make(chan struct{})
	l := w.newLeader(func(c *attempt.Config) { c.Elected = elected })
	if _, err := l.CurrentTag(t.Context()); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("before: %v", err)
	}
	placeAndRenew(t, w.newLeader(), "m", "h1")
	close(elected)
	if row := rowOf(t, l, "m"); row.HostKey != "h1" {
		t.Errorf("it has %+v", row)
	}
}

// TestRegionOfARow: a row is of the MAAS in which it was begun; one that was begun by the
// address of a MAAS is of its mark's region afterwards.
func TestRegionOfARow(t *testing.T) {
	t.Parallel()
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	placeAndRenew(t, w.newLeader(), "m", "h1")
	all := attempt.New(attempt.Config{Reader: w, Writer: w, Now: w.clock})
	defer all.Close()
	other, mark := all.Region("other"), all.Region("mark")
	if rows, err := other.Rows(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("another MAAS has %+v, %v", rows, err)
	}
	if err := mark.TakeOverRegion(t.Context(), "maas"); err != nil {
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
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	first := w.newLeader()
	for _, host := range []string{"h1", "h2"} {
		if err := first.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: host, Holder: "first", Lease: time.Minute, Window: engine.ComposeWindow}); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.OpenHost(t.Context(), "h2", "first"); err != nil {
		t.Fatal(err)
	}
	w.advanceClock(20 * time.Second)
	next := w.newLeader()
	if row, _, err := next.Place(t.Context(), newReservation(t, next, "m", "h1")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("on the closed host: %+v, %v", row, err)
	}
	if err := next.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "next", Lease: time.Minute}); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("another holder closes it: %v", err)
	}
	if row, _, err := next.Place(t.Context(), newReservation(t, next, "m", "h1", "h2")); err != nil || row.HostKey != "h2" {
		t.Errorf("on the open host: %+v, %v", row, err)
	}
	w.advanceClock(time.Minute)
	if err := next.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "next", Lease: time.Minute}); err != nil {
		t.Errorf("the close does not end: %v", err)
	}
}

// TestNothingIsClosed: a host is left alone by who leads no more, or cannot write it down.
func TestNothingIsClosed(t *testing.T) {
	t.Parallel()
	no := fmt.Errorf("no: %w", engine.ErrBusy)
	down := errors.New("down")
	w := newLeaderSetup(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return down }})
	want := engine.HostCloseRequest{HostKey: "h1", Holder: "first", Lease: time.Minute}
	if err := w.newLeader().CloseHost(t.Context(), want); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("no API server: %v", err)
	}
	w = newLeaderSetup(t, interceptor.Funcs{})
	stale := w.newLeader(func(c *attempt.Config) { c.CheckLeader = func(context.Context) error { return no } })
	if err := stale.CloseHost(t.Context(), want); !errors.Is(err, no) {
		t.Errorf("it leads no more: %v", err)
	}
}

// TestMoveWaitsForItsHost: while the host of a former leader's compose is closed for a
// moment, its VM is moved nowhere else: that compose may come late. It moves where the
// host has no room at all.
func TestMoveWaitsForItsHost(t *testing.T) {
	t.Parallel()
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	placeAndRenew(t, w.newLeader(), "m", "h1")
	l := w.newLeader()
	wanted := func() engine.Reservation {
		r := newReservation(t, l, "m", "h1", "h2")
		r.Exclude = []string{"h1"}
		return r
	}
	w.advanceClock(engine.ComposeWindow + time.Second)
	if err := l.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "change", Lease: time.Minute}); err != nil {
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
		of := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: closesKey.Namespace, Name: closesKey.Name, Annotations: map[string]string{
			infrav1.AnnotationPrefix + "closed-hosts": text,
		}}}
		w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations), of)
		l := w.newLeader()
		_, err := l.CurrentTag(t.Context())
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
		placeAndRenew(t, l, "m", "h1")
	}
}

// TestDeletedObjectsAreForgotten: what is remembered of objects does not grow with each
// VM that there ever was.
func TestDeletedObjectsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newLeaderSetup(t, interceptor.Funcs{}, newMachine("m", claimedAnnotations))
	l := attempt.New(attempt.Config{Reader: w, Writer: w, Now: w.clock, ClosesKey: closesKey})
	defer l.Close()
	rows := l.Region("maas")
	row := placeAndRenew(t, rows, "m", "h1")
	if err := w.Delete(t.Context(), newMachine("m", nil)); err != nil {
		t.Fatal(err)
	}
	if err := rows.MarkLeaving(t.Context(), row.Key); err != nil {
		t.Fatal(err)
	}
	if err := rows.Drop(t.Context(), rowOf(t, rows, "m")); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Row(t.Context(), row.Key); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n := l.CountObjects(); n > 0 {
		t.Errorf("%d objects are remembered", n)
	}
	if w.readRecord("m") != ownership.NoAttempt {
		t.Errorf("the record is %s", w.readRecord("m"))
	}
}

// Package attempt is the ledger of a manager without a volume. Its rows are in
// memory. It also records each attempt to make a VM in an annotation of the
// MaasMachine, before MAAS is asked. The next leader rebuilds its rows from all
// MaasMachines, before it places anything.
//
// Two managers never compose at the same moment: a manager writes the record
// first, and reads the lease afterwards. For example, A leads and stalls before
// it asks MAAS. B takes the lease and lists the objects. If A has written its
// record before that list, B waits for A's compose. Otherwise A finds after its
// write that B has the lease.
package attempt

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// Config configures a Ledger.
type Config struct {
	// Reader reads MaasMachines past every cache.
	Reader client.Reader
	// Writer writes their annotations, and creates and writes the Lease of
	// closed hosts.
	Writer client.Writer
	// Namespace is the namespace that the manager watches; empty: all.
	Namespace string
	// Elected is closed once this manager leads. The ledger reads nothing
	// before that.
	Elected <-chan struct{}
	// CheckLeader asks the API server whether this manager still leads. It
	// returns an ErrBusy if not. nil: there is only this manager.
	CheckLeader func(context.Context) error
	// ClosesKey is the Lease that lists the hosts which a leader has closed, in
	// the manager's namespace. Without a name, they are only in memory.
	ClosesKey client.ObjectKey
	// Window is how long a compose may be under way; zero means
	// engine.ComposeWindow.
	Window time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Ledger is a ledger.Regions in memory. It is safe for concurrent use.
type Ledger struct {
	Config
	memory *ledger.Ledger

	mu       sync.Mutex
	loaded   bool
	listedAt time.Time // when the objects were listed
	// placeFrom is the time before which nothing may be placed. A former
	// manager may have begun composes without a record, on any host, that are
	// still under way.
	placeFrom   time.Time
	unrestored  []infrav1.MaasMachine      // with a record that is not restored yet
	objects     map[engine.Key]knownObject // of the keys that were asked for, until their objects are deleted
	revivedRows map[engine.Key]engine.Row  // of a former leader, whose compose is unclear

	formerCloses []closedHost // of a former leader, and not restored yet
}

// knownObject is the last state of a MaasMachine that this manager has read or
// written.
type knownObject struct {
	objectKey client.ObjectKey
	record    string // AttemptAnnotation
}

var _ ledger.Regions = (*Ledger)(nil)

// New returns a Ledger. It reads nothing before the first call.
func New(c Config) *Ledger {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Window == 0 {
		c.Window = engine.ComposeWindow
	}
	return &Ledger{Config: c, memory: ledger.NewMemory(c.Now), objects: map[engine.Key]knownObject{}, revivedRows: map[engine.Key]engine.Row{}}
}

// Region implements ledger.Regions.
func (l *Ledger) Region(name string) ledger.RegionLedger {
	return &regionLedger{Ledger: l.memory.Region(name), parent: l, name: name}
}

// Close implements ledger.Regions.
func (l *Ledger) Close() error { return l.memory.Close() }

// loadMachines lists the objects, once. The caller holds mu.
func (l *Ledger) loadMachines(ctx context.Context) error {
	if l.loaded {
		return nil
	}
	if l.Elected != nil {
		select {
		case <-l.Elected:
		default:
			return notLeadingError("this manager is not the leader")
		}
	}
	var list infrav1.MaasMachineList
	if err := l.Reader.List(ctx, &list, client.InNamespace(l.Namespace)); err != nil {
		return fmt.Errorf("cannot list the MaasMachines to find composes under way: %w: %w", engine.ErrUnavailable, err)
	}
	if l.ClosesKey.Name != "" {
		var err error
		if l.formerCloses, _, err = l.readCloses(ctx); err != nil {
			return err
		}
	}
	l.listedAt, l.loaded = l.Now(), true
	for _, m := range list.Items {
		switch _, recorded := parseRecord(m.Annotations[ownership.AttemptAnnotation]); {
		case recorded && isVM(&m):
			l.unrestored = append(l.unrestored, m)
		case isUnrecorded(&m):
			l.placeFrom = l.listedAt.Add(l.Window)
		}
	}
	return nil
}

// restoreRegion restores the rows of a region from the list.
func (l *Ledger) restoreRegion(ctx context.Context, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.loadMachines(ctx); err != nil {
		return err
	}
	if err := l.restoreCloses(ctx, name); err != nil {
		return err
	}
	rest := l.unrestored[:0:0]
	for n := range l.unrestored {
		m := &l.unrestored[n]
		if r, _ := parseRecord(m.Annotations[ownership.AttemptAnnotation]); r.Region != name {
			rest = append(rest, *m)
			continue
		}
		if err := l.restoreMachine(ctx, name, m, l.listedAt); err != nil {
			return err
		}
	}
	l.unrestored = rest
	return nil
}

// restoreMachine restores the row of an object. A copy of an object has the
// same key; then the object counts that the key names. The caller holds mu.
func (l *Ledger) restoreMachine(ctx context.Context, region string, m *infrav1.MaasMachine, unrecordedSince time.Time) error {
	key, at := engine.Key(m.Annotations[ownership.KeyAnnotation]), client.ObjectKeyFromObject(m)
	if was, ok := l.objects[key]; ok && was.objectKey != at && !isNamedBy(key, at) {
		return nil
	}
	if row, ok := rowOf(m, unrecordedSince); ok {
		if err := ledger.RestoreRow(ctx, l.memory.Region(region), row); err != nil {
			return err
		}
		if row.State == engine.RowPending && row.HostKey != "" {
			l.revivedRows[key] = row
		}
	} else if !m.DeletionTimestamp.IsZero() {
		return nil // nobody asks for its row any more
	}
	l.objects[key] = knownObject{at, m.Annotations[ownership.AttemptAnnotation]}
	return nil
}

// isNamedBy reports whether a key is the mark of an object.
func isNamedBy(key engine.Key, at client.ObjectKey) bool {
	made, ok := ownership.ParseMark(string(key))
	return ok && made.ObjectKey() == at
}

// restoreLateMachine restores the row of a key whose object is not known yet.
// The object came after the list, perhaps from another management cluster.
func (l *Ledger) restoreLateMachine(ctx context.Context, region string, key engine.Key) error {
	l.mu.Lock()
	_, ok := l.objects[key]
	l.mu.Unlock()
	if ok {
		return nil
	}
	m, err := l.findMachine(ctx, key)
	if m == nil || err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.objects[key]; ok {
		return nil
	}
	now := l.Now()
	if end := now.Add(l.Window); isUnrecorded(m) && end.After(l.placeFrom) {
		l.placeFrom = end
	}
	return l.restoreMachine(ctx, region, m, now)
}

// findMachine reads the object of a key; nil: there is none.
func (l *Ledger) findMachine(ctx context.Context, key engine.Key) (*infrav1.MaasMachine, error) {
	if made, ok := ownership.ParseMark(string(key)); ok {
		m := &infrav1.MaasMachine{}
		err := l.Reader.Get(ctx, made.ObjectKey(), m)
		switch {
		case err == nil && m.Annotations[ownership.KeyAnnotation] == string(key):
			return m, nil
		case client.IgnoreNotFound(err) != nil:
			return nil, readMachineError(key, err)
		}
	}
	// Keys of former versions name no object.
	var list infrav1.MaasMachineList
	if err := l.Reader.List(ctx, &list, client.InNamespace(l.Namespace)); err != nil {
		return nil, readMachineError(key, err)
	}
	for n := range list.Items {
		if list.Items[n].Annotations[ownership.KeyAnnotation] == string(key) {
			return &list.Items[n], nil
		}
	}
	return nil, nil
}

func readMachineError(key engine.Key, err error) error {
	return fmt.Errorf("cannot read the MaasMachine of %s: %w: %w", key, engine.ErrUnavailable, err)
}

// maxWriteTries limits the attempts of a write that conflicts with others of
// the same object.
const maxWriteTries = 5

// updateRecord changes the record of a key's object. change gets the current
// record and returns the next one, or an error to keep the current one. A key
// without an object is ErrNotFound.
func (l *Ledger) updateRecord(ctx context.Context, key engine.Key, change func(have string) (next string, err error)) error {
	l.mu.Lock()
	its, ok := l.objects[key]
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("there is no MaasMachine of %s: %w", key, engine.ErrNotFound)
	}
	for tries := 1; ; tries++ {
		m := &infrav1.MaasMachine{}
		err := l.Reader.Get(ctx, its.objectKey, m)
		switch {
		case apierrors.IsNotFound(err), err == nil && m.Annotations[ownership.KeyAnnotation] != string(key):
			l.forgetObject(key)
			return fmt.Errorf("there is no MaasMachine of %s any more: %w", key, engine.ErrNotFound)
		case err != nil:
			return readMachineError(key, err)
		}
		before := m.DeepCopy()
		next, err := change(m.Annotations[ownership.AttemptAnnotation])
		if err != nil {
			return err
		}
		m.Annotations[ownership.AttemptAnnotation] = next
		err = l.Writer.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		switch {
		case err == nil:
			l.keepObject(key, knownObject{its.objectKey, next})
			if next == ownership.NoAttempt && !m.DeletionTimestamp.IsZero() {
				l.forgetObject(key) // the object is being deleted
			}
			return nil
		case !apierrors.IsConflict(err) || ctx.Err() != nil || tries == maxWriteTries:
			return fmt.Errorf("cannot record the attempt for %s: %w: %w", key, engine.ErrUnavailable, err)
		}
	}
}

// keepObject stores the state that was written.
func (l *Ledger) keepObject(key engine.Key, now knownObject) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.objects[key] = now
}

// forgetObject makes the next call read the object of a key again.
func (l *Ledger) forgetObject(key engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, key)
}

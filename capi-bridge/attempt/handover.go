package attempt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// HandOver is a ledger in a file, or of a service, that begins with what a leader has begun
// whose rows were in memory. Before anything is placed in a region, or closed, each record
// of it becomes a row, and is taken off its object then. So a manager may change from
// memory to a file while VMs are being made.
//
// For example, the leader in memory asks MAAS for web-1 on h1 and dies. The next manager
// has a file. It finds the record, reserves h1 for web-1, and places db-1 elsewhere.
func HandOver(c Config, to ledger.Regions) ledger.Regions {
	return &handOver{Regions: to, records: New(c), done: map[string]bool{}}
}

// handOver are the regions that begin with the records.
type handOver struct {
	ledger.Regions
	records *Ledger // for what it is configured with; it keeps no rows

	mu   sync.Mutex
	done map[string]bool // the regions whose records have become rows
}

// Region implements ledger.Regions.
func (h *handOver) Region(name string) ledger.Rows {
	return &successor{target: h.Regions.Region(name), all: h, name: name}
}

// Close implements ledger.Regions.
func (h *handOver) Close() error { return errors.Join(h.Regions.Close(), h.records.Close()) }

// take makes the records of a region rows of to, once.
func (h *handOver) take(ctx context.Context, name string, to ledger.Rows) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done[name] {
		return nil
	}
	var list infrav1.MaasMachineList
	if err := h.records.Reader.List(ctx, &list, client.InNamespace(h.records.Namespace)); err != nil {
		return fmt.Errorf("cannot list all MaasMachines, to learn what is being made: %w: %w", engine.ErrUnavailable, err)
	}
	for n := range list.Items {
		m := &list.Items[n]
		if r, ok := parseRecord(m.Annotations[ownership.AttemptAnnotation]); !ok || r.Region != name {
			continue
		}
		if err := h.takeRecord(ctx, m, to); err != nil {
			return err
		}
	}
	if err := h.takeCloses(ctx, name, to); err != nil {
		return err
	}
	h.done[name] = true
	return nil
}

// takeRecord makes the record of an object a row, and takes it off the object.
func (h *handOver) takeRecord(ctx context.Context, m *infrav1.MaasMachine, to ledger.Rows) error {
	row, ok := rowOf(m, h.records.Now())
	if !ok {
		return nil
	}
	switch err := takeRow(ctx, to, row); {
	case err == nil:
		return h.takeOff(ctx, m)
	case !errors.Is(err, engine.ErrForbidden):
		return fmt.Errorf("cannot take over what is begun for %s: %w", row.Name, err)
	case row.State != engine.RowPending || h.records.Now().Sub(row.Since) > h.records.Window:
		return nil // another management cluster's, and nothing of it is under way
	}
	return fmt.Errorf("%s, whose row belongs to another owner, may still be under way: %w", row.Name, engine.ErrBusy)
}

// beyondMeasure is room that a host has for what is on it already. It is more than any VM
// may need, and a sum with it is far from the end of an int64.
const beyondMeasure = 1 << 51

// takeRow notes a row as far as VMs may come of it. It counts as begun now. A key that has
// a row keeps that one.
func takeRow(ctx context.Context, to ledger.Rows, row engine.Row) error {
	if row.SystemID != "" {
		if err := to.Bind(ctx, row); err != nil && !errors.Is(err, engine.ErrBusy) { // it is leaving
			return err
		}
	} else if err := placeThere(ctx, to, row); err != nil {
		return err
	}
	if row.State == engine.RowLeaving {
		return to.Leaving(ctx, row.Key)
	}
	return nil
}

// placeThere reserves the host of a row, whatever else is on it.
func placeThere(ctx context.Context, to ledger.Rows, row engine.Row) error {
	tag, err := to.Tag(ctx)
	if err != nil {
		return err
	}
	free := engine.Need{Cores: beyondMeasure, MemoryMiB: beyondMeasure, HugePagesMiB: beyondMeasure, DiskBytes: maps.Clone(row.Need.DiskBytes)}
	for pool := range free.DiskBytes {
		free.DiskBytes[pool] = beyondMeasure
	}
	there := engine.Reservation{
		Key: row.Key, Name: row.Name, Group: row.Group, Need: row.Need, Exclude: row.Excluded, Inventory: tag,
		Candidates: []engine.Candidate{{HostKey: row.HostKey, Zone: row.Zone, Free: free}},
	}
	_, fresh, err := to.Place(ctx, there)
	if err == nil && fresh && row.Attempt > 1 {
		_, _, err = to.Move(ctx, row.Attempt, there) // what failed attempts left is looked for
	}
	return err
}

// takeOff takes the record off an object whose row is elsewhere now.
func (h *handOver) takeOff(ctx context.Context, m *infrav1.MaasMachine) error {
	record := m.Annotations[ownership.AttemptAnnotation]
	for tries := 1; ; tries++ {
		before := m.DeepCopy()
		delete(m.Annotations, ownership.AttemptAnnotation)
		err := h.records.Writer.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) && tries < mostTries {
			err = h.records.Reader.Get(ctx, client.ObjectKeyFromObject(m), m)
			if err == nil && m.Annotations[ownership.AttemptAnnotation] == record {
				continue
			}
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot take the record off MaasMachine %s: %w: %w", client.ObjectKeyFromObject(m), engine.ErrUnavailable, err)
		}
		return nil
	}
}

// takeCloses closes the hosts of a region that the leader in memory had closed. One that is
// closed already stays so.
func (h *handOver) takeCloses(ctx context.Context, name string, to ledger.Rows) error {
	if h.records.Closes.Name == "" {
		return nil
	}
	all, _, err := h.records.readCloses(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		lease := min(c.Until.Sub(h.records.Now()), engine.LongestClose)
		if c.Region != name || lease <= 0 {
			continue
		}
		err := to.CloseHost(ctx, engine.Close{HostKey: c.Host, Holder: c.Holder, Lease: lease})
		if err != nil && !errors.Is(err, engine.ErrBusy) {
			return err
		}
	}
	return nil
}

// successor is the ledger of one MAAS that begins with the records. Writes about a row
// come after the row was read, or placed.
type successor struct {
	target
	all  *handOver
	name string
}

// target is where the records become rows. Its name keeps the field apart from the method.
type target = ledger.Rows

func (s *successor) take(ctx context.Context) error { return s.all.take(ctx, s.name, s.target) }

// Row implements engine.Ledger.
func (s *successor) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	if err := s.take(ctx); err != nil {
		return engine.Row{}, err
	}
	return s.target.Row(ctx, key)
}

// Rows implements engine.Ledger.
func (s *successor) Rows(ctx context.Context) ([]engine.Row, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	return s.target.Rows(ctx)
}

// Pending implements engine.Ledger.
func (s *successor) Pending(ctx context.Context) ([]engine.Row, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	return s.target.Pending(ctx)
}

// Place implements engine.Ledger.
func (s *successor) Place(ctx context.Context, want engine.Reservation) (engine.Row, bool, error) {
	if err := s.take(ctx); err != nil {
		return engine.Row{}, false, err
	}
	return s.target.Place(ctx, want)
}

// Move implements engine.Ledger.
func (s *successor) Move(ctx context.Context, attempt int, want engine.Reservation) (engine.Row, bool, error) {
	if err := s.take(ctx); err != nil {
		return engine.Row{}, false, err
	}
	return s.target.Move(ctx, attempt, want)
}

// Bind implements engine.Ledger.
func (s *successor) Bind(ctx context.Context, row engine.Row) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	return s.target.Bind(ctx, row)
}

// CloseHost implements engine.Ledger.
func (s *successor) CloseHost(ctx context.Context, c engine.Close) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	return s.target.CloseHost(ctx, c)
}

// TakeRegion implements ledger.Rows. The records of the region that is taken over become
// rows of this one.
func (s *successor) TakeRegion(ctx context.Context, from string) error {
	if err := errors.Join(s.all.take(ctx, from, s.target), s.take(ctx)); err != nil {
		return err
	}
	return s.target.TakeRegion(ctx, from)
}

package ledger_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// fakeMarks is the mark of a MAAS, which may exist already or be made.
type fakeMarks struct {
	has  string
	made string // by a user who may make a mark
	err  error  // of a read
}

func (m *fakeMarks) RegionMark(context.Context) (string, error) { return m.has, m.err }

func (m *fakeMarks) MakeRegionMark(context.Context) (string, error) {
	switch {
	case m.err != nil:
		return "", m.err
	case m.has == "" && m.made == "":
		return "", engine.ErrForbidden
	case m.has == "":
		m.has = m.made
	}
	return m.has, nil
}

// TestRegionOfMark: rows are in the region of the mark, whatever the address of the MAAS. Rows under
// the address move there once there is a mark.
func TestRegionOfMark(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		marks  fakeMarks
		region string // of the row afterwards
		err    error
	}{
		"Marked":    {reason: "It has a mark.", marks: fakeMarks{has: "m1"}, region: "m1"},
		"Makes":     {reason: "The first reservation makes it.", marks: fakeMarks{made: "m2"}, region: "m2"},
		"Forbidden": {reason: "This user may make no tag.", region: "maas.example"},
		"Away":      {reason: "By which name the rows are cannot be told.", marks: fakeMarks{err: engine.ErrUnavailable}, err: engine.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := ledger.NewMemory(nil)
			t.Cleanup(func() { _ = all.Close() })
			row := engine.Row{Key: "team/c/web", Name: "web", HostKey: "h1", SystemID: "abc123"}
			if err := all.Region("maas.example").Bind(t.Context(), row); err != nil { // as a former version did
				t.Fatal(err)
			}
			m := &ledger.MarkedRegion{Regions: ledger.LocalRegions{Ledger: all}, Address: "maas.example", Marks: &tc.marks}
			_, err := m.Rows(t.Context())
			if err == nil {
				err = m.Bind(t.Context(), row)
			}
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if tc.err != nil {
				return
			}
			for _, region := range []string{"m1", "m2", "maas.example"} {
				rows, err := all.Region(region).Rows(t.Context())
				if err != nil || (len(rows) == 1) != (region == tc.region) {
					t.Errorf("%s\n%s has %+v, %v", tc.reason, region, rows, err)
				}
			}
		})
	}
}

// TestMarkedFirst: a close of a host goes to the region of the mark, even before any
// reservation. The other run knows the MAAS by another address.
func TestMarkedFirst(t *testing.T) {
	t.Parallel()
	all := ledger.NewMemory(nil)
	t.Cleanup(func() { _ = all.Close() })
	maas := &fakeMarks{made: "m1"}
	one := &ledger.MarkedRegion{Regions: ledger.LocalRegions{Ledger: all}, Address: "maas.example", Marks: maas}
	two := &ledger.MarkedRegion{Regions: ledger.LocalRegions{Ledger: all}, Address: "10.0.0.2", Marks: maas}
	for _, m := range []*ledger.MarkedRegion{one, two} { // both remember that there is no mark
		if _, err := m.Rows(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	closing := func(m *ledger.MarkedRegion) error {
		return m.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: m.Address, Lease: time.Minute, Window: time.Minute})
	}
	if err := closing(one); err != nil {
		t.Fatal(err)
	}
	if err := closing(two); err == nil {
		t.Error("the other run does not see it")
	}
	if err := closing(&ledger.MarkedRegion{Regions: ledger.LocalRegions{Ledger: all}, Address: "other.example", Marks: &fakeMarks{}}); err != nil {
		t.Errorf("a user who may make no tag: %v", err)
	}
}

// stuckRegions hangs in a take-over until its caller gives up, except the first time.
type stuckRegions struct {
	ledger.Regions
	asked chan struct{}
	calls atomic.Int64
}

func (s *stuckRegions) Region(name string) ledger.RegionLedger {
	return stuckRows{s.Regions.Region(name), s}
}

// embeddedLedger gives the embedded ledger a name that differs from its method Rows.
type embeddedLedger ledger.RegionLedger

type stuckRows struct {
	embeddedLedger
	of *stuckRegions
}

func (s stuckRows) TakeOverRegion(ctx context.Context, from string) error {
	if s.of.calls.Add(1) > 1 {
		return s.embeddedLedger.TakeOverRegion(ctx, from)
	}
	close(s.of.asked)
	<-ctx.Done()
	return ctx.Err()
}

// TestMarkedAsksUnlocked: while the ledger does not answer one caller, other callers do not wait
// for it.
func TestMarkedAsksUnlocked(t *testing.T) {
	t.Parallel()
	all := ledger.NewMemory(nil)
	t.Cleanup(func() { _ = all.Close() })
	stuck := &stuckRegions{Regions: ledger.LocalRegions{Ledger: all}, asked: make(chan struct{})}
	m := &ledger.MarkedRegion{Regions: stuck, Address: "maas.example", Marks: &fakeMarks{has: "m1"}}
	patient, giveUp := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := m.Rows(patient); first <- err }()
	<-stuck.asked
	second := make(chan error, 1)
	go func() { _, err := m.Rows(t.Context()); second <- err }()
	select {
	case err := <-second:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for another one's call")
	}
	giveUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

package ledger

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// clockedLedger is a ledger in a file whose clock the test can advance.
type clockedLedger struct {
	*Ledger
	path string
}

func newClockedLedger(t *testing.T, ahead time.Duration) clockedLedger {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l, err := OpenFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.now = func() time.Time { return time.Now().Add(ahead) }
	return clockedLedger{l, path}
}

// fillWithRows makes rows of each state in two MAASes, and the lease of a run that died.
func fillWithRows(t *testing.T, l *Ledger) {
	t.Helper()
	for _, region := range []string{"m1", "m2"} {
		of := l.Region(region)
		for _, key := range []engine.Key{"ci/pending", "ci/bound", "ci/leaving", "red/pending"} {
			r := newReservation(t, of, key, 9, 9)
			r.Need.DiskBytes = map[string]int64{"default": 8e9}
			r.Candidates[0].Free.DiskBytes = map[string]int64{"default": 1e12}
			if _, _, err := of.Place(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []engine.Key{"ci/bound", "ci/leaving"} {
			if err := of.Bind(t.Context(), engine.Row{Key: key, HostKey: "h1", SystemID: "abc"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := of.MarkLeaving(t.Context(), "ci/leaving"); err != nil {
			t.Fatal(err)
		}
	}
	mine := lease.Lease{Key: "ci/died", Holder: "died", Process: lease.Process{PID: 1}}
	if _, err := l.Region("m1").LeaseTable().TakeLease(t.Context(), mine, ""); err != nil {
		t.Fatal(err)
	}
}

// mustListEntries returns the entries of a ledger, without the fields that differ at each read.
func mustListEntries(t *testing.T, l *Ledger) []Entry {
	t.Helper()
	all, err := ListEntries(t.Context(), l, "")
	if err != nil {
		t.Fatal(err)
	}
	for n := range all {
		all[n].Row.Age, all[n].Lease.Age, all[n].Lease.BeatMS = 0, 0, 0
	}
	return all
}

// advanceClock advances the clock of a ledger.
func (a clockedLedger) advanceClock(d time.Duration) {
	now := a.now
	a.now = func() time.Time { return now().Add(d) }
}

// TestTransferOfAllRows moves all rows in and out again. None is lost or changed.
func TestTransferOfAllRows(t *testing.T) {
	t.Parallel()
	file, service := newClockedLedger(t, 0), newClockedLedger(t, 0)
	fillWithRows(t, file.Ledger)
	file.advanceClock(time.Hour)
	service.advanceClock(time.Hour)
	before := mustListEntries(t, file.Ledger)
	if len(before) != 9 {
		t.Fatalf("there are %d keys", len(before))
	}
	tag, err := service.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done, err := TransferKeys(t.Context(), file.Ledger, service.Ledger, "")
	if err != nil || done != (TransferResult{Moved: 9}) {
		t.Errorf("got %+v, %v", done, err)
	}
	if left := mustListEntries(t, file.Ledger); len(left) != 0 {
		t.Errorf("the file still has %v", left)
	}
	if diff := cmp.Diff(before, mustListEntries(t, service.Ledger)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if serves, err := service.AcceptsInventory(t.Context(), tag); err != nil || serves {
		t.Errorf("an inventory from before serves: %t, %v", serves, err)
	}
	// A pending row takes room with each inventory.
	if _, _, err := service.Region("m1").Place(t.Context(), newReservation(t, service.Region("m1"), "ci/new", 2, 9)); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("the room is taken by what is pending: %v", err)
	}
	service.advanceClock(time.Hour) // until the moved lease has ended
	done, err = TransferKeys(t.Context(), service.Ledger, file.Ledger, "ci/")
	if err != nil || done.Moved != 7 {
		t.Errorf("got %+v, %v", done, err)
	}
	for _, e := range mustListEntries(t, service.Ledger) {
		if !strings.HasPrefix(string(e.Row.Key), "red/") {
			t.Errorf("%s has not moved", e.Row.Key)
		}
	}
	if done, err = TransferKeys(t.Context(), service.Ledger, file.Ledger, ""); err != nil || done.Moved != 2 {
		t.Errorf("got %+v, %v", done, err)
	}
	if diff := cmp.Diff(before, mustListEntries(t, file.Ledger)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTransferCutOff: after an interrupted transfer both ledgers have rows. A second transfer
// completes it.
func TestTransferCutOff(t *testing.T) {
	t.Parallel()
	file, service := newClockedLedger(t, 0), newClockedLedger(t, 0)
	fillWithRows(t, file.Ledger)
	file.advanceClock(time.Hour)
	service.advanceClock(time.Hour)
	entries, err := ListEntries(t.Context(), file.Ledger, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := insertRows(t.Context(), service.Ledger, entries[:3]); err != nil {
		t.Fatal(err)
	}
	done, err := TransferKeys(t.Context(), file.Ledger, service.Ledger, "")
	if err != nil || done != (TransferResult{Moved: 9, AlreadyThere: 3}) {
		t.Errorf("got %+v, %v", done, err)
	}
	if done, err = TransferKeys(t.Context(), file.Ledger, service.Ledger, ""); err != nil || done != (TransferResult{}) {
		t.Errorf("a repetition: %+v, %v", done, err)
	}
}

// TestTransferRefused: entries that are in use or contradict each other are not moved, and
// neither are the others.
func TestTransferRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		do     func(t *testing.T, file, service *Ledger)
		want   error
		says   string
	}{
		"Composing": {"MAAS goes on composing for 130 s.", func(t *testing.T, file, _ *Ledger) {
			if _, _, err := file.Region("m1").Place(t.Context(), newReservation(t, file, "ci/young", 9, 9)); err != nil {
				t.Fatal(err)
			}
		}, engine.ErrBusy, "ci/young (MAAS may be composing it for another 2m10s)"},
		"Lives": {"The run would go on in the former ledger.", func(t *testing.T, file, _ *Ledger) {
			release, err := file.Region("m1").Hold(t.Context(), "ci/bound")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(release)
		}, engine.ErrBusy, "ci/bound (process "},
		"Closed": {"The close would be forgotten.", func(t *testing.T, file, _ *Ledger) {
			if err := file.Region("m1").CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h7", Holder: "me", Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}, engine.ErrBusy, "VM hosts that are being removed or changed: 1"},
		"Clash": {"Nobody but a person knows which one is right.", func(t *testing.T, _, service *Ledger) {
			if _, _, err := service.Region("m2").Place(t.Context(), newReservation(t, service, "ci/pending", 9, 9)); err != nil {
				t.Fatal(err)
			}
		}, engine.ErrConflict, "ci/pending in m2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, service := newClockedLedger(t, 0), newClockedLedger(t, 0)
			fillWithRows(t, file.Ledger)
			file.advanceClock(time.Hour)
			tc.do(t, file.Ledger, service.Ledger)
			before, had := mustListEntries(t, file.Ledger), mustListEntries(t, service.Ledger)
			_, err := TransferKeys(t.Context(), file.Ledger, service.Ledger, "")
			refusal, ok := errors.AsType[*engine.Refusal](err)
			if !ok || !errors.Is(err, tc.want) || !strings.Contains(refusal.Message, tc.says) || refusal.Hint == "" {
				t.Errorf("%s\ngot %v\nwant %q", tc.reason, err, tc.says)
			}
			if diff := cmp.Diff([][]Entry{before, had}, [][]Entry{mustListEntries(t, file.Ledger), mustListEntries(t, service.Ledger)}); diff != "" {
				t.Errorf("something has moved\n-want +got:\n%s", diff)
			}
		})
	}
}

// TestForgetEntry drops an entry that nobody uses, and nothing else.
func TestForgetEntry(t *testing.T) {
	t.Parallel()
	l := newClockedLedger(t, 0)
	fillWithRows(t, l.Ledger)
	find := func(region string, key engine.Key) Entry {
		all, err := ListEntries(t.Context(), l.Ledger, "")
		n := slices.IndexFunc(all, func(e Entry) bool { return e.Region == region && e.Row.Key == key })
		if err != nil || n < 0 {
			t.Fatalf("%s in %s: %d, %v", key, region, n, err)
		}
		return all[n]
	}
	if err := ForgetEntry(t.Context(), l.Ledger, find("m1", "ci/pending")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("MAAS may be composing it: %v", err)
	}
	if err := ForgetEntry(t.Context(), l.Ledger, find("m1", "ci/died")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("its run was alive some seconds ago: %v", err)
	}
	l.advanceClock(engine.ComposeWindow)
	release, err := l.Region("m1").Hold(t.Context(), "ci/bound")
	if err != nil {
		t.Fatal(err)
	}
	if err := ForgetEntry(t.Context(), l.Ledger, find("m1", "ci/bound")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a run is at it: %v", err)
	}
	release()
	stale := find("m1", "ci/leaving")
	if err := l.Region("m1").Bind(t.Context(), engine.Row{Key: "ci/leaving", HostKey: "h1", SystemID: "other"}); !errors.Is(err, engine.ErrBusy) {
		t.Fatal(err)
	}
	if err := ForgetEntry(t.Context(), l.Ledger, stale); !errors.Is(err, engine.ErrConflict) {
		t.Errorf("it was changed: %v", err)
	}
	for _, key := range []engine.Key{"ci/pending", "ci/bound", "ci/leaving", "ci/died", "red/pending"} {
		if err := ForgetEntry(t.Context(), l.Ledger, find("m1", key)); err != nil {
			t.Error(err)
		}
	}
	if left := mustListEntries(t, l.Ledger); len(left) != 4 || left[0].Region != "m2" {
		t.Errorf("left are %+v", left)
	}
}

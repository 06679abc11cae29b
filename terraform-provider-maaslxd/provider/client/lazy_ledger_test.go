package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// rowOf is a bound row of a VM.
func rowOf(key engine.Key) engine.Row {
	return engine.Row{Key: key, Name: "web-1", HostKey: "host01", SystemID: "4y3h7n", Need: engine.Need{Cores: 1, MemoryMiB: 1024}}
}

// TestLedgerIsMadeByAWrite reads a ledger that does not exist, and then writes to it.
func TestLedgerIsMadeByAWrite(t *testing.T) {
	t.Parallel()
	files := new(Ledgers)
	file := filepath.Join(t.TempDir(), "deep", "ledger.db")
	l := &lazyLedger{files: files, path: file, region: "a"}
	ctx := t.Context()
	tag, err := l.CurrentTag(ctx)
	if tag != (engine.Tag{}) || err != nil {
		t.Errorf("Tag of no ledger is %v, %v; want none", tag, err)
	}
	if rows, err := l.PendingRows(ctx); len(rows) != 0 || err != nil {
		t.Errorf("Pending of no ledger is %v, %v; want none", rows, err)
	}
	if serves, err := l.AcceptsInventory(ctx, tag); !serves || err != nil {
		t.Errorf("without a ledger a list of the hosts is accepted: %t, %v; want true", serves, err)
	}
	if err := l.checkExisting(ctx); err != nil {
		t.Errorf("no ledger yet is no error, got %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("reading has made the file")
	}
	if _, _, err := l.Place(ctx, engine.Reservation{Key: "a"}); !errors.Is(err, engine.ErrBusy) || engine.IsTerminal(err) {
		t.Errorf("an inventory without a tag: got %v, want a retryable error", err)
	}
	if _, _, err := l.Move(ctx, 2, engine.Reservation{Key: "a"}); !errors.Is(err, engine.ErrBusy) || engine.IsTerminal(err) {
		t.Errorf("an inventory without a tag: got %v, want a retryable error", err)
	}
	if err := l.Bind(ctx, rowOf("default/web-1")); err != nil {
		t.Fatal(err)
	}
	if serves, err := l.AcceptsInventory(ctx, tag); serves || err != nil {
		t.Errorf("a list from before the ledger is accepted: %t, %v; want false", serves, err)
	}
	if tag, err = l.CurrentTag(ctx); tag.Generation == "" || err != nil {
		t.Errorf("Tag is %v, %v; want that of a ledger", tag, err)
	}
	if serves, err := l.AcceptsInventory(ctx, tag); !serves || err != nil {
		t.Errorf("a new list is accepted: %t, %v; want true", serves, err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	again := &lazyLedger{files: files, path: file, region: "a"}
	if row, err := again.Row(ctx, "default/web-1"); err != nil || row.SystemID != "4y3h7n" {
		t.Errorf("after it was closed the row is %+v, %v", row, err)
	}
	if err := again.MarkLeaving(ctx, "default/web-1"); err != nil {
		t.Error(err)
	}
	if err := ledgertest.DropRow(ctx, again, "default/web-1"); err != nil {
		t.Error(err)
	}
	if err := files.Close(); err != nil {
		t.Error(err)
	}
}

// TestLedgersAreShared opens one file for two MAAS, many times at once. It is opened once, and
// the two MAAS do not see each other's rows.
func TestLedgersAreShared(t *testing.T) {
	t.Parallel()
	files := new(Ledgers)
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "ledger.db")
	a, b := &lazyLedger{files: files, path: file, region: "a"}, &lazyLedger{files: files, path: file, region: "b"}
	var wg sync.WaitGroup
	for range 8 {
		for _, l := range []*lazyLedger{a, b} {
			wg.Go(func() {
				if _, err := l.open(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := len(files.files); n != 1 {
		t.Errorf("%d files are open, want 1", n)
	}
	if err := a.Bind(t.Context(), rowOf("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Row(t.Context(), "x"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the other MAAS has the row, too: %v", err)
	}
}

// TestLedgerInMemory uses no file. Each provider block gets a ledger of its own.
func TestLedgerInMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	a, b := &lazyLedger{files: new(Ledgers), path: MemoryLedger}, &lazyLedger{files: new(Ledgers), path: MemoryLedger}
	if tag, err := a.CurrentTag(t.Context()); tag.Generation == "" || err != nil {
		t.Errorf("Tag is %v, %v; want that of a ledger", tag, err)
	}
	if err := a.Bind(t.Context(), rowOf("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Row(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	if _, err := b.Row(t.Context(), "x"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("another block has the row, too: %v", err)
	}
	if _, err := os.Stat(MemoryLedger); err == nil {
		t.Error("a file was made")
	}
}

// TestLedgerErrorsNameTheAttribute breaks the file. The error must name the attribute that
// chooses another one.
func TestLedgerErrorsNameTheAttribute(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("x", 4096)), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &lazyLedger{files: new(Ledgers), path: file}
	_, tagged := l.CurrentTag(t.Context())
	_, listed := l.PendingRows(t.Context())
	for what, err := range map[string]error{
		"check": l.checkExisting(t.Context()), "Tag": tagged, "Pending": listed, "Bind": l.Bind(t.Context(), rowOf("x")),
	} {
		if err == nil || !engine.IsTerminal(err) {
			t.Errorf("%s: got %v, want a terminal error", what, err)
			continue
		}
		for _, word := range []string{file, "damaged", "ledger in the provider block", "MAASLXD_LEDGER"} {
			if !strings.Contains(diagnostics.ExplainError(err), word) {
				t.Errorf("%s: %q is not in:\n%s", what, word, diagnostics.ExplainError(err))
			}
		}
	}
}

// TestLedgerHomeless has no place for the default file. A reader needs none, and a writer gets
// an error that names the setting.
func TestLedgerHomeless(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	l := &lazyLedger{files: new(Ledgers)}
	if _, err := l.PendingRows(t.Context()); err != nil {
		t.Errorf("a reader: %v", err)
	}
	err := l.Bind(t.Context(), rowOf("x"))
	if err == nil || !strings.Contains(diagnostics.ExplainError(err), "HOME") || !strings.Contains(diagnostics.ExplainError(err), "MAASLXD_LEDGER") {
		t.Errorf("a writer: got %v", err)
	}
}

// regionMarks are the marks of a MAAS that has none until somebody creates it.
type regionMarks struct {
	mu        sync.Mutex
	mark      string
	forbidden bool                        // what creating it returns
	look      func(context.Context) error // called before an answer; may be nil
}

func (m *regionMarks) RegionMark(ctx context.Context) (string, error) {
	if m.look != nil {
		if err := m.look(ctx); err != nil {
			return "", err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mark, nil
}

func (m *regionMarks) MakeRegionMark(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forbidden {
		return "", engine.ErrForbidden
	}
	m.mark = "m1"
	return m.mark, nil
}

// TestLedgerMarksFirst closes a host under the MAAS's mark, before anybody has reserved
// anything. The other run uses another address of that MAAS.
func TestLedgerMarksFirst(t *testing.T) {
	t.Parallel()
	files := new(Ledgers)
	t.Cleanup(func() { _ = files.Close() })
	file, marks := filepath.Join(t.TempDir(), "ledger.db"), new(regionMarks)
	closing := func(region string, marks *regionMarks) error {
		l := &lazyLedger{files: files, path: file, region: region, marks: marks}
		return l.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: region, Lease: time.Minute, Window: time.Minute})
	}
	if err := closing("maas.example", marks); err != nil {
		t.Fatal(err)
	}
	if err := closing("10.0.0.2", marks); err == nil {
		t.Error("the other run does not see it")
	}
	if err := closing("other.example", &regionMarks{forbidden: true}); err != nil {
		t.Errorf("a user who may create no tag: %v", err)
	}
}

// TestLedgerAsksUnlocked asks a MAAS that does not answer for its mark. Others do not wait for
// that call, and each asks until its own ctx ends.
func TestLedgerAsksUnlocked(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	marks := &regionMarks{look: func(ctx context.Context) error {
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	l := &lazyLedger{files: new(Ledgers), path: MemoryLedger, region: "a", marks: marks}
	patient, giveUp := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { _, err := l.Rows(patient); first <- err }()
	<-asked
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	second := make(chan error, 1)
	go func() { _, err := l.Rows(short); second <- err }()
	select {
	case err := <-second:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the call of another one")
	}
	giveUp()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

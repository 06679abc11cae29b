package ledger

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestCutOff lists the keys of dead processes until a state names them. The lease of a living
// process is neither listed nor ended.
func TestCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, key := range []string{"o/dead", "other/dead"} {
		maker := startMaker(t, path, key)
		if err := maker.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = maker.Wait() // killed, so there is an error
	}
	l := openAt(t, path)
	for _, key := range []engine.Key{"o/alive", "o/done"} {
		release, err := l.Hold(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if key == "o/done" {
			release()
		}
	}
	want := func(reason string, keys ...engine.Key) {
		t.Helper()
		got, err := l.ListCutOff(t.Context(), "o/")
		if diff := cmp.Diff(keys, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", reason, err, diff)
		}
	}
	want("one of this owner is dead", "o/dead")
	for _, key := range []engine.Key{"o/alive", "o/none"} {
		if err := l.ClearCutOff(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	if have, err := l.LeaseTable().(leaseTable).readLease(t.Context(), "o/alive"); err != nil || have.Holder == "" {
		t.Errorf("the lease of who lives is %+v, %v", have, err)
	}
	if err := l.ClearCutOff(t.Context(), "o/dead"); err != nil {
		t.Error(err)
	}
	want("a state names it by now")
}

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

func TestDefaultPath(t *testing.T) {
	for name, tc := range map[string]struct{ state, home, want string }{
		"State":         {"/var/state", "/home/ann", "/var/state/maaslxd/ledger.db"},
		"Home":          {"", "/home/ann", "/home/ann/.local/state/maaslxd/ledger.db"},
		"RelativeState": {"state", "/home/ann", "/home/ann/.local/state/maaslxd/ledger.db"},
		"Homeless":      {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("Windows knows its users' homes by another variable")
			}
			t.Setenv("XDG_STATE_HOME", tc.state)
			t.Setenv("HOME", tc.home)
			got, err := DefaultPath()
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
			if refusal, ok := errors.AsType[*engine.Refusal](err); err != nil && (!ok || refusal.Hint == "") {
				t.Errorf("want a refusal with a hint, got %v", err)
			}
		})
	}
}

// TestFileOutlivesProcess wants the rows back after a restart, whatever characters the path has.
// No other user may read them.
func TestFileOutlivesProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a #folder?x=1%20", "ledger.db")
	first := openAt(t, path)
	row, _, err := first.Place(t.Context(), newReservation(t, first, "web-1", 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	wantModes(t, path)
	first.Close()
	second := openAt(t, path)
	if got, err := second.Row(t.Context(), "web-1"); err != nil || got.HostKey != row.HostKey {
		t.Errorf("got %+v, %v", got, err)
	}
}

func wantModes(t *testing.T, path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

// TestUnusableFile wants one clear error that names the file, and a way out.
func TestUnusableFile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spoil  func(t *testing.T, path string) string // returns the path to open
		says   string
		is     error
	}{
		"NoLedger": {
			reason: "Another file is not touched.",
			spoil: func(t *testing.T, path string) string {
				mustWriteFile(t, path, bytes.Repeat([]byte("no ledger "), 1000))
				return path
			},
			says: "damaged", is: engine.ErrInvalid,
		},
		"Damaged": {
			reason: "Pages in the middle are gone.",
			spoil: func(t *testing.T, path string) string {
				openAt(t, path).Close()
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for i := 4096; i < len(content); i++ {
					content[i] = 0xff
				}
				mustWriteFile(t, path, content)
				return path
			},
			says: "damaged", is: engine.ErrInvalid,
		},
		"Folder": {
			reason: "A folder is no file.",
			spoil:  func(t *testing.T, path string) string { return filepath.Dir(path) },
			says:   "it is a folder", is: engine.ErrForbidden,
		},
		"BelowFile": {
			reason: "There can be no folder where a file is.",
			spoil: func(t *testing.T, path string) string {
				mustWriteFile(t, path, nil)
				return filepath.Join(path, "ledger.db")
			},
			says: "cannot be written", is: engine.ErrForbidden,
		},
		"NextSchema": {
			reason: "A downgrade by one release is a downgrade, too.",
			spoil: func(t *testing.T, path string) string {
				l := openAt(t, path)
				defer l.Close()
				if err := l.store.exec(t.Context(), `INSERT INTO schema_version SELECT max(version) + 1 FROM schema_version`); err != nil {
					t.Fatal(err)
				}
				return path
			},
			says: "has schema 10, and this program knows schemas up to 9", is: engine.ErrConflict,
		},
		"NewerSchema": {
			reason: "An older program could misread what a newer one wrote.",
			spoil: func(t *testing.T, path string) string {
				l := openAt(t, path)
				defer l.Close()
				if err := l.store.exec(t.Context(), `INSERT INTO schema_version (version) VALUES (99)`); err != nil {
					t.Fatal(err)
				}
				return path
			},
			says: "has schema 99, and this program knows schemas up to 9", is: engine.ErrConflict,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tc.spoil(t, filepath.Join(t.TempDir(), "ledger.db"))
			l, err := OpenFile(t.Context(), path)
			if err == nil {
				_, err = l.PendingRows(t.Context())
				l.Close()
			}
			wantRefusal(t, tc.reason, err, path, tc.says, tc.is)
		})
	}
}

// TestUpgradeOfFirstSchema opens a file with the first schema and one VM. That schema named a host by a
// number, so the row is gone.
func TestUpgradeOfFirstSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	fileOfSchema(t, path, 1,
		`INSERT INTO reservations VALUES ('', 'web-1', 'web-1', 1, 'az1', '', 2, 2048, '{"default":8000000000}', 1, '[]', 'bound', 'abc123', 0, '', 1)`)
	l := openAt(t, path)
	if rows, err := l.Rows(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("got %+v, %v", rows, err)
	}
	row, _, err := l.Place(t.Context(), newReservation(t, l, "web-2", 1, 1))
	if err != nil || row.HostKey != "h1" {
		t.Errorf("got %+v, %v", row, err)
	}
}

func mustWriteFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantRefusal(t *testing.T, reason string, err error, path, says string, is error) {
	t.Helper()
	refusal, ok := errors.AsType[*engine.Refusal](err)
	if !ok || refusal.Hint == "" || !errors.Is(err, is) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), says) {
		t.Errorf("%s\nwant a refusal with a hint that names %s and says %q, got %v", reason, path, says, err)
	}
}

// TestReadOnly needs a user to whom file modes apply.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("the modes of files do not bind this user; TestWhileInUse has SQLite's own refusal")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	openAt(t, path).Close()
	if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Error(err)
		}
	})
	for _, p := range []string{path, filepath.Join(dir, "other.db"), filepath.Join(dir, "folder", "ledger.db")} {
		_, err := OpenFile(t.Context(), p)
		wantRefusal(t, "What cannot be written is no ledger.", err, p, "cannot be written", engine.ErrForbidden)
	}
}

// TestWhileInUse makes SQLite itself fail while the ledger is in use.
func TestWhileInUse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		wall string // statement that makes the next write fail
		says string
		is   error
	}{
		"Full":     {`PRAGMA max_page_count = 1`, "no space left", engine.ErrUnavailable},
		"ReadOnly": {`PRAGMA query_only = 1`, "cannot be written", engine.ErrForbidden},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			l := openAt(t, path)
			if _, err := l.store.DB.ExecContext(t.Context(), tc.wall); err != nil {
				t.Fatal(err)
			}
			var err error
			for n := 0; err == nil && n < 100; n++ {
				r := newReservation(t, l, engine.Key(fmt.Sprint("vm-", n)), 1000, 1)
				r.Name = strings.Repeat("x", 1000)
				_, _, err = l.Place(t.Context(), r)
			}
			wantRefusal(t, "A wall in use is a wall.", err, path, tc.says, tc.is)
			if _, err := l.PendingRows(t.Context()); err != nil {
				t.Errorf("What is there can still be read.\ngot %v", err)
			}
		})
	}
}

// TestClassifyResultCode checks the meaning of result codes that no other test can cause.
func TestClassifyResultCode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		code   int
		says   string
	}{
		"FullShm":  {"On a full disk the index of the log is what cannot grow first.", 4874, "no space left"},
		"Full":     {"The file cannot grow.", 13, "no space left"},
		"Failing":  {"A disk that fails is not full.", 10 | 1<<8, "cannot be read or written"},
		"NoLedger": {"SQLite cannot read it.", 26, "is not a ledger"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err, _ := classifyResultCode("/x/ledger.db", tc.code, errors.New("disk I/O error"))
			var refusal *engine.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "/x/ledger.db") || refusal.Hint == "" {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}

// TestCallerGivesUp wants a call to end when its caller gives up while another program has the file
// locked.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	other, l := openAt(t, path), openAt(t, path)
	if _, err := other.store.DB.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := l.MarkLeaving(ctx, "web-1")
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second {
		t.Errorf("got %v after %s", err, took)
	}
	if _, err := l.CurrentTag(t.Context()); err != nil {
		t.Errorf("A reader does not wait for a writer.\ngot %v", err)
	}
}

// TestOpenTogether lets many goroutines create one file at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	const openers = 8
	var wg sync.WaitGroup
	for n := range openers {
		wg.Go(func() {
			l, err := OpenFile(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			row := engine.Row{Key: engine.Key(fmt.Sprint("vm-", n)), HostKey: "h1", SystemID: fmt.Sprint(n)}
			if err := l.Bind(t.Context(), row); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l := openAt(t, path)
	rows, err := l.Rows(t.Context())
	if err != nil || len(rows) != openers {
		t.Errorf("%d rows of %d, %v", len(rows), openers, err)
	}
	if tag, err := l.CurrentTag(t.Context()); err != nil || tag.Sequence != openers {
		t.Errorf("got the tag %v after %d binds, %v", tag, openers, err)
	}
}

// TestStatementsOfReplicatedDatabase checks what a replicated database demands of the SQL. It may apply a statement
// twice, and fails at a statement that returns rows.
func TestStatementsOfReplicatedDatabase(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	returning, insert := regexp.MustCompile(`\bRETURNING\b`), regexp.MustCompile("(?s)INSERT INTO reservations[^`]*`")
	inserts := 0
	for _, name := range sources {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if returning.Match(content) {
			t.Errorf("%s returns rows from a write", name)
		}
		for _, statement := range insert.FindAll(content, -1) {
			inserts++
			if !bytes.Contains(statement, []byte("ON CONFLICT")) {
				t.Errorf("%s inserts without a word on what is there already:\n%s", name, statement)
			}
		}
	}
	if inserts != 4 {
		t.Errorf("looked at %d inserts, know of 4", inserts)
	}
}

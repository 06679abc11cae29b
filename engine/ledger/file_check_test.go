//go:build !windows

package ledger

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// makeForeignDatabase makes a database of another program.
func makeForeignDatabase(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE passwords (site TEXT); INSERT INTO passwords VALUES ('here')`); err != nil {
		t.Fatal(err)
	}
}

// TestForeignFile: a file that is no ledger of this user is refused, and stays unchanged.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		make   func(t *testing.T, folder, path string)
		says   string
	}{
		"Database": {"Another program needs its database.", func(t *testing.T, _, path string) { makeForeignDatabase(t, path) }, "database of another program"},
		"Link": {"It may lead to another program's.", func(t *testing.T, folder, path string) {
			makeForeignDatabase(t, filepath.Join(folder, "other.db"))
			must(t, os.Symlink(filepath.Join(folder, "other.db"), path))
		}, "symbolic link"},
		"DanglingLink": {"It would be made elsewhere.", func(t *testing.T, folder, path string) {
			must(t, os.Symlink(filepath.Join(folder, "nothing"), path))
		}, "symbolic link"},
		"Pipe":       {"Nobody would ever read it.", func(t *testing.T, _, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, "not a regular file"},
		"OpenFolder": {"Others could put theirs in its place.", func(t *testing.T, folder, _ string) { must(t, os.Chmod(folder, 0o777)) }, "writable for all"},
		"Anothers": {"Another user could put anything in it.", func(t *testing.T, _, path string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give a file to another user")
			}
			must(t, os.WriteFile(path, nil, 0o666))
			must(t, os.Chown(path, 65534, 65534))
		}, "another user"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path := filepath.Join(folder, "ledger.db")
			tc.make(t, folder, path)
			before := readFilesIn(t, folder)
			l, err := OpenFile(t.Context(), path)
			if err == nil {
				l.Close()
			}
			var refusal *engine.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) || refusal.Hint == "" {
				t.Errorf("%s\nwant a refusal that says %q, got %v", tc.reason, tc.says, err)
			}
			for name, content := range readFilesIn(t, folder) {
				if had, ok := before[name]; name != "ledger.db" && !ok || !bytes.Equal(had, content) {
					t.Errorf("%s\n%s was made or changed", tc.reason, name)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readFilesIn returns the contents of the regular files in a folder.
func readFilesIn(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found[path], err = os.ReadFile(filepath.Join(folder, path))
		}
		return err
	})
	must(t, err)
	return found
}

// TestFileIsPrivate: opening a ledger takes the rights of other users away, and writes its
// application id.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	openAt(t, path).Close()
	must(t, os.Chmod(path, 0o666))
	l := openAt(t, path)
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v, want 0600", info.Mode(), err)
	}
	var id int64
	if err := l.store.queryRow(t.Context(), `PRAGMA application_id`, nil, &id); err != nil || id != applicationID {
		t.Errorf("the application id is %#x, %v", id, err)
	}
}

// TestOwnerFile: the owner is made once, in a file that only this user can read. Other content of
// that file is an error.
func TestOwnerFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "ledger.db")
	if _, err := ReadOwner(path); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("there is none yet: %v", err)
	}
	one, two := NewOwner(), NewOwner()
	if one == two {
		t.Fatalf("two owners are called %s", one)
	}
	for _, owner := range []string{one, two} {
		if got, err := EnsureOwner(path, owner); err != nil || got != one {
			t.Errorf("the owner is %q, %v, want the first, %q", got, err, one)
		}
	}
	kept := filepath.Join(filepath.Dir(path), ownerFile)
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v, want 0600", info, err)
	}
	if left := readFilesIn(t, filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
	cases := map[string]func() error{
		"Link":    func() error { return errors.Join(os.Remove(kept), os.Symlink("/etc/hostname", kept)) },
		"Open":    func() error { return errors.Join(os.WriteFile(kept, []byte("x"), 0o600), os.Chmod(kept, 0o666)) },
		"Empty":   func() error { return os.WriteFile(kept, nil, 0o600) },
		"Slashed": func() error { return os.WriteFile(kept, []byte("a/b"), 0o600) },
	}
	for name, spoil := range cases {
		must(t, os.RemoveAll(kept))
		must(t, os.WriteFile(kept, []byte("mine"), 0o600))
		must(t, spoil())
		if owner, err := ReadOwner(path); !errors.Is(err, engine.ErrForbidden) {
			t.Errorf("%s: want it refused, got %q, %v", name, owner, err)
		}
	}
}

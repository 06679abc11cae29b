package fleetkey

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestKeyPlace: a place where no pair can be made is told in a sentence, with the
// file, the settings and a way out, and nothing is left there.
func TestKeyPlace(t *testing.T) {
	t.Parallel()
	refusing := func(errno syscall.Errno) func(string, string) error {
		return func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: errno} }
	}
	cases := map[string]struct {
		reason string
		link   func(from, to string) error
		says   string
	}{
		"FAT":    {"It knows no links, and says so.", refusing(syscall.EPERM), "makes no hard links"},
		"NFS":    {"Some servers do not offer them.", refusing(syscall.ENOTSUP), "makes no hard links"},
		"Full":   {"The pair does not fit.", func(string, string) error { return &fs.PathError{Op: "write", Err: syscall.ENOSPC} }, "no space left"},
		"Closed": {"It may not be written.", func(string, string) error { return &fs.PathError{Op: "open", Err: syscall.EACCES} }, "permission denied"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			wantPlace(t, tc.reason, createKeyFile(filepath.Join(folder, KeyFile), tc.link), tc.says)
			if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
				t.Errorf("%s\nleft: %v, %v", tc.reason, left, err)
			}
		})
	}
	t.Run("Dangling", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		path := filepath.Join(folder, KeyFile)
		if err := os.Symlink(filepath.Join(folder, "elsewhere"), path); err != nil {
			t.Fatal(err)
		}
		_, err := LoadOrCreate(path, time.Now())
		wantPlace(t, "It leads to nothing.", err, "symbolic link")
	})
}

func wantPlace(t *testing.T, reason string, err error, says string) {
	t.Helper()
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, says) || !strings.Contains(refusal.Hint, "lxd_client_cert") || strings.Contains(err.Error(), ".lxd-client.pem.") {
		t.Errorf("%s\ngot %v", reason, err)
	}
}

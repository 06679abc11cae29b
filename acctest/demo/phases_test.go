package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCopyConfiguration(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	wantError(t, "A folder without a configuration is the wrong one.", copyConfiguration(from, to), "name another directory with -config")
	for _, name := range []string{"main.tf", "terraform.tfstate"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyConfiguration(from, to); err != nil {
		t.Fatal(err)
	}
	copied, err := filepath.Glob(filepath.Join(to, "*"))
	if diff := cmp.Diff([]string{filepath.Join(to, "main.tf")}, copied); err != nil || diff != "" {
		t.Errorf("a state must not be copied: %v, -want +got:\n%s", err, diff)
	}
}

func TestWithoutOurs(t *testing.T) {
	t.Parallel()
	got := withoutProviderVariables([]string{"HOME=/home/u", "MAASLXD_LEDGER=/home/u/ledger.db", "MAASLXD_LXD_CLIENT_KEY=secret"})
	if diff := cmp.Diff([]string{"HOME=/home/u"}, got); diff != "" {
		t.Errorf("the demo must not touch the user's ledger or key, -want +got:\n%s", diff)
	}
}

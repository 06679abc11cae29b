package acctest_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// withLedgerAt is a configuration whose ledger is at a path.
func (x *target) withLedgerAt(path, body string) string {
	return x.configWith(fmt.Sprintf("poll_interval = \"50ms\"\n  ledger = %q", path), body)
}

// TestAccLedgerUnusable wants one clear error for each unusable ledger, which
// names the attribute. Nothing may be made.
func TestAccLedgerUnusable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		path   func(t *testing.T, dir string) string
		want   string
	}{
		"Damaged": {
			reason: "The provider does not overwrite a file that is not a ledger.",
			path: func(t *testing.T, dir string) string {
				return writeText(t, filepath.Join(dir, "ledger.db"), strings.Repeat("no ledger ", 1000))
			},
			want: `The ledger cannot be used is damaged, or is not a ledger MAASLXD_LEDGER`,
		},
		"Folder": {
			reason: "The ledger is a file and not a folder.",
			path:   func(_ *testing.T, dir string) string { return dir },
			want:   `The ledger cannot be used MAASLXD_LEDGER`,
		},
		"BelowAFile": {
			reason: "The folder of the ledger cannot be made below a file.",
			path: func(t *testing.T, dir string) string {
				return filepath.Join(writeText(t, filepath.Join(dir, "file"), ""), "ledger.db")
			},
			want: `The ledger cannot be used not a directory MAASLXD_LEDGER`,
		},
		"Unwritable": {
			reason: "Not even root can make the folder, and the first create finds that out.",
			path:   func(*testing.T, string) string { return "/proc/maaslxd/ledger.db" },
			want:   `Cannot create VM cannot be written /proc/maaslxd MAASLXD_LEDGER`,
		},
		"Newer": {
			reason: "An older program does not change a ledger of a newer one.",
			path: func(t *testing.T, dir string) string {
				path := filepath.Join(dir, "ledger.db")
				setSchemaVersion(t, path, 99)
				return path
			},
			want: `The ledger cannot be used schema 99 newer version MAASLXD_LEDGER`,
		},
		"Home": {
			reason: "Only a shell replaces ~ by the home folder.",
			path:   func(*testing.T, string) string { return "~/ledger.db" },
			want:   `begins with ~ pathexpand("~/ledger.db")`,
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			w := newWorkspace(t, x.withLedgerAt(tc.path(t, t.TempDir()), x.vm(x.name())))
			cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := cmd.Run(); err == nil {
				t.Errorf("%s\nthe apply passed:\n%s", tc.reason, out)
			}
			if n := strings.Count(out.String(), "Error: "); n != 1 || !wordsPattern(tc.want).MatchString(out.String()) {
				t.Errorf("%s\nwant one error with the words %s, got %d:\n%s", tc.reason, tc.want, n, out)
			}
			if n, counted := x.countCalls(t, composeRoute()); counted && n != 0 {
				t.Errorf("%s\n%d VMs were composed", tc.reason, n)
			}
		})
	}
}

func writeText(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// setSchemaVersion gives a ledger the version of a later schema.
func setSchemaVersion(t *testing.T, path string, version int) {
	t.Helper()
	l, err := ledger.OpenFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO schema_version (version) VALUES (?)`, version); err != nil {
		t.Fatal(err)
	}
}

// TestAccLedgerFile follows the file through a run. A plan makes none. An apply
// makes one that only its user may read, and leaves nothing open.
func TestAccLedgerFile(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	dir := filepath.Join(t.TempDir(), "state", "maaslxd")
	name := x.name()
	w := newWorkspace(t, x.withLedgerAt(filepath.Join(dir, "ledger.db"),
		x.vm(name)+"data \"maaslxd_vm_hosts\" \"all\" {}\n"))
	w.run(t, "validate", "-no-color")
	w.run(t, "plan", "-no-color")
	if files := fileNames(t, filepath.Dir(dir)); len(files) != 0 {
		t.Errorf("a plan has made %q", files)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	if files := fileNames(t, dir); !slices.Equal(files, []string{"ledger.db"}) {
		t.Errorf("an apply leaves %q, want the ledger alone", files)
	}
	info, err := os.Stat(filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the ledger has mode %v", info.Mode())
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkVMGone(name)(nil); err != nil {
		t.Error(err)
	}
}

// fileNames are the names of the files in a folder. A missing folder has none.
func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestAccLedgerInMemory needs no file, and works where none could be made.
func TestAccLedgerInMemory(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	w := newWorkspace(t, x.withLedgerAt("memory", x.vm(name)))
	w.env = withoutVariables(w.env, "HOME", "XDG_STATE_HOME", ledgerVariable)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if slices.Contains(fileNames(t, w.dir), "memory") {
		t.Error("a file called memory was made")
	}
	if err := x.checkVMGone(name)(nil); err != nil {
		t.Error(err)
	}
}

// TestAccLedgerHomeless has no place for the default file. Data sources work
// without it, and a create says what to set.
func TestAccLedgerHomeless(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config("data \"maaslxd_vm_hosts\" \"all\" {}\n"))
	w.env = withoutVariables(w.env, "HOME", "XDG_STATE_HOME", ledgerVariable)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(x.vm(x.name())))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil {
		t.Fatalf("a VM was made without a ledger:\n%s", out)
	}
	if !wordsPattern(`no home directory ledger in the provider block MAASLXD_LEDGER memory`).MatchString(out.String()) {
		t.Errorf("got:\n%s", out)
	}
	if n, counted := x.countCalls(t, composeRoute()); counted && n != 0 {
		t.Errorf("%d VMs were composed", n)
	}
}

// withoutVariables removes variables from an environment.
func withoutVariables(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// TestAccLedgerDefault finds the default file in the user's state directory.
func TestAccLedgerDefault(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name)))
	state := t.TempDir()
	w.env = append(withoutVariables(w.env, "XDG_STATE_HOME", ledgerVariable), "XDG_STATE_HOME="+state)
	w.run(t, "apply", "-auto-approve", "-no-color")
	if files := fileNames(t, filepath.Join(state, "maaslxd")); !slices.Equal(files, []string{"ledger.db"}) {
		t.Errorf("the state directory has %q", files)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccLedgerTwoApplies runs two configurations at once on one ledger, for
// VMs that fill the hosts exactly. All VMs find room, and no host gets too
// many.
func TestAccLedgerTwoApplies(t *testing.T) {
	t.Parallel()
	const cores, each = 4, 4 // two hosts with 4 cores each, and two runs of 4 VMs
	x := newSimulatedTarget(t, func(m *sim.Model) {
		for i := range m.Hosts {
			m.Hosts[i].Cores = cores
		}
	})
	path := filepath.Join(t.TempDir(), "ledger.db")
	type apply struct {
		w    workspace
		done chan error
		out  fmt.Stringer
	}
	var applies []apply
	for _, owner := range []string{"a", "b"} {
		config := x.configWith(fmt.Sprintf("poll_interval = \"50ms\"\n  ledger = %q", path), fmt.Sprintf(
			"resource \"maaslxd_vm\" \"test\" {\n  count = %d\n  name = \"%s-%s-${count.index}\"\n  cores = 1\n  memory_mib = 1024\n  placement = {}\n}\n",
			each, x.name(), owner))
		w := newWorkspace(t, config)
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		done := make(chan error, 1)
		go func() { done <- cmd.Run() }()
		applies = append(applies, apply{w, done, out})
	}
	for _, a := range applies {
		if err := <-a.done; err != nil {
			t.Fatalf("%v\n%s", err, a.out)
		}
	}
	on := map[string]int{}
	for _, i := range x.instances() {
		on[i.Host] += i.Cores
	}
	if on["lxd1"] != cores || on["lxd2"] != cores || len(on) != 2 {
		t.Errorf("the hosts have %v cores in use, want %d each", on, cores)
	}
	if n, counted := x.countCalls(t, composeRoute()); counted && n != 2*each {
		t.Errorf("%d composes for %d VMs", n, 2*each)
	}
	for _, a := range applies {
		a.w.run(t, "plan", "-detailed-exitcode", "-no-color")
		a.w.run(t, "destroy", "-auto-approve", "-no-color")
	}
	if left := x.instances(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

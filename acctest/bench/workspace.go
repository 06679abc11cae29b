package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// stopTimeout is how long an interrupted CLI may take to save its state.
const stopTimeout = 30 * time.Second

// workspace is a folder with one side's configuration and state, and the
// simulated MAAS that it is for.
type workspace struct {
	dir  string
	cli  cli.CLI
	env  []string
	maas *sim.Server
}

// newWorkspace makes a folder and a MAAS, both for one side and one workload.
func newWorkspace(found cli.CLI, s side, l workload) (*workspace, error) {
	maas, err := sim.New(l.kind.model(l.n, l.times))
	if err != nil {
		return nil, err
	}
	server, err := sim.ServeAt(maas, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "maaslxd-bench-")
	if err != nil {
		_ = server.Stop()
		return nil, err
	}
	w := &workspace{dir: dir, cli: found, maas: server}
	rc, err := s.install(dir, l.kind)
	if err != nil {
		w.close()
		return nil, err
	}
	w.env = append(found.WithOverrides(os.Environ(), rc),
		"TF_INPUT=0", "MAAS_API_URL="+server.URL, "MAAS_API_KEY="+server.APIKey(),
		"MAASLXD_LEDGER="+filepath.Join(dir, "ledger.db"),
		providerVariable+"="+s.binary, usageVariable+"="+w.usageFile(),
		"TF_VAR_hosts="+strconv.Itoa(vmHosts), "TF_VAR_"+l.kind.variable+"="+strconv.Itoa(l.n))
	return w, nil
}

// close stops the MAAS and removes the folder.
func (w *workspace) close() {
	_ = w.maas.Stop()
	_ = os.RemoveAll(w.dir)
}

// usageFile is the file that stand-ins write to.
func (w *workspace) usageFile() string { return filepath.Join(w.dir, "usage.json") }

// runCommand empties the journal, runs one command with the variables, and
// measures it. It returns the journal, too.
func (w *workspace) runCommand(ctx context.Context, args, variables []string) (measurement, sim.Journal, error) {
	if err := os.RemoveAll(w.usageFile()); err != nil {
		return measurement{}, sim.Journal{}, err
	}
	w.maas.ResetJournal()
	cmd := exec.CommandContext(ctx, w.cli.Path, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env = w.dir, slices.Concat(w.env, variables)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopTimeout
	before, statErr := readCPUTimes()
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	used, usageErr := readUsage(w.usageFile())
	switch {
	case err != nil:
		return measurement{}, sim.Journal{}, fmt.Errorf("%s %s: %w\n%s", filepath.Base(w.cli.Path), strings.Join(args, " "), err, out.Bytes())
	case usageErr != nil:
		return measurement{}, sim.Journal{}, usageErr
	}
	journal := w.maas.Journal()
	m := measureJournal(journal, wall, used)
	if after, err := readCPUTimes(); err == nil && statErr == nil {
		m.OthersShare = before.shareOfOthers(after, wall)
	}
	return m, journal, nil
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// applyResult is what one apply used.
type applyResult struct {
	calls      int // to MAAS
	maasWrites int // of the calls, those other than GET
	commits    int // to the file, where the ledger is one
	requests   map[string]int
	wall       time.Duration
}

// The ledgers with which VMs are made.
const (
	ledgerFile    = "file"
	ledgerService = "service"
)

// measureApplies makes VMs with a file and with a service by turns.
func (b *bench) measureApplies(ctx context.Context) error {
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return err
	}
	found, err := finder.Find(ctx)
	if err != nil {
		return err
	}
	s, err := b.startService(ctx, "applies", 0)
	if s != nil {
		defer s.stop()
	}
	if err != nil {
		return err
	}
	b.applies = map[string][]applyResult{}
	for n := range b.options.applies {
		for _, with := range []string{ledgerFile, ledgerService} {
			b.logProgress("apply of %d VMs with a %s, %d of %d", b.vms, with, n+1, b.options.applies)
			dir := filepath.Join(b.dir, fmt.Sprintf("apply-%s-%d", with, n))
			run := map[string]func(context.Context, *workspace) (applyResult, error){ledgerFile: applyWithFile, ledgerService: s.applyWithService}[with]
			a, err := b.applyInWorkspace(ctx, found, dir, run)
			if err != nil {
				return fmt.Errorf("apply with a %s: %w", with, err)
			}
			b.applies[with] = append(b.applies[with], a)
		}
	}
	return nil
}

// applyInWorkspace makes the VMs on a MAAS of their own.
func (b *bench) applyInWorkspace(ctx context.Context, found cli.CLI, dir string, run func(context.Context, *workspace) (applyResult, error)) (applyResult, error) {
	w, err := newWorkspace(ctx, found, dir, b.bin, b.vms)
	if err != nil {
		return applyResult{}, err
	}
	defer w.close()
	return run(ctx, w)
}

// applyWithFile applies with a file, and counts the commits to it.
func applyWithFile(ctx context.Context, w *workspace) (applyResult, error) {
	path := filepath.Join(w.dir, "ledger.db")
	l, err := ledger.OpenFile(ctx, path) // commits of the schema do not count
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return applyResult{}, err
	}
	counter, err := countCommits(ctx, path)
	if err != nil {
		return applyResult{}, err
	}
	defer counter.close()
	a, err := w.apply(ctx, "MAASLXD_LEDGER="+path)
	if err != nil {
		return a, err
	}
	a.commits, err = counter.countSoFar()
	return a, err
}

// applyWithService applies with the service, and counts the requests to it.
func (s *service) applyWithService(ctx context.Context, w *workspace) (applyResult, error) {
	env := []string{"MAASLXD_LEDGER=" + s.addresses(0)}
	for name, text := range map[string]string{"CA": s.keys.CA, "CERT": s.keys.Certificate, "KEY": s.keys.Key} {
		path := filepath.Join(w.dir, name+".pem")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return applyResult{}, err
		}
		env = append(env, "MAASLXD_LEDGER_"+name+"="+path)
	}
	before, err := s.requests(ctx)
	if err != nil {
		return applyResult{}, err
	}
	a, err := w.apply(ctx, env...)
	if err != nil {
		return a, err
	}
	a.requests, err = s.requests(ctx)
	for name, n := range before {
		a.requests[name] -= n
	}
	return a, err
}

// requests returns how many requests the first node has answered, by operation.
func (s *service) requests(ctx context.Context) (map[string]int, error) {
	text, err := getPage(ctx, "http://"+s.nodes[0].health+"/metrics")
	if err != nil {
		return nil, err
	}
	return parseRequests(text)
}

// parseRequests reads the number of requests by operation from a page of
// metrics.
func parseRequests(metrics string) (map[string]int, error) {
	all := map[string]int{}
	for line := range strings.Lines(metrics) {
		labels, ok := strings.CutPrefix(line, `maaslxd_ledger_requests_total{operation="`)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(labels, `"`)
		_, value, _ := strings.Cut(labels, "} ")
		var n float64
		if _, err := fmt.Sscan(value, &n); err != nil {
			return nil, fmt.Errorf("the metrics have the line %q: %w", line, err)
		}
		all[name] += int(n)
	}
	return all, nil
}

// serviceOnlyReads are the reads that a file does not need: whoever has the
// file may write all of it.
var serviceOnlyReads = []string{wire.OpHello.Name, wire.OpMayWrite.Name}

// roundTrips counts the requests that write, and those that a file does not
// need.
func (a applyResult) roundTrips() int {
	n := 0
	for _, o := range wire.Operations {
		if o.Writes || slices.Contains(serviceOnlyReads, o.Name) {
			n += a.requests[o.Name]
		}
	}
	return n
}

// reads counts all other requests.
func (a applyResult) reads() int {
	n := 0
	for _, of := range a.requests {
		n += of
	}
	return n - a.roundTrips()
}

// sumUp counts the calls of a journal.
func sumUp(j sim.Journal) applyResult {
	a := applyResult{calls: j.Total()}
	for _, c := range j.Calls {
		if !strings.HasPrefix(c.Route, http.MethodGet+" ") {
			a.maasWrites++
		}
	}
	return a
}

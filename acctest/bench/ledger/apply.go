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

// applied is what an apply came to.
type applied struct {
	calls      int // of MAAS
	maasWrites int // of them, those that are no GET
	commits    int // to the file, where the ledger is one
	requests   map[string]int
	wall       time.Duration
}

// The ledgers with which VMs are made.
const (
	withFile    = "file"
	withService = "service"
)

// apply makes VMs with a file and with a service in turn.
func (b *bench) apply(ctx context.Context) error {
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
	b.applies = map[string][]applied{}
	for n := range b.options.applies {
		for _, with := range []string{withFile, withService} {
			b.say("apply of %d VMs with a %s, %d of %d", b.vms, with, n+1, b.options.applies)
			dir := filepath.Join(b.dir, fmt.Sprintf("apply-%s-%d", with, n))
			run := map[string]func(context.Context, *space) (applied, error){withFile: applyByFile, withService: s.applyBy}[with]
			a, err := b.applyIn(ctx, found, dir, run)
			if err != nil {
				return fmt.Errorf("apply with a %s: %w", with, err)
			}
			b.applies[with] = append(b.applies[with], a)
		}
	}
	return nil
}

// applyIn makes the VMs on a MAAS of their own.
func (b *bench) applyIn(ctx context.Context, found cli.CLI, dir string, run func(context.Context, *space) (applied, error)) (applied, error) {
	w, err := newSpace(ctx, found, dir, b.bin, b.vms)
	if err != nil {
		return applied{}, err
	}
	defer w.close()
	return run(ctx, w)
}

// applyByFile applies with a file, and counts what is committed to it.
func applyByFile(ctx context.Context, w *space) (applied, error) {
	path := filepath.Join(w.dir, "ledger.db")
	l, err := ledger.Open(ctx, path) // its schema does not count
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return applied{}, err
	}
	counter, err := countCommits(ctx, path)
	if err != nil {
		return applied{}, err
	}
	defer counter.close()
	a, err := w.apply(ctx, "MAASLXD_LEDGER="+path)
	if err != nil {
		return a, err
	}
	a.commits, err = counter.commits()
	return a, err
}

// applyBy applies with the service, and counts what it is asked.
func (s *service) applyBy(ctx context.Context, w *space) (applied, error) {
	env := []string{"MAASLXD_LEDGER=" + s.addresses(0)}
	for name, text := range map[string]string{"CA": s.keys.CA, "CERT": s.keys.Certificate, "KEY": s.keys.Key} {
		path := filepath.Join(w.dir, name+".pem")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return applied{}, err
		}
		env = append(env, "MAASLXD_LEDGER_"+name+"="+path)
	}
	before, err := s.requests(ctx)
	if err != nil {
		return applied{}, err
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

// requests are how many requests the first node has answered, by operation.
func (s *service) requests(ctx context.Context) (map[string]int, error) {
	text, err := get(ctx, "http://"+s.nodes[0].health+"/metrics")
	if err != nil {
		return nil, err
	}
	return requestsIn(text)
}

// requestsIn sums up the requests in a page of metrics, by operation.
func requestsIn(metrics string) (map[string]int, error) {
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

// withoutFile are the reads that nobody makes of a file: who has it may write all of it.
var withoutFile = []string{wire.Hello.Name, wire.MayWrite.Name}

// roundTrips are the requests that write, and those that a file does without.
func (a applied) roundTrips() int {
	n := 0
	for _, o := range wire.Operations {
		if o.Writes || slices.Contains(withoutFile, o.Name) {
			n += a.requests[o.Name]
		}
	}
	return n
}

// reads are all other requests.
func (a applied) reads() int {
	n := 0
	for _, of := range a.requests {
		n += of
	}
	return n - a.roundTrips()
}

// sumUp counts the calls of a journal.
func sumUp(j sim.Journal) applied {
	a := applied{calls: j.Total()}
	for _, c := range j.Calls {
		if !strings.HasPrefix(c.Route, http.MethodGet+" ") {
			a.maasWrites++
		}
	}
	return a
}

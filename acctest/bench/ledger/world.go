package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

// The names of the sides.
const (
	fileName  = "file"
	oneFile   = "service, file"
	oneNode   = "service, 1 node"
	manyNodes = "service, 3 nodes"
	manyApart = "service, 3 nodes, writers apart"
	etcdName  = "etcd, 3 nodes"
)

// world is all sides, which run at the same time.
type world struct {
	options
	sides []side
	ends  []func()
}

// close ends all of them, the last one first.
func (w *world) close() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
}

// open starts all sides.
func (w *world) open(ctx context.Context) error {
	dir, err := os.MkdirTemp(w.dir, "maaslxd-bench-")
	if err != nil {
		return err
	}
	w.ends = append(w.ends, func() { _ = os.RemoveAll(dir) })
	file, end, err := fileSide(ctx, dir)
	if err != nil {
		return err
	}
	w.ends, w.sides = append(w.ends, func() { _ = end() }), append(w.sides, file)
	if err := w.openServices(ctx, dir); err != nil {
		return err
	}
	if err := w.openEtcd(ctx, filepath.Join(dir, "etcd")); err != nil {
		return err
	}
	w.sides = slices.DeleteFunc(w.sides, func(s side) bool { return !w.has(s.name) })
	return nil
}

// openServices starts the services: on a file, on one node, on three.
func (w *world) openServices(ctx context.Context, dir string) error {
	cluster := filepath.Join(w.bin, "cluster", "capi-bridge")
	file, err := newFileService(filepath.Join(w.bin, "capi-bridge"), filepath.Join(dir, "service"))
	if err != nil {
		return err
	}
	one, err := newCluster(ctx, cluster, filepath.Join(dir, "one"), 1)
	if err != nil {
		return err
	}
	three, err := newCluster(ctx, cluster, filepath.Join(dir, "three"), 3)
	if err != nil {
		return err
	}
	for name, s := range map[string]*service{oneFile: file, oneNode: one, manyNodes: three} {
		w.ends = append(w.ends, s.stop)
		if err := s.start(ctx, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, each := range []struct {
		name string
		of   *service
		at   func(int) int
	}{{oneFile, file, together}, {oneNode, one, together}, {manyNodes, three, together}, {manyApart, three, apart}} {
		s, err := each.of.side(ctx, each.name, each.at)
		if err != nil {
			return err
		}
		w.sides = append(w.sides, s)
	}
	return nil
}

func (w *world) openEtcd(ctx context.Context, dir string) error {
	builder, err := programs.NewBuilder(ctx)
	if err != nil {
		return err
	}
	bin, err := builder.Build(ctx, programs.Etcd)
	if err != nil {
		return err
	}
	e, err := startEtcd(ctx, bin.Path(programs.Etcd), dir)
	if e != nil {
		w.ends = append(w.ends, e.stop)
	}
	if err == nil {
		w.sides = append(w.sides, e.side())
	}
	return err
}

// grid is a table of the sides with a number of writers.
func grid(sides []side, all []result, writers int) report.Grid {
	g := report.Grid{Title: fmt.Sprintf("Reservations, writers: %d", writers), Head: []string{"", "p50", "p99", "a second"}}
	for i, r := range all {
		g.Rows = append(g.Rows, []string{sides[i].name, milliseconds(r.percentile(50)), milliseconds(r.percentile(99)), report.Number(r.perSecond())})
	}
	return g
}

func milliseconds(d time.Duration) string { return report.Number(d.Seconds()*1000) + " ms" }

// judge holds the sides to the limits, which are ratios of throughputs at 8 writers. A
// verdict says how many times faster the other side may be.
func judge(sides []side, all []result, writers int) []report.Verdict {
	var verdicts []report.Verdict
	for _, l := range []struct {
		side, other string
		least       float64
	}{{oneFile, fileName, 0.5}, {manyNodes, etcdName, 0.3}} {
		i := slices.IndexFunc(sides, func(s side) bool { return s.name == l.side })
		j := slices.IndexFunc(sides, func(s side) bool { return s.name == l.other })
		if writers != 8 || i < 0 || j < 0 {
			continue
		}
		verdicts = append(verdicts, report.Verdict{
			Budget: fmt.Sprintf("reservations a second of %q over %q", l.other, l.side), Where: fmt.Sprintf("%d writers", writers),
			Limit: 1 / l.least, Have: all[j].perSecond() / all[i].perSecond(),
		})
	}
	return verdicts
}

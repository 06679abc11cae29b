// Ledger measures the stores of a ledger against each other and against etcd, and holds
// them to limits.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

var (
	rounds = flag.Int("rounds", 5, "")
	each   = flag.Int("n", 200, "")
	only   = flag.String("dir", "", "")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	builder, err := programs.NewBuilder(ctx)
	if err != nil {
		return err
	}
	bin, err := builder.Build(ctx, programs.Etcd)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(*only, "ledger-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var sides []side
	f, closeFile, err := fileSide(ctx, dir)
	if err != nil {
		return err
	}
	defer closeFile()
	sides = append(sides, f)
	file, err := newFileService("bin/capi-bridge", filepath.Join(dir, "service"))
	if err != nil {
		return err
	}
	one, err := newCluster(ctx, "bin/cluster/capi-bridge", filepath.Join(dir, "one"), 1)
	if err != nil {
		return err
	}
	three, err := newCluster(ctx, "bin/cluster/capi-bridge", filepath.Join(dir, "three"), 3)
	if err != nil {
		return err
	}
	for i, s := range []*service{file, one, three} {
		defer s.stop()
		if err := s.start(ctx, filepath.Join(dir, fmt.Sprint("keys", i))); err != nil {
			return err
		}
		side, err := s.side(ctx, []string{"service, file", "service, 1 node", "service, 3 nodes"}[i])
		if err != nil {
			return err
		}
		sides = append(sides, side)
	}
	e, err := startEtcd(ctx, bin.Path(programs.Etcd), filepath.Join(dir, "etcd"))
	if e != nil {
		defer e.stop()
	}
	if err != nil {
		return err
	}
	sides = append(sides, e.side())
	fmt.Println(report.Load())
	for _, writers := range []int{1, 8, 32} {
		all, err := alternate(ctx, sides, writers, *rounds, *each)
		if err != nil {
			return err
		}
		for i, r := range all {
			fmt.Printf("writers %2d  %-18s p50 %8v p99 %8v  %7.1f/s\n", writers, sides[i].name,
				r.percentile(50).Round(10*time.Microsecond), r.percentile(99).Round(10*time.Microsecond), r.perSecond())
		}
	}
	return nil
}

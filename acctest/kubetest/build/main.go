// Build builds programs for tests of the Cluster API bridge, and prints where
// they are.
//
//	build                        builds all of them
//	build etcd kube-apiserver    builds these, where they are missing
//
// It exits with 1 where a build fails.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := buildPrograms(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// buildPrograms builds the programs and prints their paths.
func buildPrograms(ctx context.Context, names []string) error {
	if len(names) == 0 {
		names = programs.Names()
	}
	builder, err := programs.NewBuilder(ctx)
	if err != nil {
		return err
	}
	bin, err := builder.Build(ctx, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Println(bin.Path(name))
	}
	return nil
}

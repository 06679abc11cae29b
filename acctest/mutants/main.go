// Mutants breaks the rules of docs/design/architecture.md on purpose, one mistake at a
// time, and wants a test to notice each.
//
//	mutants [-only TEXT] [FOLDER]
//
// FOLDER is the root of the module. A mutant is a patch in its acctest/mutants.
// The folder of the patch names the rule, and the file's name says what the
// mutant does. The text before the diff says what is broken, why it matters,
// and which test must fail, for example:
//
//	A VM that is being deleted gives its room back with the first step of the delete.
//	Its instance is still there, so that the next create takes room that is in use.
//	Test: ./engine/ledger -run ^TestMemoryContract$/^Room$/^Leaving$
//
// "make test" or "make test-kube" must run that test. Write the diff with two
// lines of context (git diff -U2), so that it still applies after changes
// nearby.
//
// Mutants tries the patches in a copy of the tree. First all named tests must
// pass on the unbroken copy. Then it applies each patch, builds and runs the
// test, and reverts the patch. A mutant is killed if an assertion fails within
// a minute, without the time of the build. A panic, a test that hangs and a
// test that is skipped prove nothing.
//
// Mutants exits with 1 if a mutant survives or cannot be tried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	only := flag.String("only", "", "try the mutants whose path contains this `text`, for example rule-03")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, root, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tries the mutants of the tree below root, and reports on them.
func run(ctx context.Context, out io.Writer, root, only string) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	mutants, err := readMutants(filepath.Join(root, "acctest", "mutants"), only)
	if err != nil {
		return err
	}
	tree, err := copyTree(ctx, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.remove()) }()
	if err := tree.checkPatches(ctx, mutants); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d mutants; their tests must pass on the unbroken tree first\n", len(mutants))
	if err := tree.checkUnbroken(ctx, out, mutants); err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(mutants))
	for _, m := range mutants {
		v, err := tree.tryMutant(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintln(out, v)
		verdicts = append(verdicts, v)
	}
	return printReport(out, verdicts)
}

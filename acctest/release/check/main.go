// Check checks a release before anybody gets it. It compares names, contents
// and checksums with what the registries of Terraform and OpenTofu want. Then
// it installs the provider from its archive.
//
//	check FOLDER
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check FOLDER")
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	config, err := release.ReadConfig(".goreleaser.yaml")
	if err != nil {
		return err
	}
	made, err := release.OpenDist(folder, "terraform-registry-manifest.json")
	if err != nil {
		return err
	}
	if err := made.Check(config); err != nil {
		return err
	}
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return err
	}
	found, err := finder.Find(ctx)
	if err != nil {
		return err
	}
	if err := made.Install(ctx, found.Path); err != nil {
		return err
	}
	fmt.Printf("release: %s in %s is complete, and %s installs it\n", made.Version, folder, found)
	return nil
}

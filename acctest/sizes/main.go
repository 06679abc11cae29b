// Sizes prints the size of each package: files, lines, methods and long
// functions.
//
//	sizes [-check] [FOLDER]
//
// FOLDER is the root of a module, by default the current folder. Modules below
// it count too. A package is a folder of Go files, for all platforms and build
// tags. A file that imports the package testing is a test file, whatever its
// name. Generated files, testdata and folders whose name begins with a dot do
// not count.
//
// With -check, sizes instead prints one line for each value above a limit, and
// exits with 1 if there is one.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// The limits keep a package readable. A reader sees the whole list of files at
// once, the methods of a type on a page, and a function on a screen.
const (
	maxFiles   = 25 // files in a package, without tests
	maxMethods = 30 // methods of a type
	maxLines   = 40 // lines of a function outside of tests
)

func main() {
	check := flag.Bool("check", false, "print each excess over the limits, and fail if there is one")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	if err := run(os.Stdout, root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// run counts the packages below the root, and prints the table or what is above
// the limits.
func run(out io.Writer, root string, check bool) error {
	packages, err := countPackages(root)
	if err != nil {
		return err
	}
	if !check {
		return printTable(out, packages)
	}
	found := excesses(packages)
	for _, line := range found {
		fmt.Fprintln(out, line)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d excesses over %d files, %d methods and %d lines", len(found), maxFiles, maxMethods, maxLines)
	}
	return nil
}

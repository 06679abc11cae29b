package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one plausible mistake, as a patch.
type mutant struct {
	name   string // rule and file, without the suffix
	rule   string // the folder
	path   string // of the patch
	reason string // what is broken, and why it matters
	test   test   // the test that must fail
}

// test is what go test runs: a package, and an expression for -run.
type test struct{ pkg, expr string }

func (t test) String() string { return fmt.Sprintf("go test %s -run '%s'", t.pkg, t.expr) }

// readMutants reads the patches below the folder whose name contains the text.
func readMutants(folder, only string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*.patch"))
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	var errs []error
	for _, path := range paths {
		m, err := readMutant(path)
		if err != nil {
			errs = append(errs, err)
		}
		if strings.Contains(m.name, only) {
			mutants = append(mutants, m)
		}
	}
	if len(mutants) == 0 {
		errs = append(errs, fmt.Errorf("no mutant has %q in its path below %s", only, folder))
	}
	return mutants, errors.Join(errs...)
}

// readMutant reads a patch and the text before its diff.
func readMutant(path string) (mutant, error) {
	rule := filepath.Base(filepath.Dir(path))
	name := rule + "/" + strings.TrimSuffix(filepath.Base(path), ".patch")
	m := mutant{name: name, rule: rule, path: path}
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	head, _, found := strings.Cut(string(text), "\n--- ")
	if !found {
		return m, fmt.Errorf("%s: there is no diff", name)
	}
	reason, command, found := strings.Cut(head, "\nTest: ")
	if !found || strings.TrimSpace(reason) == "" {
		return m, fmt.Errorf("%s: say before the diff what is broken, and then \"Test: PACKAGE -run EXPRESSION\"", name)
	}
	m.reason = strings.TrimSpace(reason)
	pkg, expr, found := strings.Cut(strings.TrimSpace(command), " -run ")
	if !found || !strings.HasPrefix(pkg, "./") || strings.ContainsAny(expr, " \n") {
		return m, fmt.Errorf("%s: %q is not \"./PACKAGE -run EXPRESSION\"", name, strings.TrimSpace(command))
	}
	m.test = test{pkg: pkg, expr: expr}
	return m, nil
}

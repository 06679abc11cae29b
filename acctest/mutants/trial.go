package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// limit is the most that a test may take, without its build.
const limit = time.Minute

// result is how a test ended.
type result string

const (
	passed   result = "passes"
	failed   result = "fails"
	skipped  result = "is skipped"
	absent   result = "matches no test"
	panicked result = "panics"
	hung     result = "does not end in time"
	broken   result = "ends without a verdict"
)

// ending is how a test ended, when, and what it said.
type ending struct {
	result result
	failed string // the first test that failed, with its case
	took   time.Duration
	output string
}

// build builds the tests of a package, and returns the program.
func (t *tree) build(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(t.programs, strings.NewReplacer("./", "", "/", "-").Replace(pkg)+".test")
	if err := os.Remove(program); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	// Without the path of the copy, all packages that no patch touches are cached.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", program, pkg)
	cmd.Dir = t.root
	if err := runQuietly(cmd); err != nil {
		return "", fmt.Errorf("the tests of %s do not compile: %w", pkg, err)
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%s has no tests", pkg)
	}
	return program, nil
}

// runTest runs a test of the program, as go test does.
func (t *tree) runTest(ctx context.Context, program string, which test) (ending, error) {
	// The test ends itself; the context is for one that does not.
	bounded, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, "-test.v", "-test.count=1", "-test.timeout="+limit.String(), "-test.run="+which.expr)
	cmd.Dir = filepath.Join(t.root, which.pkg)
	cmd.Env = withoutMAAS(os.Environ())
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return ending{}, err
	}
	e := judge(output.String(), err == nil)
	e.took = took
	return e, nil
}

// withoutMAAS leaves out the MAAS that the environment names: tests use the simulator.
func withoutMAAS(environ []string) []string {
	var kept []string
	for _, setting := range environ {
		if !strings.HasPrefix(setting, "MAAS_API_") {
			kept = append(kept, setting)
		}
	}
	return kept
}

var (
	endOfTest  = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)
	panicLine  = regexp.MustCompile(`(?m)^(panic|fatal error): (.*)`)
	timeoutOf  = "panic: test timed out"
	noneWasRun = "testing: warning: no tests to run"
)

// judge reads what a test with -v printed. A panic is no assertion: it may come from the
// mistake without anybody having looked for it. There is one exception: testing/synctest
// panics where a goroutine outlives its test, which is what such a test is for.
func judge(output string, success bool) ending {
	e := ending{output: output}
	count := map[string]int{}
	for _, m := range endOfTest.FindAllStringSubmatch(output, -1) {
		count[m[1]]++
		// A case is printed after the test that it belongs to.
		if m[1] == "FAIL" && strings.HasPrefix(m[2], e.failed) {
			e.failed = m[2]
		}
	}
	switch {
	case strings.Contains(output, timeoutOf):
		e.result = hung
	case panics(output):
		e.result = panicked
	case strings.Contains(output, noneWasRun):
		e.result = absent
	case count["FAIL"] > 0 && !success:
		e.result = failed
	case count["PASS"] == 0 && count["SKIP"] > 0:
		e.result = skipped
	case count["PASS"] > 0 && success:
		e.result = passed
	default:
		e.result = broken
	}
	return e
}

// panics tells whether the test panicked, but for synctest's own verdict.
func panics(output string) bool {
	for _, m := range panicLine.FindAllStringSubmatch(output, -1) {
		if !strings.HasPrefix(m[2], "deadlock: ") {
			return true
		}
	}
	return false
}

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

// testTimeout is the most time that a test may take, without its build.
const testTimeout = time.Minute

// result is how a test ended.
type result string

const (
	resultPassed    result = "passes"
	resultFailed    result = "fails"
	resultSkipped   result = "is skipped"
	resultNoTest    result = "matches no test"
	resultPanicked  result = "panics"
	resultTimedOut  result = "does not end in time"
	resultNoVerdict result = "ends without a verdict"
)

// testEnd is how a test ended, after what time, and its output.
type testEnd struct {
	result result
	failed string // the first failed test, with its case
	took   time.Duration
	output string
}

// build builds the tests of a package, and returns the program.
func (t *tree) build(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(t.programs, strings.NewReplacer("./", "", "/", "-").Replace(pkg)+".test")
	if err := os.Remove(program); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	// Without the path of the copy, packages that no patch touches come from
	// the cache.
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
func (t *tree) runTest(ctx context.Context, program string, which test) (testEnd, error) {
	// The test ends itself. The context is for one that does not.
	bounded, cancel := context.WithTimeout(ctx, testTimeout+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, "-test.v", "-test.count=1", "-test.timeout="+testTimeout.String(), "-test.run="+which.expr)
	cmd.Dir = filepath.Join(t.root, which.pkg)
	cmd.Env = withoutMAAS(os.Environ())
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if ctx.Err() != nil {
		return testEnd{}, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return testEnd{}, err
	}
	e := parseResult(output.String(), err == nil)
	e.took = took
	return e, nil
}

// withoutMAAS removes the MAAS that the environment names, because tests use
// the simulator.
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
	testEndLine = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)
	panicLine   = regexp.MustCompile(`(?m)^(panic|fatal error): (.*)`)
	timeoutText = "panic: test timed out"
	noTestsText = "testing: warning: no tests to run"
)

// parseResult reads the output of a test with -v. A panic is no assertion: the
// mistake may cause it although no test looks for it. There is one exception.
// testing/synctest panics where a goroutine outlives its test, and such a test
// exists to find that.
func parseResult(output string, success bool) testEnd {
	e := testEnd{output: output}
	count := map[string]int{}
	for _, m := range testEndLine.FindAllStringSubmatch(output, -1) {
		count[m[1]]++
		// A case is printed after its test.
		if m[1] == "FAIL" && strings.HasPrefix(m[2], e.failed) {
			e.failed = m[2]
		}
	}
	switch {
	case strings.Contains(output, timeoutText):
		e.result = resultTimedOut
	case hasPanicked(output):
		e.result = resultPanicked
	case strings.Contains(output, noTestsText):
		e.result = resultNoTest
	case count["FAIL"] > 0 && !success:
		e.result = resultFailed
	case count["PASS"] == 0 && count["SKIP"] > 0:
		e.result = resultSkipped
	case count["PASS"] > 0 && success:
		e.result = resultPassed
	default:
		e.result = resultNoVerdict
	}
	return e
}

// hasPanicked reports whether the test panicked, other than by synctest's
// verdict.
func hasPanicked(output string) bool {
	for _, m := range panicLine.FindAllStringSubmatch(output, -1) {
		if !strings.HasPrefix(m[2], "deadlock: ") {
			return true
		}
	}
	return false
}

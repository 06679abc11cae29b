// Package gomaas runs each method of github.com/canonical/gomaasclient on the simulator. A
// second read shows the method's effect.
package gomaas

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/canonical/gomaasclient/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/clients/target"
)

// testFailure is the value with which must panics. startClient ends the test with it.
type testFailure struct{ text string }

// startClient runs a test with a client of a reset simulator. A call that fails in must or
// mustSucceed ends the test.
func startClient(t *testing.T, test func(*client.Client)) {
	t.Helper()
	url, key := target.ResetSimulator(t)
	c, err := client.GetClient(url, key, "2.0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case testFailure:
			t.Fatal(problem.text)
		default:
			panic(problem)
		}
	}()
	test(c)
}

// must returns the value of a call, and ends the test if the call failed.
func must[T any](value T, err error) T {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
	return value
}

// mustSucceed ends the test if a call failed.
func mustSucceed(err error) {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
}

// callerLine is the line of the test that called must or mustSucceed.
func callerLine() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
}

// wantSame checks that two values are equal.
func wantSame[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// names are the sorted names of a list's entries.
func names[T any](things []T, name func(T) string) []string {
	var all []string
	for _, thing := range things {
		all = append(all, name(thing))
	}
	slices.Sort(all)
	return all
}

// wantContains checks whether a list contains a value.
func wantContains[T comparable](t *testing.T, what string, list []T, thing T, want bool) {
	t.Helper()
	if slices.Contains(list, thing) != want {
		t.Errorf("%s are %v; that %v is among them should be %t", what, list, thing, want)
	}
}

// wantNotFound checks that a read answers 404.
func wantNotFound(t *testing.T, what string, err error) {
	t.Helper()
	if status := statusOf(err); status != 404 {
		t.Errorf("a read of the deleted %s gives %v, want 404", what, err)
	}
}

// Package gomaas runs github.com/canonical/gomaasclient on the simulator: each of its
// methods, whose effect a second read shows.
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

// testFailure is what must panics with, and start turns into the end of a test.
type testFailure struct{ text string }

// startClient is a client of a fresh simulator. What must or try fails on ends the test.
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

// must is what a call gave. Where it failed, the test ends.
func must[T any](value T, err error) T {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
	return value
}

// mustSucceed ends the test where a call failed.
func mustSucceed(err error) {
	if err != nil {
		panic(testFailure{callerLine() + err.Error()})
	}
}

// callerLine is the line of a test that called must or try.
func callerLine() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
}

// wantSame wants two values to be the same.
func wantSame[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// names are those of a list of things, sorted.
func names[T any](things []T, name func(T) string) []string {
	var all []string
	for _, thing := range things {
		all = append(all, name(thing))
	}
	slices.Sort(all)
	return all
}

// wantContains wants a list to have a thing, or not to have it.
func wantContains[T comparable](t *testing.T, what string, list []T, thing T, want bool) {
	t.Helper()
	if slices.Contains(list, thing) != want {
		t.Errorf("%s are %v; that %v is among them should be %t", what, list, thing, want)
	}
}

// wantNotFound wants a read to answer 404.
func wantNotFound(t *testing.T, what string, err error) {
	t.Helper()
	if status := statusOf(err); status != 404 {
		t.Errorf("a read of the deleted %s gives %v, want 404", what, err)
	}
}

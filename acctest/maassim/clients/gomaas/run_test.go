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

// failure is what must panics with, and start turns into the end of a test.
type failure struct{ text string }

// start is a client of a fresh simulator. What must or try fails on ends the test.
func start(t *testing.T, test func(*client.Client)) {
	t.Helper()
	url, key := target.Fresh(t)
	c, err := client.GetClient(url, key, "2.0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
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
		panic(failure{caller() + err.Error()})
	}
	return value
}

// try ends the test where a call failed.
func try(err error) {
	if err != nil {
		panic(failure{caller() + err.Error()})
	}
}

// caller is the line of a test that called must or try.
func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
}

// same wants two values to be the same.
func same[T comparable](t *testing.T, what string, got, want T) {
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

// has wants a list to have a thing, or not to have it.
func has[T comparable](t *testing.T, what string, list []T, thing T, want bool) {
	t.Helper()
	if slices.Contains(list, thing) != want {
		t.Errorf("%s are %v; that %v is among them should be %t", what, list, thing, want)
	}
}

// gone wants a read to answer 404.
func gone(t *testing.T, what string, err error) {
	t.Helper()
	if status := statusOf(err); status != 404 {
		t.Errorf("a read of the deleted %s gives %v, want 404", what, err)
	}
}

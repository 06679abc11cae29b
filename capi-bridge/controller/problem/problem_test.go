package problem

import (
	"errors"
	"testing"
)

// TestLasting: a connection that breaks again and again says the same each time, so
// that its condition is written once.
func TestLasting(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"read tcp 10.0.0.2:54321->10.0.0.1:5240: connection reset by peer":    "read tcp 10.0.0.2->10.0.0.1:5240: connection reset by peer",
		"write tcp [fe80::2]:54321->[fe80::1]:8443: broken pipe":              "write tcp [fe80::2]->[fe80::1]:8443: broken pipe",
		"dial tcp 10.0.0.1:5240: connect: connection refused":                 "dial tcp 10.0.0.1:5240: connect: connection refused",
		"machine m1 (abc) is Ready, and 3 of 5->6 cores of its host are used": "machine m1 (abc) is Ready, and 3 of 5->6 cores of its host are used",
	} {
		if got := Explain(errors.New(said)).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

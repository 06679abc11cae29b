package gomaas

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/canonical/gomaasclient/client"
)

// unservedGroup is a kind of object that the simulator does not have, with the client's
// methods for it.
type unservedGroup struct {
	reason string
	calls  map[string]func(c *client.Client, machine string) error
}

// notServed are the methods whose operations the simulator answers with 501 and a message
// that names the operation.
var notServed = slices.Concat(unservedSettings, unservedOthers)

// TestNotServed calls each method that is not served. The answer must name MAAS's
// operation and report that the simulator lacks it.
func TestNotServed(t *testing.T) {
	for _, g := range notServed {
		for _, method := range slices.Sorted(maps.Keys(g.calls)) {
			t.Run(method, func(t *testing.T) {
				startClient(t, func(c *client.Client) {
					err := g.calls[method](c, machineNamed(c, "metal1").SystemID)
					wantNotServed(t, err, g.reason)
				})
			})
		}
	}
}

// wantNotServed checks for the error about an operation that the simulator does not have.
func wantNotServed(t *testing.T, err error, reason string) {
	t.Helper()
	if statusOf(err) != 501 || !strings.Contains(bodyOf(err), "does not serve it") {
		t.Errorf("%s: want 501, got %v; what is served by now has a test of its effect", reason, err)
	}
}

// errorOf is the error of a call, without its answer.
func errorOf[T any](_ T, err error) error { return err }

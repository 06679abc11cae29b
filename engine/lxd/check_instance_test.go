package lxd

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// renameInstance renames the instance web1 on its host, as `lxc rename` does. MAAS does not know.
func (w *composeWorld) renameInstance(t *testing.T) {
	t.Helper()
	w.withSession(t, 0, func(s *session) error {
		var have api.Instance
		_, err := s.get(s.projectPath("instances", "web1"), &have)
		post := api.InstancesPost{
			InstancePut: have.Writable(), Name: "renamed", Type: api.InstanceTypeVM, Source: api.InstanceSource{Type: "none"},
		}
		return errors.Join(err, s.send(http.MethodDelete, s.projectPath("instances", "web1"), nil, ""), s.send(http.MethodPost, s.projectPath("instances"), post, ""))
	})
}

// TestCheckInstanceReachable: a VM is not released if its instance could not be removed afterwards.
func TestCheckInstanceReachable(t *testing.T) {
	t.Parallel()
	errNoPair := errors.New("the pair is missing")
	cases := map[string]struct {
		reason string
		before func(*testing.T, *composeWorld)
		want   string // the kinds of the error
	}{
		"There":  {"Nothing is in the way.", func(*testing.T, *composeWorld) {}, ""},
		"Silent": {"Its LXD does not answer.", func(t *testing.T, w *composeWorld) { w.setUnreachable(t, "h1") }, "ErrUnavailable, HostUnavailable"},
		"Gone": {"A delete has no more to do in LXD.", func(t *testing.T, w *composeWorld) {
			if err := w.sim.RemoveInstance("h1", "maas", "web1"); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"Renamed": {"MAAS could not turn it off, and it may be a copy.", func(t *testing.T, w *composeWorld) { w.renameInstance(t) }, "ErrConflict"},
		"Moved":   {"MAAS could not turn it off: it asks the former host.", func(t *testing.T, w *composeWorld) { w.moveInstance(t) }, "ErrConflict"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			id := w.composeVM(w.composer, newRootOnlyComposition("web1"))
			tc.before(t, w)
			before, c := w.listObjects(), w.newComposer()
			m, err := c.Machines.Machine(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.CheckInstanceReachable(t.Context(), m); errorKinds(err) != tc.want {
				t.Errorf("%s: got %s: %v", tc.reason, errorKinds(err), err)
			}
			if diff := cmp.Diff(before, w.listObjects()); diff != "" {
				t.Errorf("%s It changed something (-before +after):\n%s", tc.reason, diff)
			}
			c.dialer.credentials = func(context.Context) (engine.Credentials, error) { return engine.Credentials{}, errNoPair }
			if err := c.CheckInstanceReachable(t.Context(), m); !errors.Is(err, errNoPair) {
				t.Errorf("without the pair: got %v", err)
			}
		})
	}
}

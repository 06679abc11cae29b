package assembly_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// slowHosts is a world in which composes and updates of VM hosts take a while.
func slowHosts() sim.Model {
	m := hostWorld()
	m.Latency.Compose, m.Latency.Refresh = 20*time.Second, 10*time.Second
	return m
}

const (
	updateHost = "PUT vm-hosts/{id}/"
	deleteHost = "DELETE vm-hosts/{id}/"
)

// overcommittedHost is a host that differs from metalHost by one update.
func overcommittedHost(ratio float64) engine.HostSpec {
	spec := metalHost()
	spec.CPUOvercommit = ratio
	return spec
}

// TestHostHasItAlone: what lists the instances anew waits for the composes of
// its own process.
func TestHostHasItAlone(t *testing.T) {
	cases := map[string]struct {
		route string
		step  func(*testing.T, process, engine.Ref) error
	}{
		"Update": {updateHost, func(t *testing.T, p process, ref engine.Ref) error {
			_, err := p.engine.Hosts.Reconcile(t.Context(), ref, overcommittedHost(2))
			return err
		}},
		"Unregister": {deleteHost, func(t *testing.T, p process, ref engine.Ref) error {
			_, err := p.engine.Hosts.Delete(t.Context(), ref)
			return err
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHostsOf(t, slowHosts(), func(t *testing.T, r testMAAS, p process) {
				_, ref := p.makeHost(t, metalHost())
				made := make(chan struct{})
				go func() { defer close(made); p.vmOn(t, "web-1", "m1") }()
				time.Sleep(5 * time.Second)
				begun := time.Now()
				err := tc.step(t, p, ref)
				if took := time.Since(begun); took < 10*time.Second {
					t.Errorf("it did not wait for the compose: %v after %v", err, took)
				}
				<-made
			})
		})
	}
}

// TestHostQuietUnderLock: while a host is changed, and waited for, another process
// cannot begin to compose on it.
func TestHostQuietUnderLock(t *testing.T) {
	cases := map[string]struct {
		route string
		sent  int // by the first step and the second
		step  func(*testing.T, process, engine.Ref) error
	}{
		"Update": {updateHost, 2, func(t *testing.T, p process, ref engine.Ref) error {
			_, err := p.engine.Hosts.Reconcile(t.Context(), ref, overcommittedHost(3))
			return err
		}},
		"Unregister": {deleteHost, 1, func(t *testing.T, p process, ref engine.Ref) error {
			_, err := p.engine.Hosts.Delete(t.Context(), ref)
			return err
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHostsOf(t, slowHosts(), func(t *testing.T, r testMAAS, p process) {
				h, ref := p.makeHost(t, metalHost())
				rows := newRows()
				q := r.start(t, rows, 0, breakage{})
				r.sim.ResetJournal()
				first := make(chan error)
				go func() {
					_, err := q.engine.Hosts.Reconcile(t.Context(), ref, overcommittedHost(2))
					first <- err
				}()
				time.Sleep(3 * time.Second)
				time.AfterFunc(3*time.Second, func() {
					if err := placeOn(t, rows, h.VMHost.HostKey); !errors.Is(err, engine.ErrBusy) {
						t.Errorf("want the compose refused for now, got %v", err)
					}
				})
				if err := tc.step(t, q, ref); err != nil {
					t.Errorf("the second change: %v", err)
				}
				if err := <-first; err != nil {
					t.Errorf("the update before it: %v", err)
				}
				if n := r.sim.Journal().Count(tc.route); n != tc.sent {
					t.Errorf("%s was sent %d times, want %d", tc.route, n, tc.sent)
				}
			})
		})
	}
}

// TestHostInventoryWaitsForCompose: a refresh lists the instances anew, too.
func TestHostInventoryWaitsForCompose(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, _ process) {
		r.probe = nil // MAAS registers it blindly, and refreshes until LXD is there
		rows := newRows()
		p := r.start(t, rows, 0, breakage{})
		for len(r.records(t)) == 0 {
			if _, err := p.engine.Hosts.Reconcile(p.ctx, newHostRef, metalHost()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		placePendingRow(t, rows, fmt.Sprint("/vm-host-", r.records(t)[0].ID))
		r.sim.ResetJournal()
		if _, err := p.engine.Hosts.Reconcile(p.ctx, newHostRef, metalHost()); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("want it busy, got %v", err)
		}
		if n := r.sim.Journal().Count("POST vm-hosts/{id}/ refresh"); n != 0 {
			t.Errorf("%d refreshes beside a compose", n)
		}
	})
}

package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

func newRows() *ledger.Ledger { return ledger.NewMemory(nil) }

// reasons steps until the host is there, or for so long, and tells the reasons
// and the messages that it saw on the way.
func (p process) reasons(t *testing.T, want engine.HostSpec, most time.Duration) (reasons, messages []string) {
	t.Helper()
	ref := newHostRef
	for end := time.Now().Add(most); time.Now().Before(end); {
		res, err := p.engine.Hosts.Reconcile(p.ctx, ref, want)
		if err != nil {
			t.Fatal(err)
		}
		ref.SystemID = res.Object.Machine.SystemID
		reasons, messages = append(reasons, res.Reason), append(messages, res.Message)
		if res.Done {
			break
		}
		time.Sleep(min(res.After, 5*time.Second))
	}
	return slices.Compact(reasons), slices.Compact(messages)
}

// TestHostWaits: Deployed is not ready, nor is a VM host that MAAS has made.
func TestHostWaits(t *testing.T) {
	cases := map[string]struct {
		reason string
		probe  bool
		want   []string
		says   string
	}{
		"Probed": {"Nothing is registered before LXD answers.", true, []string{"Deploying", "WaitingForLXD", "Registered", "WaitingForInventory", "Ready"}, "connection refused"},
		"Blind":  {"Only MAAS reaches it: the empty VM host is refreshed until it is not.", false, []string{"Deploying", "Registered", "WaitingForLXD", "WaitingForInventory", "Ready"}, "Failed to connect to the LXD"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				if !tc.probe {
					r.probe = nil
					p = r.start(t, newRows(), 0, breakage{})
				}
				reasons, messages := p.reasons(t, metalHost(), 10*time.Minute)
				reasons = slices.DeleteFunc(reasons, func(s string) bool { return s == "Deployed" || s == "Allocated" })
				if diff := cmp.Diff(tc.want, reasons); diff != "" {
					t.Errorf("%s\nreasons (-want +got):\n%s", tc.reason, diff)
				}
				if !slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, tc.says) }) {
					t.Errorf("%s\nno message says %q: %q", tc.reason, tc.says, messages)
				}
				if n := r.sim.Journal().Count("POST vm-hosts/"); n != 1 {
					t.Errorf("registered %d times", n)
				}
				r.wantRecord(t, "m1")
			})
		})
	}
}

// TestHostNeverComes: the first boot failed. The error of the time-out says
// what was waited for, and delete clears everything away.
func TestHostNeverComes(t *testing.T) {
	for _, probed := range []bool{true, false} {
		m := hostWorld()
		m.Machines[0].FirstBoot = sim.BootFails
		inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
			if !probed {
				r.probe = nil
				p = r.start(t, newRows(), 0, breakage{})
			}
			_, messages := p.reasons(t, metalHost(), 10*time.Minute)
			last := messages[len(messages)-1]
			if !strings.Contains(last, "LXD") || !strings.Contains(last, "onnect") {
				t.Errorf("the last message is %q", last)
			}
			if n := len(r.records(t)); n > 1 {
				t.Errorf("%d VM hosts", n)
			}
			if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: r.machine(t, "m1").SystemID}); err != nil {
				t.Error(err)
			}
			r.wantNoRecord(t)
			r.wantReady(t, "m1")
		})
	}
}

// TestHostInventoryLate: an inventory that does not come is asked for again, but
// not at each look.
func TestHostInventoryLate(t *testing.T) {
	m := hostWorld()
	m.Latency.Inventory = 3 * time.Minute
	inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
		if _, err := p.applyHost(newHostRef, metalHost()); err != nil {
			t.Error(err)
		}
		r.wantRecord(t, "m1")
		if n := r.sim.Journal().Count("POST vm-hosts/{id}/ refresh"); n == 0 || n > 8 {
			t.Errorf("%d refreshes, want a few", n)
		}
	})
}

// TestHostForeignVMs: an LXD that holds VMs is registered only where that is
// asked for, for MAAS takes them over and power-cycles them.
func TestHostForeignVMs(t *testing.T) {
	cases := map[string]struct {
		reason string
		probe  bool
		adopt  bool
		words  string // of the refusal; empty: registered
	}{
		"Seen":        {"They are there.", true, false, "old-db"},
		"Unseen":      {"Nobody can tell.", false, false, "cannot check whether"},
		"Wanted":      {"It is asked for.", true, true, ""},
		"WantedBlind": {"It is asked for.", false, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHosts(t, func(t *testing.T, r testMAAS, p process) {
				if err := r.sim.AddInstance(sim.Instance{Host: "known-lxd", Project: "fleet", Name: "old-db", Running: true}); err != nil {
					t.Fatal(err)
				}
				if !tc.probe {
					r.probe = nil
					p = r.start(t, newRows(), 0, breakage{})
				}
				spec := serverHost()
				spec.AdoptExistingVMs = tc.adopt
				_, err := p.applyHost(newHostRef, spec)
				var refusal *engine.Refusal
				switch {
				case tc.words == "" && err != nil:
					t.Errorf("%s\n%v", tc.reason, err)
				case tc.words == "":
					r.machine(t, "old-db") // MAAS has it now
				case !errors.As(err, &refusal) || !strings.Contains(err.Error(), tc.words) || !slices.Contains(refusal.Ways, engine.WayAdoptVMs):
					t.Errorf("%s\nwant a refusal that says %s and how to allow it, got %v", tc.reason, tc.words, err)
				case len(r.writes()) != 0:
					t.Errorf("%s\n%v were sent", tc.reason, r.writes())
				}
			})
		})
	}
}

// TestHostOtherMachine: another LXD answers at the address of the machine.
func TestHostOtherMachine(t *testing.T) {
	address := ""
	inHosts(t, func(t *testing.T, r testMAAS, _ process) {
		r.deployByOperator(t)
		address = r.machine(t, "run").IPAddresses[0]
	})
	m := hostWorld()
	m.Hosts[1].Address = address + ":8443"
	inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
		r.deployByOperator(t)
		before := r.machine(t, "run")
		_, err := p.applyHost(newHostRef, adoptedHost())
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(err.Error(), ", not on run") || refusal.Hint == "" {
			t.Errorf("want a refusal that names both machines, got %v", err)
		}
		if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: before.SystemID}); err != nil {
			t.Error(err)
		}
		r.wantNoRecord(t)
		if m := r.machine(t, "run"); m.StatusName != "Deployed" || len(m.OwnerData) != 0 {
			t.Errorf("it is %s with %v", m.StatusName, m.OwnerData)
		}
	})
}

// TestHostRegisteredAgain: somebody removed the VM host. It is registered anew
// under the same conditions as the first time.
func TestHostRegisteredAgain(t *testing.T) {
	for _, held := range []string{"", "old-db"} {
		inHosts(t, func(t *testing.T, r testMAAS, p process) {
			h, err := p.applyHost(newHostRef, metalHost())
			if err != nil {
				t.Fatal(err)
			}
			r.call(t, "DELETE", "vm-hosts/"+itoa(h.VMHost.ID)+"/", nil)
			if held != "" {
				if err := r.sim.AddInstance(sim.Instance{Host: "m1", Project: "fleet", Name: held}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			_, err = p.applyHost(engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID, Finished: true}, metalHost())
			if held == "" {
				if err != nil {
					t.Error(err)
				}
				r.wantRecord(t, "m1")
				return
			}
			if !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), held) {
				t.Errorf("want a refusal that names %s, got %v", held, err)
			}
			r.wantNoRecord(t)
		})
	}
}

// TestHostUntrusted: an LXD that runs already, and does not trust the
// certificate, will not begin to by itself.
func TestHostUntrusted(t *testing.T) {
	m := hostWorld()
	m.Hosts[1].TrustedCertificates = []string{operatorPair().Certificate}
	inHostsOf(t, m, func(t *testing.T, r testMAAS, p process) {
		begun := time.Now()
		_, err := p.applyHost(newHostRef, serverHost())
		var failure *engine.Error
		if !errors.As(err, &failure) || failure.Type != engine.HostUnavailable || !errors.Is(err, engine.ErrForbidden) || !engine.IsTerminal(err) {
			t.Fatalf("want a terminal HostUnavailable, got %v", err)
		}
		if !strings.Contains(failure.Hint, "lxc config trust add") || !strings.Contains(failure.Hint, "--restricted --projects fleet") {
			t.Errorf("the hint is %q", failure.Hint)
		}
		if took := time.Since(begun); took > time.Minute || len(r.writes()) != 0 {
			t.Errorf("%v were sent, it took %v", r.writes(), took)
		}
	})
}

// TestHostTrustsLate: the LXD of a deployed machine answers before its first
// boot has come to the certificate.
func TestHostTrustsLate(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		_, ref := p.makeHost(t, metalHost())
		r.call(t, "DELETE", "vm-hosts/"+itoa(r.records(t)[0].ID)+"/", nil)
		time.Sleep(time.Minute)
		r.probe = untrustedProbe{}
		res, err := r.start(t, newRows(), 0, breakage{}).engine.Hosts.Reconcile(t.Context(), ref, metalHost())
		if err != nil || res.Done || res.Reason != "WaitingForLXD" || !strings.Contains(res.Message, "not authorized") {
			t.Errorf("want it waited for, and said why, got %+v, %v", res, err)
		}
	})
}

// untrustedProbe is a probe that no LXD trusts.
type untrustedProbe struct{}

// Server implements engine.Probe.
func (untrustedProbe) Server(context.Context, engine.Endpoint, engine.Credentials, string) (engine.LXDServer, error) {
	return engine.LXDServer{}, fmt.Errorf("not authorized: %w", engine.ErrForbidden)
}

// TestHostTagLost: a run died after the registration, and an operator took the
// strange tag off. The machine's note of its project leads to the VM host.
func TestHostTagLost(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		for len(r.records(t)) == 0 {
			if _, err := p.engine.Hosts.Reconcile(p.ctx, newHostRef, metalHost()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		born := r.records(t)[0]
		for _, tag := range born.Tags {
			if strings.HasPrefix(tag, "maaslxd-") {
				r.call(t, "POST", "vm-hosts/"+itoa(born.ID)+"/?op=remove_tag", url.Values{"tag": {tag}})
			}
		}
		time.Sleep(time.Minute)
		if _, err := r.start(t, newRows(), 0, breakage{}).applyHost(newHostRef, metalHost()); err != nil {
			t.Error(err)
		}
		r.wantRecord(t, "m1")
	})
}

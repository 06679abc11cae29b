package lxd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// contestedMachine is a machine in MAAS that another process writes after us.
type contestedMachine struct {
	engine.Machines
	engine.Metal
	machine engine.Machine
	theirs  map[string]string
}

func (b *contestedMachine) Machine(context.Context, string) (engine.Machine, error) {
	m := b.machine
	m.OwnerData = maps.Clone(m.OwnerData)
	return m, nil
}

func (b *contestedMachine) Annotate(_ context.Context, _ string, data map[string]string) error {
	maps.Copy(b.machine.OwnerData, data)
	maps.Copy(b.machine.OwnerData, b.theirs)
	return nil
}

// TestLearnedAtOnce: if two processes note a certificate at the same time, both pin the one
// that stays.
func TestLearnedAtOnce(t *testing.T) {
	t.Parallel()
	mine, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	record := engine.HostRecord{Name: "h1", Endpoint: engine.Endpoint{Address: "192.0.2.1:8443", Project: "maas"}}
	b := &contestedMachine{
		machine: engine.Machine{SystemID: "host01", Tags: []string{engine.HostTag}, OwnerData: record.OwnerData()},
		theirs:  engine.ServerNote(other),
	}
	if known, err := NewRegistry(b, b, nil).RecordFingerprint(t.Context(), "host01", mine); err != nil || known != other {
		t.Errorf("known by %s, %v; want %s", known, err, other)
	}
}

// TestKeepReinstalled: an LXD was installed again after MAAS released its machine. It is
// trusted at first sight and noted again.
func TestKeepReinstalled(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(w *composeWorld, was string){
		"Listed": func(w *composeWorld, was string) { w.servers[0].Fingerprint = was },
		"Left":   func(w *composeWorld, _ string) { w.servers = w.servers[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.servers[0].Fingerprint = ""
			var noted []string
			c := w.newComposer(func(c *ComposerConfig) {
				c.RecordFingerprint = func(_ context.Context, _, fingerprint string) (string, error) {
					noted = append(noted, fingerprint)
					return fingerprint, nil
				}
			})
			w.composeVM(c, newRootOnlyComposition("web1"))
			w.composeVM(c, newRootOnlyComposition("web2"))
			all := slices.Clone(w.servers)
			meanwhile(w, noted[0])
			if _, err := c.Hosts(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := w.sim.RenewCertificate("h1"); err != nil {
				t.Fatal(err)
			}
			w.servers = all
			w.servers[0].Fingerprint = ""
			c.cache.expireAll(c.Now())
			if _, err := c.Hosts(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.composeVM(c, newRootOnlyComposition("web3"))
			if len(noted) != 2 || noted[0] == noted[1] {
				t.Errorf("noted %q, want each certificate once", noted)
			}
		})
	}
}

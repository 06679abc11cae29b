package lxd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// plainRegistrar is a Registrar that ignores credentials.
type plainRegistrar struct{ engine.Registrar }

func (plainRegistrar) UpdateHost(context.Context, engine.VMHost, engine.HostUpdate) error { return nil }

// TestRekey sends the next key pair for our VMs on one host. This takes one call for each
// VM, one to find them, and one more if another host does not answer. It may be cut off and
// repeated.
func TestRekey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	ids := map[string]string{"web1": w.composeVM(w.composer, newComposition("web1")), "web2": w.composeVM(w.composer, newComposition("web2"))}
	elsewhere, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host02"}, newComposition("web3"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := w.enlistForeignVM(t, "precious")
	before := w.pair
	w.pair = makeKey(t).Credentials
	if err := w.sim.TrustCertificate("h1", w.pair.Certificate); err != nil {
		t.Fatal(err)
	}
	host, next := engine.VMHost{Name: "h1", MachineID: "host01"}, engine.HostUpdate{Credentials: &w.pair}
	rekey := func() error {
		return w.newComposer().WrapRegistrar(plainRegistrar{}).UpdateHost(t.Context(), host, next)
	}

	w.sim.AddFault(sim.Fault{Method: "PUT", Path: "machines/*/", Object: ids["web2"], Kind: sim.FaultStatus, Status: 400, Body: "no"})
	if err := rekey(); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "web2") {
		t.Errorf("cut off: %v", err)
	}
	w.sim.ClearFaults()
	from := len(w.sim.Journal().Calls)
	if err := rekey(); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, c := range w.sim.Journal().Calls[from:] {
		calls = append(calls, c.Route)
	}
	slices.Sort(calls)
	where, tell := "GET machines/{id}/ power_parameters", "PUT machines/{id}/"
	if diff := cmp.Diff([]string{"GET machines/", where, where, tell, tell}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for _, host := range []string{"h1", "h2"} {
		if err := w.sim.DistrustCertificate(host, before.Certificate); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{ids["web1"]: "off", ids["web2"]: "off", elsewhere: "error", foreign: "off"} {
		if got, err := w.maas.Machines.QueryPower(t.Context(), id); got != want {
			t.Errorf("with the former pair distrusted, the power of %s is %q, %v, want %q", id, got, err, want)
		}
	}
}

// enlistForeignVM makes a VM on the first host that someone else enlisted, with another key
// pair.
func (w *composeWorld) enlistForeignVM(t *testing.T, name string) string {
	t.Helper()
	const mac = "00:16:3e:aa:aa:aa"
	pair := makeKey(t).Credentials
	err := errors.Join(
		w.sim.TrustCertificate("h1", pair.Certificate),
		w.sim.AddInstance(sim.Instance{Host: "h1", Project: "maas", Name: name, MACs: []string{mac}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.maas.Enlister.Enlist(t.Context(), engine.Enlistment{
		Hostname: name, Architecture: "amd64/generic", MACs: []string{mac}, Credentials: pair,
		Instance: engine.Instance{Endpoint: w.servers[0].Endpoint, Name: name},
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

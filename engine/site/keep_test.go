package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestCertificateKept: the certificate that an LXD was first seen with is written on
// its machine with the first VM, once, and other processes hold to it. A look
// writes nothing.
func TestCertificateKept(t *testing.T) {
	t.Parallel()
	at, s, another := openFleetOf(t, sim.VersionGone, false)
	wrote := func() (notes int) {
		for _, c := range s.Journal().Calls {
			if strings.HasPrefix(c.Route, http.MethodPost) && strings.Contains(c.Route, "set_owner_data") {
				notes++
			}
		}
		return notes
	}
	if hosts, err := at.Inventory.Hosts(t.Context()); err != nil || hosts[0].ServerFingerprint == "" || wrote() != 0 {
		t.Fatalf("looking: %+v, %v, %d notes", hosts, err, wrote())
	}
	var all errgroup.Group
	for n := range 4 {
		all.Go(func() error { return makeVM(t.Context(), at, fmt.Sprint("web", n)) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if wrote() != 1 {
		t.Errorf("noted %d times, want once", wrote())
	}
	first := shownBy(t, s.LXDs()[0])
	for _, m := range s.Machines() {
		for key, want := range engine.ServerNote(first) {
			if m.Hostname == "host1" && m.OwnerData[key] != want {
				t.Errorf("its machine says %v", m.OwnerData)
			}
		}
	}
	if _, err := s.RenewCertificate("host1"); err != nil {
		t.Fatal(err)
	}
	instances := len(s.Instances())
	if err := makeVM(t.Context(), another(), "web9"); !errors.Is(err, engine.ErrOtherServer) || !strings.Contains(err.Error(), first) {
		t.Errorf("another process, when another server answers: %v", err)
	}
	if got := len(s.Instances()); got != instances {
		t.Errorf("%d instances, and before it was %d", got, instances)
	}
}

// TestCertificateNoted: somebody else noted another certificate since the hosts were
// listed here, so that nothing is made.
func TestCertificateNoted(t *testing.T) {
	t.Parallel()
	at, s, _ := openFleetOf(t, sim.VersionGone, false)
	if _, err := at.Inventory.Hosts(t.Context()); err != nil {
		t.Fatal(err)
	}
	noted := strings.Repeat("ab", 32)
	for _, m := range s.Machines() {
		for key, value := range engine.ServerNote(noted) {
			m.OwnerData[key] = value
		}
		if err := s.EditMachine("host1", sim.MachineEdit{OwnerData: &m.OwnerData}); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeVM(t.Context(), at, "web1"); !errors.Is(err, engine.ErrOtherServer) || !strings.Contains(err.Error(), noted) {
		t.Errorf("got %v", err)
	}
	if got := s.Instances(); len(got) != 0 {
		t.Errorf("made %+v", got)
	}
}

// TestCertificateUnkept: what cannot be noted keeps no VM from being made.
func TestCertificateUnkept(t *testing.T) {
	t.Parallel()
	at, s, _ := openFleetOf(t, sim.VersionGone, false)
	s.AddFault(sim.Fault{Method: http.MethodPost, Path: "machines/*/", Op: "set_owner_data", Kind: sim.FaultStatus, Status: http.StatusConflict})
	if err := makeVM(t.Context(), at, "web1"); err != nil {
		t.Error(err)
	}
	for _, m := range s.Machines() {
		for key := range engine.ServerNote("") {
			if m.OwnerData[key] != "" {
				t.Errorf("the note was not in the way: %v", m.OwnerData)
			}
		}
	}
}

// makeVM makes a VM that is not deployed on the host that there is.
func makeVM(ctx context.Context, at *Site, name string) error {
	want := engine.VMSpec{Name: name, Host: "host1", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}}
	_, err := engine.WaitUntilDone(ctx, at.VMs.Steps(engine.Ref{Key: engine.Key("default/" + name), Name: name}, want))
	return err
}

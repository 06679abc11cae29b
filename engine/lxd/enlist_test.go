package lxd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestMACTaken: a VM gets another MAC if MAAS has given its first ones to other machines.
// If that does not help, nothing of the VM is left.
func TestMACTaken(t *testing.T) {
	t.Parallel()
	for taken, want := range map[int]string{0: "", 1: "", maxMACTries - 1: "", maxMACTries: "ErrConflict, VMCreationFailed"} {
		t.Run(fmt.Sprint(taken), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			comp := newComposition("web1")
			others, macs := w.enlistOthersWithMACs(t, comp, taken)
			id, err := w.composer.Compose(t.Context(), engine.VMHost{MachineID: "host01"}, comp)
			if errorKinds(err) != want {
				t.Fatalf("with %d taken: %s: %v, want %q", taken, errorKinds(err), err, want)
			}
			if err != nil {
				if last := fmt.Sprintf("%s, to machine other%d", macs[taken-1], taken); !strings.Contains(shownText(err), last) || !strings.Contains(shownText(err), "delete it in MAAS") {
					t.Errorf("the error does not say %q: %s", last, shownText(err))
				}
				if diff := cmp.Diff(others, w.listObjects()); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
				w.wantVolumes(t)
				return
			}
			m, err := w.maas.Machines.Machine(t.Context(), id)
			if err != nil || m.Interfaces[0].MAC != macs[taken] {
				t.Errorf("with %d taken, it got %+v, %v, want %s", taken, m.Interfaces, err, macs[taken])
			}
		})
	}
}

// enlistOthersWithMACs enlists machines of other owners with the first MACs that a VM would
// get. It returns them, and all MACs that the VM may get.
func (w *composeWorld) enlistOthersWithMACs(t *testing.T, comp engine.Composition, many int) (machines, macs []string) {
	t.Helper()
	p := plan{comp: comp, host: serverSurvey{Server: w.servers[0]}, macs: []string{""}}
	p.post.Devices = map[string]map[string]string{"eth0": {}}
	for p.salt = range maxMACTries {
		p.chooseMACs()
		macs = append(macs, p.macs[0])
	}
	for n := range many {
		name := fmt.Sprintf("other%d", n+1)
		_, err := w.maas.Enlister.Enlist(t.Context(), engine.Enlistment{
			Hostname: name, Architecture: comp.Architecture, MACs: macs[n : n+1], Credentials: w.pair,
			Instance: engine.Instance{Endpoint: w.servers[0].Endpoint, Name: name},
		})
		if err != nil {
			t.Fatal(err)
		}
		machines = append(machines, "machine "+name)
	}
	slices.Sort(machines)
	return machines, macs
}

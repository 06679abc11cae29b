package assembly_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestProfileOnMAAS: where MAAS makes the VMs there is no choice of a profile.
func TestProfileOnMAAS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Hosts[1].Project = "prod"
		r := inMemoryOf(t, m)
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		spec := smallVM("web", engine.Placement{})
		for _, host := range []string{"", "lxd1"} {
			spec.Host, spec.Profile = host, "gold"
			_, err := p.applyVM(spec)
			var bad *engine.SpecError
			if !errors.As(err, &bad) || bad.Field.String() != "profile" || !strings.Contains(bad.Message, "MAAS always uses its own") || !slices.Contains(bad.Ways, engine.WayComposeInLXD) {
				t.Errorf("host %q: want an error about profile with a way out, got %v", host, err)
			}
			if n := len(r.sim.Instances()); n != 0 {
				t.Errorf("host %q: %d VMs were made all the same", host, n)
			}
		}
		spec.Host, spec.Profile = "lxd2", engine.StandardProfile
		vm, err := p.applyVM(spec)
		if err != nil || vm.HostName != "lxd2" || vm.Profiles != nil {
			t.Errorf("MAAS's own: it is on %q with %q, %v", vm.HostName, vm.Profiles, err)
		}
		for range 3 {
			if project, err := p.engine.ProjectOf(p.ctx, vm.Machine); project != "prod" || err != nil {
				t.Errorf("its project is %q, %v", project, err)
			}
		}
		if asked := r.sim.Journal().Count("GET vm-hosts/{id}/ parameters"); asked != 1 {
			t.Errorf("the project of the host was asked for %d times", asked)
		}
	})
}

package assembly_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestPlaceInProject: only hosts that make VMs in the wanted project will do, and
// each of them is asked once.
func TestPlaceInProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		for n := range m.Hosts {
			m.Hosts[n].LXDVersion, m.Hosts[n].Subnets = "5.21.3", []string{"lan"}
		}
		m.Hosts[1].Project = "prod"
		r := inMemoryOf(t, m)
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		for _, name := range []string{"one", "two"} {
			vm, err := p.applyVM(smallVM(name, engine.Placement{Project: "prod"}))
			if err != nil || vm.HostName != "lxd2" {
				t.Errorf("%s is on %q, error %v", name, vm.HostName, err)
			}
		}
		if asked := r.sim.Journal().Count("GET vm-hosts/{id}/ parameters"); asked != len(m.Hosts) {
			t.Errorf("the projects of %d hosts were asked for %d times", len(m.Hosts), asked)
		}
		named := smallVM("three", engine.Placement{Project: "nosuch"})
		for _, host := range []string{"", "lxd2"} {
			named.Host = host
			_, err := p.applyVM(named)
			var lxd *engine.Error
			if !errors.As(err, &lxd) || lxd.Type != engine.ProjectNotFound || !engine.IsTerminal(err) {
				t.Errorf("host %q: want a terminal %s, got %v", host, engine.ProjectNotFound, err)
			}
		}
	})
}

// TestProjectAnew: a machine that was released and deployed as another VM host
// has another project.
func TestProjectAnew(t *testing.T) {
	inHosts(t, func(t *testing.T, _ testMAAS, p process) {
		spec := metalHost()
		for _, project := range []string{"fleet", "prod"} {
			spec.Project = project
			host, ref := p.makeHost(t, spec)
			got, err := p.engine.ProjectOf(p.ctx, engine.Machine{HostID: host.VMHost.ID})
			if err != nil || got != project {
				t.Errorf("a VM of it is in the project %q, %v; want %q", got, err, project)
			}
			if err := p.deleteHost(ref); err != nil {
				t.Fatal(err)
			}
		}
	})
}

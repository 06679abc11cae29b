package acctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowIgnoreChanges leaves attributes to somebody else by ignore_changes. An update of
// another attribute does not write them back, and the state tells what MAAS has.
func TestAccWorkflowIgnoreChanges(t *testing.T) {
	t.Parallel()
	const ignoring = "lifecycle {\n    ignore_changes = [zone, pool%s]\n  }"
	machineSettings := []string{`zone = "az1"`, `pool = "default"`, `description = "ours"`, fmt.Sprintf(ignoring, ", description")}
	others := sim.MachineEdit{Zone: new("az2"), Pool: new("kvm"), Description: new("theirs")}
	kinds := map[string]struct {
		target func(*testing.T) *metalTarget
		body   func(attributes ...string) string
		edit   func(*testing.T, *metalTarget)
		want   func(*testing.T, *metalTarget) string // "" or what was written back
	}{
		"VM": {
			target: func(t *testing.T) *metalTarget {
				return &metalTarget{target: newSimulatedTarget(t), folder: t.TempDir()}
			},
			body: func(attributes ...string) string {
				return vmNamed("test", "web", append(attributes, machineSettings...)...)
			},
			edit: func(t *testing.T, x *metalTarget) { x.editMachine(t, "web", others) },
			want: func(t *testing.T, x *metalTarget) string { return settingsWrittenBack(x.findMachine(t, "web")) },
		},
		"Machine": {
			target: func(t *testing.T) *metalTarget { return newMetalTarget(t) },
			body: func(attributes ...string) string {
				return machineOnNode1(append(attributes, machineSettings...)...)
			},
			edit: func(t *testing.T, x *metalTarget) { x.editMachine(t, "node1", others) },
			want: func(t *testing.T, x *metalTarget) string { return settingsWrittenBack(x.findMachine(t, "node1")) },
		},
		"VMHost": {
			target: func(t *testing.T) *metalTarget { return newMetalTarget(t) },
			body: func(attributes ...string) string {
				return hostOnNode1(append(attributes, `zone = "az1"`, `pool = "default"`, fmt.Sprintf(ignoring, ""))...)
			},
			edit: func(t *testing.T, x *metalTarget) {
				x.editOnlyVMHost(t, "zone=az2")
				x.editOnlyVMHost(t, "pool=kvm")
			},
			want: func(t *testing.T, x *metalTarget) string {
				if h := x.listVMHosts(t)[0]; h.Zone.Name != "az2" || h.Pool.Name != "kvm" {
					return fmt.Sprintf("zone %s, pool %s", h.Zone.Name, h.Pool.Name)
				}
				return ""
			},
		},
	}
	for name, tc := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := tc.target(t)
			w := newWorkspace(t, x.config(tc.body()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			tc.edit(t, x)
			w.configure(t, x.config(tc.body(`tags = ["blue"]`)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			if back := tc.want(t, x); back != "" {
				t.Errorf("the apply wrote back what ignore_changes names: %s", back)
			}
			if shown := w.run(t, "show", "-no-color"); !strings.Contains(shown, `"az2"`) || !strings.Contains(shown, `"blue"`) {
				t.Errorf("the state does not tell what MAAS has:\n%s", shown)
			}
			w.wantEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// settingsWrittenBack are the settings of a machine, unless they are still those of somebody else.
func settingsWrittenBack(m sim.Machine) string {
	if m.Zone == "az2" && m.Pool == "kvm" && strings.Contains(m.Description, "theirs") {
		return ""
	}
	return fmt.Sprintf("zone %s, pool %s, description %q", m.Zone, m.Pool, m.Description)
}

package acctest_test

import (
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// exampleWorld has what the examples name.
func exampleWorld(m *sim.Model) {
	m.Zones, m.Pools, m.Domains = []string{"az1"}, []string{"web"}, []string{"example.com"}
	m.Subnets = []sim.SubnetModel{{CIDR: "10.0.0.0/24", DHCP: true}}
	m.Hosts = []sim.HostModel{{
		Name: "lxd-a", Cores: 16, MemoryMiB: 65536,
		StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 500, Default: true}, {Name: "fast", SizeGB: 500}},
	}}
}

// exampleFolder is where the examples of maaslxd_vm are.
const exampleFolder = "examples/resources/maaslxd_vm/"

// TestAccExamples applies, re-plans, imports and destroys the examples.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	x := simulated(t, exampleWorld)
	w := newWorkspace(t, fmt.Sprintf("provider \"maaslxd\" {\n  api_url = %q\n  api_key = %q\n  poll_interval = \"50ms\"\n}\n", x.url, x.key))
	w.take(t, exampleFolder+"resource.tf", exampleFolder+"wait.tf", exampleFolder+"cloud-init.yaml")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "state", "rm", "maaslxd_vm.web")
	w.take(t, exampleFolder+"import-by-string-id.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	if n := len(x.sim.Instances()); n != 3 {
		t.Errorf("want the three VMs of the examples, got %+v", x.sim.Instances())
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if n := len(x.sim.Instances()); n != 0 {
		t.Errorf("left: %+v", x.sim.Instances())
	}
}

// TestAccExampleProvider validates the example of the provider block.
func TestAccExampleProvider(t *testing.T) {
	t.Parallel()
	w := emptyWorkspace(t)
	w.take(t, "examples/provider/provider.tf")
	w.run(t, "validate", "-no-color")
}

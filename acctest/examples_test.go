package acctest_test

import (
	"fmt"
	"os"
	"strings"
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
	id := x.machine(t, "web-1").SystemID
	for _, command := range importCommands(t) {
		w.run(t, "state", "rm", "maaslxd_vm.web")
		w.run(t, strings.Fields(strings.ReplaceAll(command, exampleID, id))...)
	}
	w.run(t, "state", "rm", "maaslxd_vm.web")
	w.take(t, exampleFolder+"import-by-string-id.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	t.Run("ByIdentity", func(t *testing.T) {
		if w.cli.Before(1, 12) {
			t.Skipf("%s has no import by identity: that came with 1.12", w.cli)
		}
		w.run(t, "state", "rm", "maaslxd_vm.web")
		byIdentity, err := os.ReadFile("../" + exampleFolder + "import-by-identity.tf")
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, "import-by-string-id.tf", strings.ReplaceAll(string(byIdentity), exampleID, id))
		w.run(t, "apply", "-auto-approve", "-no-color")
	})
	if n := len(x.sim.Instances()); n != 3 {
		t.Errorf("want the three VMs of the examples, got %+v", x.sim.Instances())
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if n := len(x.sim.Instances()); n != 0 {
		t.Errorf("left: %+v", x.sim.Instances())
	}
}

// exampleID is the system id that stands in the examples.
const exampleID = "4y3h7n"

// importCommands are the commands of import.sh, without the CLI's name.
func importCommands(t *testing.T) []string {
	t.Helper()
	script, err := os.ReadFile("../" + exampleFolder + "import.sh")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(script)) {
		if command, ok := strings.CutPrefix(line, "terraform "); ok {
			commands = append(commands, command)
		}
	}
	if len(commands) != 3 {
		t.Fatalf("want three commands in import.sh, got %q", commands)
	}
	return commands
}

// TestAccExampleProvider validates the example of the provider block.
func TestAccExampleProvider(t *testing.T) {
	t.Parallel()
	w := emptyWorkspace(t)
	w.take(t, "examples/provider/provider.tf")
	w.run(t, "validate", "-no-color")
}

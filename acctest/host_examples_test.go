package acctest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// hostExamples has the examples of maaslxd_vm_host, fleetExample the module of
// a fleet.
const (
	hostExamples = "examples/resources/maaslxd_vm_host/"
	fleetExample = "examples/fleet/"
)

// addHostExampleObjects adds the objects that the examples name.
func addHostExampleObjects(m *sim.Model) {
	m.Zones, m.Pools, m.Domains = []string{"az1", "az2"}, []string{"kvm"}, []string{"example.com"}
	m.Subnets = []sim.SubnetModel{{CIDR: "10.0.0.0/24", DHCP: true}}
	m.Hosts = []sim.HostModel{{Name: "old", Cores: 8, MemoryMiB: 32768, Unregistered: true, Address: "10.0.0.250:8443"}}
	m.Machines = nil
	for name, zone := range map[string]string{"node1": "az1", "node2": "az1", "node3": "az2"} {
		m.Machines = append(m.Machines, sim.MachineModel{
			Hostname: name, Cores: 16, MemoryMiB: 65536, DiskGB: 480, MoreDisksGB: []int64{960}, Zone: zone, Tags: []string{"metal"}, Domain: "example.com",
		})
	}
}

func newHostExampleTarget(t *testing.T) *metalTarget {
	t.Helper()
	if isOnSite() {
		t.Skip("runs only on the simulator: it needs the machines that the examples name")
	}
	return newMetalTarget(t, addHostExampleObjects)
}

// TestAccExampleHosts applies, plans again, imports and destroys the examples.
func TestAccExampleHosts(t *testing.T) {
	t.Parallel()
	x := newHostExampleTarget(t)
	x.makeLXDTrustNewKey(t, "old")
	w := newWorkspace(t, x.config(""))
	for _, name := range []string{"resource.tf", "resource_selector.tf", "resource_registered.tf", "packages.yaml"} {
		w.copyRepositoryFiles(t, hostExamples+name)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	id := x.findMachine(t, "node1").SystemID
	for _, command := range scriptCommands(t, hostExamples+"import.sh") {
		w.run(t, "state", "rm", "maaslxd_vm_host.node1")
		w.run(t, strings.Fields(strings.ReplaceAll(command, exampleID, id))...)
	}
	w.run(t, "state", "rm", "maaslxd_vm_host.node1")
	w.copyRepositoryFiles(t, hostExamples+"import-by-string-id.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.importByIdentity(t, "maaslxd_vm_host.node1", hostExamples, id)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2", "node3")(nil); err != nil {
		t.Error(err)
	}
}

// scriptCommands are the commands of a script, without the CLI's name.
func scriptCommands(t *testing.T, path string) []string {
	t.Helper()
	script, err := os.ReadFile("../" + path)
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(script)) {
		if command, ok := strings.CutPrefix(line, "terraform "); ok {
			commands = append(commands, command)
		}
	}
	if len(commands) == 0 {
		t.Fatalf("%s holds no command", path)
	}
	return commands
}

// fleetFolder is a folder with a fleet's module as its root module.
func (x *metalTarget) fleetFolder(t *testing.T) workspace {
	t.Helper()
	w := newEmptyWorkspace(t)
	w.writeFile(t, "provider.tf", x.config(""))
	for _, pattern := range []string{"*.tf", "tests/*.tftest.hcl"} {
		found, err := filepath.Glob("../" + fleetExample + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("there is no %s in %s: %v", pattern, fleetExample, err)
		}
		for _, path := range found {
			w.copyRepositoryFiles(t, strings.TrimPrefix(path, "../"))
		}
	}
	return w
}

// TestAccExampleFleet applies, plans again and destroys the fleet, and checks
// its table.
func TestAccExampleFleet(t *testing.T) {
	t.Parallel()
	x := newHostExampleTarget(t)
	w := x.fleetFolder(t)
	w.run(t, "apply", "-auto-approve", "-no-color")
	table := w.fleetTable(t)
	want := fleetRow{Zone: "az2", Cores: "6/16", MemoryGiB: "12/64"}
	row := table["kvm-node3"]
	vms := len(row.VMs)
	row.VMs = nil
	if diff := cmp.Diff(want, row); diff != "" || vms != 3 {
		t.Errorf("the only host of az2 has %d VMs, want 3 (-want +got):\n%s", vms, diff)
	}
	if n := len(table["kvm-node1"].VMs) + len(table["kvm-node2"].VMs); len(table) != 3 || n != 3 {
		t.Errorf("want the other three VMs on the hosts of az1, got %+v", table)
	}
	zones := map[string]int{}
	for _, i := range x.instances() {
		zones[x.findMachine(t, i.Host).Zone]++
	}
	if diff := cmp.Diff(map[string]int{"az1": 3, "az2": 3}, zones); diff != "" {
		t.Errorf("VMs in the zones (-want +got):\n%s", diff)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2", "node3")(nil); err != nil {
		t.Error(err)
	}
}

// fleetRow is a line of the fleet's table.
type fleetRow struct {
	Zone, Cores string
	MemoryGiB   string `json:"memory_gib"`
	VMs         []string
}

func (w workspace) fleetTable(t *testing.T) (table map[string]fleetRow) {
	t.Helper()
	if err := json.Unmarshal([]byte(w.run(t, "output", "-json", "fleet")), &table); err != nil {
		t.Fatal(err)
	}
	return table
}

// TestAccExampleFleetTests runs the module's own tests.
func TestAccExampleFleetTests(t *testing.T) {
	t.Parallel()
	x := newHostExampleTarget(t)
	w := x.fleetFolder(t)
	if out := w.run(t, "test", "-no-color"); !wordsPattern("4 passed, 0 failed").MatchString(out) {
		t.Errorf("want four runs that pass, got:\n%s", out)
	}
	if err := x.checkReady("node1", "node2", "node3")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccExampleDemo applies, plans again and destroys the configuration of
// "make demo", on the same machines, without the waits.
func TestAccExampleDemo(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../examples/demo/world.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	world, err := sim.ReadModel(file)
	if err != nil {
		t.Fatal(err)
	}
	x := newMetalTarget(t, func(m *sim.Model) {
		latency := m.Latency
		*m = world
		m.Latency, m.LXDListen = latency, "auto" // the demo connects to its LXDs itself
	})
	w := newEmptyWorkspace(t)
	for name, folder := range map[string]string{"fleet": "../" + fleetExample, "demo": "../examples/demo"} {
		if err := os.CopyFS(filepath.Join(w.dir, name), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	w.dir = filepath.Join(w.dir, "demo")
	w.env = append(w.env, "MAAS_API_URL="+x.url, "MAAS_API_KEY="+x.key, "MAASLXD_LEDGER="+filepath.Join(x.folder, "ledger.db"))
	w.run(t, "get", "-no-color")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if hosts, vms := len(x.listVMHosts(t)), len(x.instances()); hosts != 3 || vms != 6 {
		t.Errorf("want 3 hosts and 6 VMs, got %d and %d", hosts, vms)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2", "node3")(nil); err != nil {
		t.Error(err)
	}
}

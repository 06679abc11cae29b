package acctest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// addExampleObjects adds the objects that the examples name.
func addExampleObjects(m *sim.Model) {
	m.Zones, m.Pools, m.Domains = []string{"az1", "az2"}, []string{"kvm", "web"}, []string{"example.com"}
	m.Subnets = []sim.SubnetModel{{CIDR: "10.0.0.0/24", DHCP: true}}
	m.Hosts = nil
	for _, h := range []struct{ name, zone string }{{"lxd-a", "az1"}, {"lxd-b", "az1"}, {"lxd-c", "az2"}, {"lxd-d", "az2"}} {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: h.name, Zone: h.zone, Pool: "kvm", Tags: []string{"ssd"}, Cores: 16, MemoryMiB: 65536,
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 500, Default: true}, {Name: "fast", SizeGB: 500}},
		})
	}
}

// exampleFolder has the examples of maaslxd_vm.
const exampleFolder = "examples/resources/maaslxd_vm/"

// TestAccExamples applies, plans again, imports and destroys the examples.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	x := newTarget(t, addExampleObjects)
	x.useExampleWords(map[string]string{
		"lxd-a": "lxd1", "10.0.0.0/24": "10.77.0.0/24", "example.com": "example.org", "pool:web": "kvm", "zone:az1": "az2",
	})
	w := newWorkspace(t, x.exampleProvider())
	w.copyRepositoryFiles(t, exampleFolder+"resource.tf", exampleFolder+"resource_wait.tf", exampleFolder+"cloud-init.yaml")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	id := x.findMachine(t, "web-1").SystemID
	for _, command := range importCommands(t) {
		w.run(t, "state", "rm", "maaslxd_vm.web")
		w.run(t, strings.Fields(strings.ReplaceAll(command, exampleID, id))...)
	}
	w.run(t, "state", "rm", "maaslxd_vm.web")
	w.copyRepositoryFiles(t, exampleFolder+"import-by-string-id.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.importByIdentity(t, "maaslxd_vm.web", exampleFolder, id)
	if n := len(x.instances()); n != 3 {
		t.Errorf("want the three VMs of the examples, got %+v", x.instances())
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if n := len(x.instances()); n != 0 {
		t.Errorf("left: %+v", x.instances())
	}
}

// importByIdentity imports the example of a folder by its identity, where the
// CLI has identities.
func (w workspace) importByIdentity(t *testing.T, address, folder, id string) {
	t.Helper()
	if w.cli.IsOlderThan(1, 12) {
		leaveOut(t, "import by identity", w.cli.String()+" has none: that came with 1.12")
		return
	}
	w.run(t, "state", "rm", address)
	byIdentity, err := os.ReadFile("../" + folder + "import-by-identity.tf")
	if err != nil {
		t.Fatal(err)
	}
	w.writeFile(t, "import-by-string-id.tf", strings.ReplaceAll(string(byIdentity), exampleID, id))
	w.run(t, "apply", "-auto-approve", "-no-color")
}

// exampleProvider is a provider block for the examples that have none.
func (x *target) exampleProvider() string {
	return fmt.Sprintf("provider \"maaslxd\" {\n  api_url = %q\n  api_key = %q\n  poll_interval = %q\n  %s}\n", x.url, x.key, x.pollInterval(), x.keySettings())
}

// TestAccExampleDayTwo applies the example of a protected VM, and destroys the
// VM after its protection is removed.
func TestAccExampleDayTwo(t *testing.T) {
	t.Parallel()
	x := newTarget(t, addExampleObjects)
	x.useExampleWords(map[string]string{"lxd-a": "lxd1"})
	w := newWorkspace(t, x.exampleProvider())
	w.copyRepositoryFiles(t, exampleFolder+"resource_day_two.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.wantCommandFailure(t, `VM ledger-1 is protected from deletion`, "destroy", "-auto-approve", "-no-color")
	const file = "resource_day_two.tf"
	text, err := os.ReadFile("../" + exampleFolder + file)
	if err != nil {
		t.Fatal(err)
	}
	w.writeFile(t, file, strings.ReplaceAll(string(text), "deletion_protection = true", "deletion_protection = false"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccExampleDevices applies the example of a VM with a GPU, on a VM host
// with the example's name.
func TestAccExampleDevices(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(vmHost("lxd-a", `machine = "node1"`, deployNoble)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.copyRepositoryFiles(t, exampleFolder+"resource_devices.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.wantInstance(t, "render-1", map[string]string{"boot.autostart": "true", "user.team": "studio", "security.secureboot": "false"},
		"card map[pci:0000:01:00.0 type:gpu]", "tpm0 map[type:tpm]")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color", "-target=maaslxd_vm.render")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccExampleNetworks applies the example of a VM with an IPv4 and an IPv6 address.
func TestAccExampleNetworks(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, addExampleObjects)
	x.addIPv6Subnet(t, "10.0.0.0/24", "dmz", "v6", "fd00:10::/64")
	w := newWorkspace(t, x.exampleProvider())
	w.copyRepositoryFiles(t, exampleFolder+"resource_networks.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccExamplePlacement applies the example of a placement: two VMs in each
// zone, one on each host.
func TestAccExamplePlacement(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, addExampleObjects)
	w := newWorkspace(t, x.exampleProvider())
	w.copyRepositoryFiles(t, exampleFolder+"resource_placement.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	on := map[string]int{}
	for _, i := range x.instances() {
		on[i.Host]++
	}
	if diff := cmp.Diff(map[string]int{"lxd-a": 1, "lxd-b": 1, "lxd-c": 1, "lxd-d": 1}, on); diff != "" {
		t.Errorf("VMs on the hosts (-want +got):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccExampleDataSources applies the example of each data source, beside the
// VMs of the resource's examples and another owner's VM.
func TestAccExampleDataSources(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, addExampleObjects)
	w := newWorkspace(t, x.exampleProvider())
	w.copyRepositoryFiles(t, exampleFolder+"resource.tf", exampleFolder+"cloud-init.yaml")
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.makeUnmanagedVM(t, "stranger", 1)
	wants := map[string]string{
		"maaslxd_vm":       `web_1 host = "lxd-a" ip_addresses = "10.0.0.11" status = "Deployed"`,
		"maaslxd_vm_host":  `left_on_lxd_a cores = 10 disk_gb "default" = 4\d\d "fast" = 400 memory_mib = \d+`,
		"maaslxd_vm_hosts": `roomy = "lxd-a", "lxd-b",\s+\]\)`,
		"maaslxd_vms":      `strangers = "stranger" =`,
		"maaslxd_region":   `maas = "MAAS [^ ]+, VMs are made by (maas|lxd)"`,
		"maaslxd_images":   `images = tolist\(\[ "ubuntu/noble",`,
		"maaslxd_zones":    `zones = tolist\(\[ "az1", "az2", "default",`,
		"maaslxd_pools":    `pools = tolist\(\[ "default", "kvm", "web",`,
		"maaslxd_domains":  `domains = tolist\(\[ "example.com", "maas",`,
		"maaslxd_subnets":  `subnets = \{ "10.0.0.0/24" = "10.0.0.0/24"`,
		"maaslxd_machines": `ready =`,
		"maaslxd_capacity": `room = \{ "lxd-a" = \d+ "lxd-b" = \d+`,
	}
	for _, name := range fileNames(t, "../examples/data-sources") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, x.exampleProvider())
			w.copyRepositoryFiles(t, "examples/data-sources/"+name+"/data-source.tf")
			out := w.run(t, "apply", "-auto-approve", "-no-color")
			want := regexp.MustCompile(`(?s)` + strings.Join(strings.Fields(wants[name]), `.*?`))
			if wants[name] == "" || !want.MatchString(out) {
				t.Errorf("want %q in:\n%s", wants[name], out)
			}
		})
	}
}

// exampleID is the system id in the examples.
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

// TestAccExampleProvider validates the example of the provider block as it is.
// It makes a VM with it at another address, where no certificate is needed.
func TestAccExampleProvider(t *testing.T) {
	t.Parallel()
	const example = "examples/provider/provider.tf"
	w := newEmptyWorkspace(t)
	w.copyRepositoryFiles(t, example)
	w.run(t, "validate", "-no-color")
	x := newSimulatedTarget(t)
	text, err := os.ReadFile("../" + example)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer(
		"https://maas.example.com:5443/MAAS", x.url, "/var/lib/maaslxd/ledger.db", w.dir+"/ledger.db",
		`ca_cert = "/etc/ssl/certs/maas-ca.pem"`, "ca_cert = null",
	).Replace(string(text))
	w.writeFile(t, "provider.tf", here+x.vm("web"))
	x.putKeyBesideLedger(t, w.dir+"/ledger.db")
	w.env = append(w.env, "TF_VAR_maas_api_key="+x.key)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if m := x.findMachine(t, "web"); !strings.HasSuffix(m.Description, " team-a/web") {
		t.Errorf("want it marked as team-a's, got %q", m.Description)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkVMGone("web")(nil); err != nil {
		t.Error(err)
	}
}

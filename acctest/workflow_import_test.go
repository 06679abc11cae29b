package acctest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// importWithGeneratedConfig imports one object into an empty folder with the configuration that the
// CLI generates for it, unedited: the first plan only adopts, the second is empty. While there
// is no resource, the block names the provider: Terraform 1.16 takes hashicorp's otherwise.
func importWithGeneratedConfig(t *testing.T, provider, address, id string) (workspace, string) {
	t.Helper()
	block := func(line string) string {
		return provider + "import {\n  to = " + address + "\n  id = \"" + id + "\"\n" + line + "}\n"
	}
	w := newWorkspace(t, block("  provider = maaslxd\n"))
	out := unwrapMessage(w.run(t, "plan", "-no-color", "-generate-config-out=generated.tf"))
	if !wordsPattern(`Plan: 1 to import, 0 to add,`).MatchString(out) || !wordsPattern(`0 to destroy`).MatchString(out) {
		t.Errorf("the first plan does more than to adopt:\n%s", out)
	}
	generated, err := os.ReadFile(filepath.Join(w.dir, "generated.tf"))
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, block(""))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	return w, w.names.toWords(string(generated))
}

// TestAccWorkflowImportVM imports a VM with a fixed address and a kernel of its
// own, with generated configuration.
func TestAccWorkflowImportVM(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	subnet, ip := "lan", "10.77.0.42"
	w := newWorkspace(t, x.config(x.vm("web", x.deploy(`kernel = "ga-24.04"`), `cores = 2`, `domain = "example.org"`, `tags = ["a"]`,
		`disks = { root = { size_gb = 8 }, data = { size_gb = 3 } }`,
		`interfaces = { eth0 = { subnet = "`+subnet+`", ip = "`+ip+`" }, eth1 = { subnet = "dark" } }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	adopted, generated := importWithGeneratedConfig(t, x.config(""), vmAddress, "web")
	for _, want := range []string{`kernel "ga-24.04"`, `"10.77.0.42"`, `subnet "10.77.0.0/24"`, `subnet "10.78.0.0/24"`} {
		if !wordsPattern(strings.ReplaceAll(want, " ", " = ")).MatchString(strings.Join(strings.Fields(generated), " ")) {
			t.Errorf("the generated configuration lacks %s:\n%s", want, generated)
		}
	}
	if id := adopted.systemID(t); id != made || x.findMachine(t, "web").SystemID != made {
		t.Errorf("it is %s, and was %s", id, made)
	}
}

// TestAccWorkflowImportVMOtherwise imports a VM into a configuration that
// contradicts what MAAS shows. The import believes MAAS, so that the plan
// replaces the VM.
func TestAccWorkflowImportVMOtherwise(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(x.vm("web", x.deploy(`kernel = "ga-24.04"`), `interfaces = { eth0 = { subnet = "lan" } }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for title, attributes := range map[string][]string{
		"Interfaces": {x.deploy(), `interfaces = { eth0 = { subnet = "lan" }, eth1 = { subnet = "dark" } }`},
		"Kernel":     {x.deploy(`kernel = "hwe-24.04"`)},
	} {
		t.Run(title, func(t *testing.T) {
			o := newWorkspace(t, x.config(x.vm("web", attributes...)))
			o.run(t, "import", "-no-color", vmAddress, "web")
			if got := joinActions(o.planActions(t)); got != "delete,create" {
				t.Errorf("the plan wants %s", got)
			}
		})
	}
}

// TestAccWorkflowImportHost imports a VM host that the provider deployed.
func TestAccWorkflowImportHost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(vmHost("kvm1", `machine = "node1"`, `deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`, `zone = "az1"`, `tags = ["rack"]`, `cpu_overcommit = 2`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	_, generated := importWithGeneratedConfig(t, x.config(""), hostAddress, "kvm1")
	if strings.Contains(strings.Join(strings.Fields(generated), " "), `address = "`) {
		t.Errorf("the generated configuration has both a machine and an address:\n%s", generated)
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
		t.Errorf("the machine is %s", m.StatusName)
	}
}

// TestAccWorkflowImportHostByAddress imports a VM host that the provider
// registered by its address. MAAS made the machine's record, which nobody can
// deploy.
func TestAccWorkflowImportHostByAddress(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	x.makeLXDTrustNewKey(t, "stray")
	w := newWorkspace(t, x.configWithProbe("direct", vmHost("kvm", fmt.Sprintf("address = %q", x.findLXD(t, "stray").Address), `tags = ["rack"]`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	again, generated := importWithGeneratedConfig(t, x.configWithProbe("direct", ""), hostAddress, "kvm")
	if text := strings.Join(strings.Fields(generated), " "); !strings.Contains(text, `address = "https://`) || !strings.Contains(text, "machine = null") {
		t.Errorf("want the address alone, got:\n%s", generated)
	}
	again.run(t, "destroy", "-auto-approve", "-no-color")
}

// oldPrivateStates is what the private state held before it had keys of VMs and
// marks of a MAAS, by type of resource. Its values are base64.
var oldPrivateStates = map[string][]byte{
	"maaslxd_vm":      []byte(`{"vm":"e30="}`),                                              // {}
	"maaslxd_vm_host": []byte(`{"vm_host":"eyJrZXkiOiJkZWZhdWx0L3ZtLWhvc3RzL2t2bTEifQ=="}`), // {"key":"default/vm-hosts/kvm1"}
}

// TestAccWorkflowStateBefore reads a state of the provider from the time before
// lxd_address was an attribute of its own. Then each owner was "default".
func TestAccWorkflowStateBefore(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	config := func(vm string) string {
		return ownerLine.ReplaceAllString(x.config(hostOnNode1()+vmOnTestHost(vm)), "  owner = \"default\"\n")
	}
	w := newWorkspace(t, config("web"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	file := filepath.Join(w.dir, "terraform.tfstate")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	for _, r := range state["resources"].([]any) {
		for _, i := range r.(map[string]any)["instances"].([]any) {
			instance := i.(map[string]any)
			attributes := instance["attributes"].(map[string]any)
			kind := r.(map[string]any)["type"].(string)
			instance["private"] = oldPrivateStates[kind]
			if kind == "maaslxd_vm" {
				attributes["interfaces"] = nil
				continue
			}
			instance["schema_version"] = 0
			attributes["address"] = attributes["lxd_address"]
			delete(attributes, "lxd_address")
		}
	}
	if raw, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	w.writeFile(t, "terraform.tfstate", string(raw))
	made := x.findMachine(t, "web").SystemID
	for _, vm := range []string{"web", "web-new"} { // unchanged, and renamed; now without an owner
		w.configure(t, withoutOwner(config(vm)))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
		if got := x.findMachine(t, vm).SystemID; got != made {
			t.Errorf("%s is %s, and was %s", vm, got, made)
		}
	}
	if out := w.run(t, "state", "show", "-no-color", hostAddress); !wordsPattern("lxd_address =").MatchString(out) || strings.Contains(out, "\n    address ") {
		t.Errorf("the state is:\n%s", out)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowImportTags: imported tags become the configuration's own when
// an apply with them has succeeded, and not before.
func TestAccWorkflowImportTags(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	tags := `tags = ["a"]`
	w := newWorkspace(t, x.config(x.vm("web", tags, `zone = "az1"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "state", "rm", vmAddress)
	w.run(t, "import", "-no-color", vmAddress, "web")
	planned := func(want string, attributes ...string) {
		t.Helper()
		w.configure(t, x.config(x.vm("web", attributes...)))
		if got := joinActions(w.planActions(t)); got != want {
			t.Errorf("the plan of %q wants %s, not %s", attributes, got, want)
		}
	}
	planned("update", tags, `zone = "az2"`)
	x.simulatorOrSkip().AddFault(sim.Fault{Method: http.MethodPut, Path: "machines/*/", Kind: sim.FaultStatus, Status: http.StatusBadRequest, Times: 1})
	w.wantCommandFailure(t, "update VM web", "apply", "-auto-approve", "-no-color")
	planned("no-op", `zone = "az1"`)
	planned("update", tags, `zone = "az1"`)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	planned("update", `zone = "az1"`)
	w.run(t, "apply", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "web"); slices.Contains(m.Tags, "a") {
		t.Errorf("the tag stays: %q", m.Tags)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

package acctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// listResult is an object that a list resource found.
type listResult struct {
	Name     string
	SystemID string
	MAAS     string                   // its mark; empty: it has none
	Resource map[string]tftypes.Value // nil unless it was requested
}

// listResources calls a list resource over the provider's protocol, as
// "terraform query" does. It returns the errors as one text.
func (x *target) listResources(t *testing.T, resource string, config map[string]any, whole bool, limit int64) (found []listResult, failure string) {
	t.Helper()
	server, schemas := x.configuredProvider(t)
	lists, ok := server.(tfprotov6.ListResourceServer)
	if !ok {
		t.Fatal("the provider serves no lists")
	}
	asked := fullConfig(t, schemas.ListResourceSchemas[resource], config)
	stream, err := lists.ListResource(t.Context(), &tfprotov6.ListResourceRequest{TypeName: resource, Config: asked, IncludeResource: whole, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	for result := range stream.Results {
		failure += diagnosticTexts(result.Diagnostics)
		if result.Identity == nil {
			continue
		}
		one := listResult{Name: result.DisplayName}
		one.SystemID, one.MAAS, _ = identityTexts(t, result.Identity)
		if whole {
			value, err := result.Resource.Unmarshal(schemas.ResourceSchemas[resource].ValueType())
			if err != nil {
				t.Fatal(err)
			}
			one.Resource = attributesOf(t, value)
		}
		found = append(found, one)
	}
	return found, failure
}

func attributesOf(t *testing.T, v tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func attributeText(t *testing.T, v tftypes.Value) string {
	t.Helper()
	var out string
	if err := v.As(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func namesOf(found []listResult) []string {
	names := []string{}
	for _, f := range found {
		names = append(names, f.Name)
	}
	return names
}

// TestAccListVMs lists VMs of a configuration and of other owners, with all
// filters. For each it reads what an import would.
func TestAccListVMs(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	w := newWorkspace(t, x.config(x.vm("web", `tags = ["a", "b"]`, `zone = "az2"`, x.deploy())+
		strings.ReplaceAll(x.onOtherHost("lxd2", x.vm("db", `tags = ["a"]`, `zone = "az1"`)), `"test"`, `"other"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	cases := map[string]struct {
		config map[string]any
		limit  int64
		want   []string
	}{
		"All":       {want: []string{"db", "web"}},
		"Host":      {config: map[string]any{"vm_host": "lxd2"}, want: []string{"db"}},
		"Zone":      {config: map[string]any{"zone": "az2"}, want: []string{"web"}},
		"Tags":      {config: map[string]any{"tags": []string{"a", "b"}}, want: []string{"web"}},
		"Managed":   {config: map[string]any{"managed": true}, want: []string{"db", "web"}},
		"Unmanaged": {config: map[string]any{"managed": false}, want: []string{}},
		"Pool":      {config: map[string]any{"pool": "kvm"}, want: []string{}},
		"Limit":     {limit: 1, want: []string{"db"}},
	}
	for title, tc := range cases {
		found, failure := x.listResources(t, "maaslxd_vm", tc.config, false, tc.limit)
		if diff := cmp.Diff(tc.want, namesOf(found)); diff != "" || failure != "" {
			t.Errorf("%s: %s\nVMs (-want +got):\n%s", title, failure, diff)
		}
	}
	found, failure := x.listResources(t, "maaslxd_vm", map[string]any{"vm_host": x.host}, true, 0)
	if failure != "" || len(found) != 1 {
		t.Fatalf("%q, %v", failure, found)
	}
	vm := x.findMachine(t, "web")
	got := map[string]string{}
	for _, name := range []string{"id", "name", "vm_host", "zone", "status"} {
		got[name] = attributeText(t, found[0].Resource[name])
	}
	if diff := cmp.Diff(map[string]string{"id": vm.SystemID, "name": "web", "vm_host": x.host, "zone": "az2", "status": "Deployed"}, got); diff != "" || found[0].SystemID != vm.SystemID {
		t.Errorf("the VM %s (-want +got):\n%s", found[0].SystemID, diff)
	}
	for _, name := range []string{"cores", "memory_mib", "disks", "interfaces", "deploy", "tags"} {
		if found[0].Resource[name].IsNull() {
			t.Errorf("nothing is said of %s", name)
		}
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccListBadInput wants one clear error for a name in a filter that MAAS does not have, with
// the known names. An empty list would be a wrong answer.
func TestAccListBadInput(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	cases := map[string]struct{ resource, attribute, value, want string }{
		"VMsHost":      {"maaslxd_vm", "vm_host", "mars", `Cannot list the VMs MAAS knows no VM host "mars" Known lxd1, lxd2`},
		"VMsZone":      {"maaslxd_vm", "zone", "mars", `Cannot list the VMs MAAS knows no zone "mars" Known az1, az2`},
		"VMsPool":      {"maaslxd_vm", "pool", "KVM", `Cannot list the VMs MAAS knows no resource pool "KVM" Did you mean "kvm"`},
		"HostsZone":    {"maaslxd_vm_host", "zone", "mars", `Cannot list the VM hosts MAAS knows no zone "mars" Known az1, az2`},
		"HostsPool":    {"maaslxd_vm_host", "pool", "mars", `Cannot list the VM hosts MAAS knows no resource pool "mars" Known kvm`},
		"MachinesZone": {"maaslxd_machine", "zone", "mars", `Cannot list the machines MAAS knows no zone "mars" Known az1, az2`},
		"MachinesPool": {"maaslxd_machine", "pool", "mars", `Cannot list the machines MAAS knows no resource pool "mars" Known kvm`},
	}
	for title, tc := range cases {
		found, failure := x.listResources(t, tc.resource, map[string]any{tc.attribute: tc.value}, false, 0)
		if len(found) > 0 || !wordsPattern(tc.want).MatchString(failure) || !strings.Contains(failure, `AttributeName("`+tc.attribute+`")`) {
			t.Errorf("%s: it lists %v: %q, want %q at %s", title, namesOf(found), failure, tc.want, tc.attribute)
		}
	}
}

// TestAccListManagedVMHosts lists the VM hosts that this provider made. There are no others.
func TestAccListManagedVMHosts(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for managed, want := range map[bool][]string{true: {"kvm1"}, false: {}} {
		found, failure := x.listResources(t, "maaslxd_vm_host", map[string]any{"managed": managed}, false, 0)
		names := namesOf(found)
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" || failure != "" {
			t.Errorf("managed %t: %s\nVM hosts (-want +got):\n%s", managed, failure, diff)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccListVMHosts lists VM hosts. For each it reads what an import would.
func TestAccListVMHosts(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, func(m *sim.Model) {
		m.Hosts[0].Zone, m.Hosts[1].Zone = "az1", "az2"
		m.Hosts[1].Pool, m.Hosts[1].Tags = "kvm", []string{"rack2"}
	})
	all, failure := x.listResources(t, "maaslxd_vm_host", nil, false, 0)
	names := namesOf(all)
	slices.Sort(names)
	if diff := cmp.Diff([]string{"lxd1", "lxd2"}, names); diff != "" || failure != "" {
		t.Errorf("%s\nVM hosts (-want +got):\n%s", failure, diff)
	}
	for _, tc := range []struct {
		config map[string]any
		want   []string
	}{
		{map[string]any{"pool": "kvm"}, []string{"lxd2"}},
		{map[string]any{"pool": "default"}, []string{"lxd1"}},
		{map[string]any{"tags": []string{"rack2"}}, []string{"lxd2"}},
		{map[string]any{"tags": []string{"rack9"}}, []string{}},
	} {
		found, failure := x.listResources(t, "maaslxd_vm_host", tc.config, false, 0)
		if diff := cmp.Diff(tc.want, namesOf(found)); diff != "" || failure != "" {
			t.Errorf("%s\nVM hosts with %v (-want +got):\n%s", failure, tc.config, diff)
		}
	}
	for managed, want := range map[bool]int{true: 0, false: 2} { // no configuration made them
		if found, failure := x.listResources(t, "maaslxd_vm_host", map[string]any{"managed": managed}, false, 0); failure != "" || len(found) != want {
			t.Errorf("managed %t: it lists %v: %s", managed, namesOf(found), failure)
		}
	}
	found, failure := x.listResources(t, "maaslxd_vm_host", map[string]any{"zone": "az2"}, true, 0)
	if failure != "" || len(found) != 1 || found[0].Name != "lxd2" {
		t.Fatalf("%q, %v", failure, namesOf(found))
	}
	if id, zone := attributeText(t, found[0].Resource["id"]), attributeText(t, found[0].Resource["zone"]); id != found[0].SystemID || zone != "az2" {
		t.Errorf("it is %s in %s", id, zone)
	}
}

// TestAccListQuery makes the CLI list VMs and write their configuration, where
// it has queries. That configuration imports the VMs without any other change.
func TestAccListQuery(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t) // a query of a real MAAS would import, and destroy, other owners' VMs
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name)))
	w.needsCLI114(t)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "state", "rm", vmAddress)
	w.configure(t, x.config(""))
	w.writeFile(t, "vms.tfquery.hcl", "list \"maaslxd_vm\" \"all\" {\n  provider = maaslxd\n  include_resource = true\n  config {\n    managed = true\n  }\n}\n")
	out := w.run(t, "query", "-no-color", "-generate-config-out=generated.tf")
	if !strings.Contains(out, x.findMachine(t, name).SystemID) {
		t.Errorf("the VM is not in:\n%s", out)
	}
	out = w.run(t, "plan", "-no-color")
	if !wordsPattern("1 to import, 0 to add, 0 to change, 0 to destroy").MatchString(unwrapMessage(out)) {
		t.Errorf("the generated configuration does more than to import:\n%s\n%s", w.readFile(t, "generated.tf"), out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccListMachines lists deployed bare metal, with all filters. For each it
// reads what an import would. It lists no VMs, VM hosts or Ready machines.
func TestAccListMachines(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()+vmOnTestHost("web")+testMachine("db", `machine = "node2"`, deployNoble, `tags = ["a", "b"]`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	db := x.findMachine(t, "node2")
	cases := map[string]struct {
		config map[string]any
		want   bool
	}{
		"All":       {nil, true},
		"Zone":      {map[string]any{"zone": db.Zone}, true},
		"OtherZone": {map[string]any{"zone": "az1"}, false},
		"Pool":      {map[string]any{"pool": db.Pool}, true},
		"Tags":      {map[string]any{"tags": []string{"a", "b"}}, true},
		"OtherTags": {map[string]any{"tags": []string{"a", "c"}}, false},
		"Managed":   {map[string]any{"managed": true}, true},
		"Unmanaged": {map[string]any{"managed": false}, false},
	}
	for title, tc := range cases {
		found, failure := x.listResources(t, "maaslxd_machine", tc.config, false, 0)
		names := namesOf(found)
		if failure != "" || slices.Contains(names, db.Hostname) != tc.want || slices.Contains(names, "web") || slices.Contains(names, "node1") || slices.Contains(names, "node3") {
			t.Errorf("%s: it lists %v: %s", title, names, failure)
		}
	}
	found, failure := x.listResources(t, "maaslxd_machine", map[string]any{"tags": []string{"a", "b"}}, true, 0)
	if failure != "" || len(found) != 1 {
		t.Fatalf("%q, %v", failure, found)
	}
	got := map[string]string{"identity": found[0].SystemID}
	for _, name := range []string{"id", "name", "machine", "hostname", "status"} {
		got[name] = attributeText(t, found[0].Resource[name])
	}
	if diff := cmp.Diff(map[string]string{"identity": db.SystemID, "id": db.SystemID, "name": "db", "machine": "node2", "hostname": "node2", "status": "Deployed"}, got); diff != "" {
		t.Errorf("the machine (-want +got):\n%s", diff)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccListQueryMachines has the CLI write the configuration of machines that are deployed:
// of one that this provider deployed, and of one that somebody deployed otherwise. It imports
// them without any other change. The first apply marks the latter, and notes imported tags.
func TestAccListQueryMachines(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		attributes []string
		unmark     bool
		changes    int
	}{
		"Ours":   {"The machine has our mark already, so the apply changes nothing.", nil, false, 0},
		"Tagged": {"The first apply notes that the tags belong to the configuration.", []string{`tags = ["a"]`}, false, 1},
		"Others": {"The first apply marks the machine.", nil, true, 1},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(machineOnNode1(tc.attributes...)))
			w.needsCLI114(t)
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "state", "rm", machineAddress)
			want := fmt.Sprintf("1 to import, 0 to add, %d to change, 0 to destroy", tc.changes)
			if tc.unmark {
				x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			}
			w.configure(t, x.config(""))
			w.writeFile(t, "machines.tfquery.hcl", "list \"maaslxd_machine\" \"all\" {\n  provider = maaslxd\n  include_resource = true\n}\n")
			w.run(t, "query", "-no-color", "-generate-config-out=generated.tf")
			if out := w.run(t, "plan", "-no-color"); !wordsPattern(want).MatchString(unwrapMessage(out)) {
				t.Errorf("%s\nThe generated configuration does more than to import:\n%s\n%s", tc.reason, w.readFile(t, "generated.tf"), out)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			if n, counted := x.countDeployments(); counted && n != 1 {
				t.Errorf("it was deployed %d times", n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// TestAccExampleLists makes the CLI query with the examples of the list
// resources, where it has queries.
func TestAccExampleLists(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, func(m *sim.Model) { m.Hosts[0].Name = "kvm1" })
	x.host = "kvm1"
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name)))
	w.needsCLI114(t)
	w.run(t, "apply", "-auto-approve", "-no-color")
	for resource, want := range map[string]string{"maaslxd_vm": "", "maaslxd_vm_host": "kvm1", "maaslxd_machine": ""} {
		w.copyRepositoryFiles(t, "examples/list-resources/"+resource+"/list-resource.tfquery.hcl")
		if out := w.run(t, "query", "-no-color"); !strings.Contains(out, want) || strings.Contains(out, name) {
			t.Errorf("%s lists:\n%s", resource, out)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// readFile is the text of a file of the workspace.
func (w workspace) readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

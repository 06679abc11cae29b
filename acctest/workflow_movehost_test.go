package acctest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// Settings of the LXD that canonical/maas registered by its address.
const (
	canonicalAddress  = "10.200.0.9"
	canonicalPassword = "the-password-of-the-lxd"
)

// newCanonicalHostTarget is a MAAS with two VM hosts as canonical/maas 2.4.0
// makes them. One is on the machine node1, with a VM. The other is the LXD
// stray, by its address.
func newCanonicalHostTarget(t *testing.T) *metalTarget {
	t.Helper()
	x := newMetalTarget(t, func(m *sim.Model) { m.Hosts[0].TrustPassword = canonicalPassword })
	node := x.findMachine(t, "node1").SystemID
	x.postForm(t, "machines/?op=allocate", url.Values{"system_id": {node}})
	x.postForm(t, "machines/"+node+"/?op=deploy", url.Values{"distro_series": {"ubuntu/noble"}, "register_vmhost": {"true"}})
	x.postForm(t, "vm-hosts/", url.Values{
		"type": {"lxd"}, "power_address": {canonicalAddress}, "password": {canonicalPassword}, "name": {"stray"}, "zone": {"az2"}, "tags": {"rack1,ssd"},
		"cpu_over_commit_ratio": {"2"},
	})
	x.simulatorOrSkip().Settle()
	x.composeAndDeploy(t, map[string]string{"web": "node1"})
	return x
}

// canonicalStates are the states of all VM hosts, as canonical/maas writes
// them.
func (x *metalTarget) canonicalStates(t *testing.T) []incumbent {
	t.Helper()
	var states []incumbent
	for name, record := range x.hostRecords(t) {
		state := canonicalHostState(record)
		if name == "stray" {
			state["power_address"], state["power_pass"] = canonicalAddress, canonicalPassword
		} else {
			state["machine"] = name
		}
		states = append(states, incumbent{"maas_vm_host", name, state})
	}
	return states
}

// hostRecords are MAAS's records of all VM hosts by name.
func (x *metalTarget) hostRecords(t *testing.T) map[string]map[string]any {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal(x.callMAAS(t, "GET", "vm-hosts/", ""), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, h := range list {
		all[h["name"].(string)] = h
	}
	return all
}

// checkNotedAddress checks the address that the machine of a VM host notes.
func (x *metalTarget) checkNotedAddress(t *testing.T, name, want string) {
	t.Helper()
	for _, m := range x.machines() {
		if m.OwnerData["maaslxd-name"] != name {
			continue
		}
		if got := m.OwnerData["maaslxd-address"]; got != want {
			t.Errorf("the machine of %s notes the address %s, want that of MAAS, %s", name, got, want)
		}
		return
	}
	t.Errorf("no machine notes VM host %s", name)
}

// canonicalHostState is what maas_vm_host of canonical/maas 2.4.0 reads of MAAS
// (maas/resource_maas_vm_host.go, resourceVMHostRead).
func canonicalHostState(record map[string]any) map[string]any {
	name := func(field string) any { return record[field].(map[string]any)["name"] }
	total := record["total"].(map[string]any)
	return map[string]any{
		"id": fmt.Sprint(record["id"]), "type": "lxd", "name": record["name"], "tags": record["tags"], "zone": name("zone"), "pool": name("pool"),
		"cpu_over_commit_ratio": record["cpu_over_commit_ratio"], "memory_over_commit_ratio": record["memory_over_commit_ratio"],
		"default_macvlan_mode": record["default_macvlan_mode"], "resources_cores_total": total["cores"], "resources_memory_total": total["memory"],
		"resources_local_storage_total": total["local_storage"], "machine": nil, "power_address": nil, "power_pass": nil, "power_user": nil, "timeouts": nil,
	}
}

// TestAccWorkflowMoveHosts moves VM hosts as the guide says, there and back.
// The first apply only writes marks, and the second plan is empty. MAAS has the
// same objects as before.
func TestAccWorkflowMoveHosts(t *testing.T) {
	t.Parallel()
	x := newCanonicalHostTarget(t)
	hosts, machines := x.hostRecords(t), x.machineRecords(t)
	w := newIncumbentWorkspace(t)
	w.writeFile(t, "terraform.tfstate", incumbentState(t, x.canonicalStates(t)...))
	w.writeFile(t, "before.tfstate", w.run(t, "state", "pull"))
	body := configurationOf(t, migratingGuide, "Move the VM hosts")
	resources, _, _ := strings.Cut(body, "moved {")
	w.configureWithIncumbents(t, x.config(body))
	x.simulatorOrSkip().ResetJournal()
	out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color"))
	if !wordsPattern("0 added, 2 changed, 0 destroyed").MatchString(out) {
		t.Errorf("want each VM host changed in place:\n%s", out)
	}
	marks := []string{"POST machines/{id}/ set_owner_data", "POST tags/", "POST tags/{name}/ update_nodes"}
	if diff := cmp.Diff(marks, slices.Sorted(maps.Keys(countChanges(x.simulatorOrSkip().Journal())))); diff != "" {
		t.Errorf("calls that write (-want +got):\n%s", diff)
	}
	x.checkSameHosts(t, hosts, machines)
	x.checkNotedAddress(t, "stray", "https://"+canonicalAddress+":8443")
	w.configure(t, x.config(resources)) // without the old provider
	w.wantEmptyPlan(t)
	w.configureWithIncumbents(t, x.config(""))
	w.run(t, "state", "push", "-force", "before.tfstate")
	x.checkSameHosts(t, hosts, machines)
}

// TestAccWorkflowMoveHostOnePair takes over a VM host, whose MAAS keeps a pair of its own, and lists the
// certificate of the fleet's pair for it. A computer without that pair makes no second one beside it.
func TestAccWorkflowMoveHostOnePair(t *testing.T) {
	t.Parallel()
	x := newCanonicalHostTarget(t)
	pair, err := fleetkey.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	taken := vmHost("node1", `machine = "node1"`, "adopt = true", fmt.Sprintf("lxd = { trusted_certificates = [%q] }", pair.Certificate))
	w := newWorkspace(t, x.config(taken))
	w.run(t, "import", "-no-color", hostAddress, "node1")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(taken+strings.Replace(vmHost("kvm2", `machine = "node2"`, deployNoble), `"test"`, `"b"`, 1)))
	other := w.newCIRunner(t, false)
	for _, plan := range [][]string{{"plan", "-no-color"}, {"plan", "-refresh=false", "-no-color"}} {
		cmd, out := other.command(t.Context(), plan...)
		if err := cmd.Run(); err == nil || !wordsPattern("Cannot create VM host kvm2 no key pair of the fleet here VM host node1 trusts the certificate "+pair.Fingerprint+" split the fleet").MatchString(unwrapMessage(out.String())) {
			t.Errorf("%v: want a refusal, got %v:\n%s", plan, err, out)
		}
	}
	if m := x.findMachine(t, "node2"); m.StatusName != "Ready" {
		t.Errorf("it began: %+v", m)
	}
	w.configure(t, x.config(taken)) // a host does not stand in its own way
	cmd, out := other.command(t.Context(), "plan", "-replace="+hostAddress, "-no-color")
	if err := cmd.Run(); err == nil || strings.Contains(out.String(), "split the fleet") || !strings.Contains(out.String(), "has VMs of others") {
		t.Errorf("want only the VMs in the way, got %v:\n%s", err, out)
	}
}

// TestAccWorkflowMoveHostKilled kills the apply of a move at each of its writes to the machine of a
// VM host. The next apply finishes the move.
func TestAccWorkflowMoveHostKilled(t *testing.T) {
	t.Parallel()
	body := configurationOf(t, migratingGuide, "Move the VM hosts")
	resources, _, _ := strings.Cut(body, "moved {")
	for nth := 1; nth <= 3; nth++ {
		t.Run(fmt.Sprint(nth), func(t *testing.T) {
			t.Parallel()
			x := newCanonicalHostTarget(t)
			hosts, machines := x.hostRecords(t), x.machineRecords(t)
			w := newIncumbentWorkspace(t)
			w.writeFile(t, "terraform.tfstate", incumbentState(t, x.canonicalStates(t)...))
			w.configureWithIncumbents(t, x.config(body))
			maas := x.simulatorOrSkip()
			for _, name := range []string{"node1", "stray"} {
				maas.AddFault(sim.Fault{Method: "POST", Path: "machines/*/", Op: "set_owner_data", Object: machineOfHost(t, x, name), Nth: nth, When: sim.FaultAfterEffect, Kind: sim.FaultHang})
			}
			cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			x.waitUntil(t, "both writes hang", func() bool {
				struck := 0
				for _, f := range maas.Faults() {
					struck += f.Struck
				}
				return struck == 2
			})
			if err := killFunctions["CLIAndProvider"](cmd); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatalf("the run ended well before it was killed:\n%s", out)
			}
			maas.ClearFaults()
			w.run(t, "apply", "-auto-approve", "-no-color")
			x.checkSameHosts(t, hosts, machines)
			w.configure(t, x.config(resources))
			w.wantEmptyPlan(t)
		})
	}
}

// machineOfHost is the system id of the machine of a VM host.
func machineOfHost(t *testing.T, x *metalTarget, name string) string {
	t.Helper()
	return x.hostRecords(t)[name]["host"].(map[string]any)["system_id"].(string)
}

// TestAccWorkflowMoveByImport takes VM hosts and a VM over by the guide's blocks for newer
// versions of the old provider. The plan makes and destroys nothing.
func TestAccWorkflowMoveByImport(t *testing.T) {
	t.Parallel()
	x := newCanonicalHostTarget(t)
	hosts, machines := x.hostRecords(t), x.machineRecords(t)
	w := newIncumbentWorkspace(t)
	web := incumbent{"maas_vm_host_machine", "web", machines["web"].incumbentAttributes("maas_vm_host_machine")}
	w.writeFile(t, "terraform.tfstate", incumbentState(t, append(x.canonicalStates(t), web)...))
	resources := ""
	for _, title := range []string{"Move the VMs", "Move the VM hosts"} {
		block, _, _ := strings.Cut(configurationOf(t, migratingGuide, title), "moved {")
		resources += block
	}
	resources = replaceLines(t, resources, "    db  = \"lxd2\"\n    web = \"lxd1\"\n", "    web = \"node1\"\n")
	imports := replaceLines(t, configurationOf(t, migratingGuide, "Import instead of moving"),
		"    db  = \"x8d2fk\"\n    web = \"4y3h7n\"\n", fmt.Sprintf("    web = %q\n", machines["web"].SystemID))
	w.configureWithIncumbents(t, x.config(resources+imports))
	out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color"))
	if !wordsPattern("3 imported, 0 added, 3 changed, 0 destroyed").MatchString(out) {
		t.Errorf("want each object imported:\n%s", out)
	}
	x.checkSameHosts(t, hosts, machines)
	w.configure(t, x.config(resources)) // without the old provider
	w.wantEmptyPlan(t)
}

// checkSameHosts checks that MAAS has the same VM hosts and machines as before.
func (x *metalTarget) checkSameHosts(t *testing.T, hosts map[string]map[string]any, machines map[string]machineRecord) {
	t.Helper()
	if diff := cmp.Diff(hosts, x.hostRecords(t)); diff != "" {
		t.Errorf("VM hosts (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(machines, x.machineRecords(t)); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
}

// TestAccWorkflowMoveHostThenChange moves a VM host and changes it in the same
// apply, then destroys it. Its machine stays deployed.
func TestAccWorkflowMoveHostThenChange(t *testing.T) {
	t.Parallel()
	x := newCanonicalHostTarget(t)
	machines := x.machineRecords(t)
	w := newIncumbentWorkspace(t)
	w.writeFile(t, "terraform.tfstate", incumbentState(t, x.canonicalStates(t)...))
	changed := strings.Replace(configurationOf(t, migratingGuide, "Move the VM hosts"), "name    = each.key", "name    = \"kvm-${each.key}\"\n  tags    = [\"moved\"]\n  force_destroy = true", 1)
	w.configureWithIncumbents(t, x.config(changed))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	for _, record := range x.hostRecords(t) {
		if name := record["name"].(string); !strings.HasPrefix(name, "kvm-") || !slices.Contains(record["tags"].([]any), any("moved")) {
			t.Errorf("it is %v", record)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if all := x.hostRecords(t); len(all) != 0 {
		t.Errorf("MAAS still has %v", all)
	}
	if m := x.findMachine(t, "node1"); m.SystemID != machines["node1"].SystemID || m.StatusName != "Deployed" {
		t.Errorf("its machine is %+v", m)
	}
}

// TestAccWorkflowMoveHostRefused moves objects that are not LXD VM hosts of
// this MAAS. The plan says so, and neither MAAS nor the state changes.
func TestAccWorkflowMoveHostRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		changed map[string]any // attributes of the state
		flags   []string
		want    string
	}{
		"OtherMAAS":  {reason: "The VM host is in another MAAS, and the provider does not make it again.", changed: map[string]any{"id": "77"}, want: "MAAS knows no LXD VM host with the id 77"},
		"OtherName":  {reason: "Another MAAS has another VM host with this id.", changed: map[string]any{"name": "elsewhere"}, want: "and elsewhere in the state: perhaps this is another MAAS"},
		"Virsh":      {reason: "A virsh host has no LXD.", changed: map[string]any{"type": "virsh"}, want: "is of the type virsh"},
		"NoNumber":   {reason: "The id in the state is not a number.", changed: map[string]any{"id": "seven"}, want: "does not have a VM host's number as id"},
		"Unseen":     {reason: "Without a refresh, the state lacks all attributes, and the plan would change all of them.", flags: []string{"-refresh=false"}, want: "Plan without -refresh=false"},
		"UnseenGone": {reason: "Without a refresh, nobody knows which VM host a destroy would remove.", flags: []string{"-refresh=false", "-destroy"}, want: "Plan without -refresh=false"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newCanonicalHostTarget(t)
			states := x.canonicalStates(t)
			for _, state := range states {
				maps.Copy(state.attributes, tc.changed)
			}
			w := newIncumbentWorkspace(t)
			w.writeFile(t, "terraform.tfstate", incumbentState(t, states...))
			w.configureWithIncumbents(t, x.config(configurationOf(t, migratingGuide, "Move the VM hosts")))
			x.simulatorOrSkip().ResetJournal()
			cmd, out := w.command(t.Context(), append([]string{"plan", "-no-color"}, tc.flags...)...)
			if err := cmd.Run(); err == nil || !strings.Contains(unwrapMessage(out.String()), tc.want) {
				t.Errorf("%s\nwant %q, got %v:\n%s", tc.reason, tc.want, err, out)
			}
			for route, calls := range countChanges(x.simulatorOrSkip().Journal()) {
				t.Errorf("%s\n%s was called %d times", tc.reason, route, calls)
			}
		})
	}
}

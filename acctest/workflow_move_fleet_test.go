package acctest_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// Sizes of the fleets that move.
const (
	movedHostCount = 20
	movedVMCount   = 200
)

// movedFleet is a fleet that other providers made.
type movedFleet struct {
	*metalTarget
	hosts  map[string]bool   // by name: whether MAAS deployed the VM host
	vms    map[string]string // the VM host of each VM
	states []incumbent
	before map[string]machineRecord
}

// newMovedFleet makes 20 VM hosts and 200 VMs without our provider. MAAS
// deploys one half of the VM hosts, and the others are registered by their
// addresses.
func newMovedFleet(t *testing.T) *movedFleet {
	t.Helper()
	f := &movedFleet{hosts: map[string]bool{}, vms: map[string]string{}}
	f.metalTarget = newMetalTarget(t, func(m *sim.Model) {
		m.Latency, m.Hosts, m.Machines = sim.Latency{}, nil, nil
		for n := range movedHostCount {
			name := fmt.Sprintf("kvm%02d", n)
			f.hosts[name] = n%2 == 0
			if f.hosts[name] {
				m.Machines = append(m.Machines, sim.MachineModel{Hostname: name, Cores: 32, MemoryMiB: 65536, DiskGB: 500})
			} else {
				m.Hosts = append(m.Hosts, sim.HostModel{Name: name, Cores: 32, MemoryMiB: 65536})
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(f.hosts)) {
		if f.hosts[name] {
			id := f.findMachine(t, name).SystemID
			f.postForm(t, "machines/?op=allocate", url.Values{"system_id": {id}})
			f.postForm(t, "machines/"+id+"/?op=deploy", url.Values{"distro_series": {"ubuntu/noble"}, "register_vmhost": {"true"}})
		}
	}
	f.simulatorOrSkip().Settle()
	for n := range movedVMCount {
		f.vms[fmt.Sprintf("vm%03d", n)] = fmt.Sprintf("kvm%02d", n%movedHostCount)
	}
	f.composeAndDeploy(t, f.vms)
	f.before = f.machineRecords(t)
	for name, record := range f.hostRecords(t) {
		state := canonicalHostState(record)
		if state["power_address"] = f.findLXD(t, name).Address; f.hosts[name] {
			state["machine"], state["power_address"] = name, nil
		}
		f.states = append(f.states, incumbent{"maas_vm_host", name, state})
	}
	return f
}

// addVMs adds the VMs to the states, as resources of these kinds.
func (f *movedFleet) addVMs(kinds ...string) {
	for _, kind := range kinds {
		for name := range f.vms {
			f.states = append(f.states, incumbent{kind, name, f.before[name].incumbentAttributes(kind)})
		}
	}
}

// mapLines are the lines of a map, by the function that writes the value of a
// key.
func mapLines[V any](all map[string]V, value func(key string) string) string {
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&lines, "    %s = %s\n", key, value(key))
	}
	return lines.String()
}

// replaceLines replaces lines of a guide's block, which must be there.
func replaceLines(t *testing.T, block, lines, with string) string {
	t.Helper()
	if !strings.Contains(block, lines) {
		t.Fatalf("want the lines\n%sin\n%s", lines, block)
	}
	return strings.Replace(block, lines, with, 1)
}

// moveConfig are the guide's resources and blocks for the whole fleet. The VMs
// move as vmBlocks does.
func (f *movedFleet) moveConfig(t *testing.T, vmBlocks string) string {
	t.Helper()
	vms := replaceLines(t, vmBlocks, "    db  = \"lxd2\"\n    web = \"lxd1\"\n", mapLines(f.vms, func(vm string) string { return fmt.Sprintf("%q", f.vms[vm]) }))
	hosts := replaceLines(t, configurationOf(t, migratingGuide, "Move the VM hosts"), "    node1 = {}\n    stray = { project = \"default\" }\n", mapLines(f.hosts, func(host string) string {
		if f.hosts[host] {
			return "{}"
		}
		return `{ project = "default" }`
	}))
	return vms + hosts
}

// formerConfig is the configuration of the old providers, as the user wrote it.
func (f *movedFleet) formerConfig() string {
	vms := mapLines(f.vms, func(vm string) string { return fmt.Sprintf("%q", f.vms[vm]) })
	config := fmt.Sprintf(`locals {
  vms = {
%s  }
}
resource "maas_vm_host" "vm" {
  for_each = {
%s  }
  type          = "lxd"
  name          = each.key
  machine       = lookup(each.value, "machine", null)
  power_address = lookup(each.value, "address", null)
}
`, vms, mapLines(f.hosts, func(host string) string {
		if f.hosts[host] {
			return fmt.Sprintf("{ machine = %q }", host)
		}
		return fmt.Sprintf("{ address = %q }", f.lxdAddress(host))
	}))
	if f.hasKind("lxd_instance") {
		return config + "resource \"lxd_instance\" \"vm\" {\n  for_each = local.vms\n  name     = each.key\n  type     = \"virtual-machine\"\n  remote   = each.value\n}\n"
	}
	return config + `resource "maas_vm_host_machine" "vm" {
  for_each = local.vms
  hostname = each.key
  vm_host  = each.value
  cores    = 1
  memory   = 2048
}
resource "maas_instance" "vm" {
  for_each = local.vms
  allocate_params {
    hostname = each.key
  }
  deploy_params {
    distro_series = "noble"
  }
}
`
}

// hasKind tells whether the states have resources of a kind.
func (f *movedFleet) hasKind(kind string) bool {
	return slices.ContainsFunc(f.states, func(s incumbent) bool { return s.kind == kind })
}

// wantWrites checks which calls have changed MAAS since the last check, by
// route, and that MAAS has the same objects as before. The calls for tags count
// as one: how many VM hosts find no tag yet, and try to make it, is chance. For
// each VM host there are four notes: who adopts it, its project, its
// certificate, and that it is finished.
func (f *movedFleet) wantWrites(t *testing.T, step string, want map[string]int) {
	t.Helper()
	made := countChanges(f.simulatorOrSkip().Journal())
	for _, route := range []string{"POST tags/", "POST tags/{name}/ update_nodes"} {
		if made[route] > 0 {
			made["tags"] = 1
		}
		delete(made, route)
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("%s: calls that write (-want +got):\n%s", step, diff)
	}
	if diff := cmp.Diff(f.before, f.machineRecords(t)); diff != "" {
		t.Errorf("%s: machines (-before +after):\n%s", step, diff)
	}
	f.simulatorOrSkip().ResetJournal()
}

// wantTags checks that the machines of the VM hosts have our tag, and no VM.
func (f *movedFleet) wantTags(t *testing.T) {
	t.Helper()
	for _, m := range f.machines() {
		if _, isHost := f.hosts[m.Hostname]; isHost != slices.Contains(m.Tags, engine.HostTag) {
			t.Errorf("machine %s has the tags %q", m.Hostname, m.Tags)
		}
	}
}

// wantAdoptions plans, and checks that the plan changes each moved object in
// place, and removes the others from the state. It changes no value: of a VM
// only the status is unknown, and of a VM host what MAAS reads of it. An
// attribute without a value takes that of the configuration.
func (w workspace) wantAdoptions(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, c := range w.planChanges(t) {
		got[c.Type+" "+strings.Join(c.Change.Actions, ",")]++
		if c.Change.Actions[0] != "update" {
			continue
		}
		if c.Former == "" {
			t.Errorf("%s has not moved", c.Address)
		}
		for name, value := range c.Change.Before {
			unknown := isUnknown(c.Change.Unknown[name])
			if unknown && c.Type == "maaslxd_vm" && name != "status" || !unknown && value != nil && !cmp.Equal(value, c.Change.After[name]) {
				t.Errorf("%s: the plan changes %s from %v to %v", c.Address, name, value, c.Change.After[name])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
}

// isUnknown tells whether a value, or a part of it, is known after the apply
// alone.
func isUnknown(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case []any:
		return slices.ContainsFunc(v, isUnknown)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), isUnknown)
	}
	return false
}

// importAll imports all objects with the old providers by the guide's block.
func (f *movedFleet) importAll(t *testing.T, w workspace) {
	t.Helper()
	ids := map[string]map[string]string{}
	for _, s := range f.states {
		if ids[s.kind] == nil {
			ids[s.kind] = map[string]string{}
		}
		if ids[s.kind][s.label], _ = s.attributes["id"].(string); s.kind == "maas_vm_host" || s.kind == "lxd_instance" {
			ids[s.kind][s.label] = s.label
		}
	}
	blocks, resources := "", ""
	for kind, objects := range ids {
		lines := mapLines(objects, func(label string) string { return fmt.Sprintf("%q", objects[label]) })
		block := replaceLines(t, configurationOf(t, migratingGuide, "Import them again"), "    db  = \"x8d2fk\"\n    web = \"4y3h7n\"\n", lines)
		blocks += strings.Replace(block, "maas_vm_host_machine.", kind+".", 1)
		resources += fmt.Sprintf("resource %q \"vm\" {\n  for_each = {\n%s  }\n}\n", kind, lines)
	}
	w.configureWithIncumbents(t, f.config(blocks+resources))
	out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color"))
	if want := fmt.Sprintf("%d imported, 0 added, 0 changed, 0 destroyed", len(f.states)); !wordsPattern(want).MatchString(out) {
		t.Errorf("want %q in\n%s", want, out)
	}
	w.wantEmptyPlan(t)
}

// TestAccWorkflowMoveFleet moves one state of 20 VM hosts and 200 VMs as the
// guide says. The plan changes each object in place, the apply only writes
// marks, and the second plan is empty. Both ways back lead to an empty plan of
// the old providers.
func TestAccWorkflowMoveFleet(t *testing.T) {
	t.Parallel()
	withoutMove, _, _ := strings.Cut(configurationOf(t, migratingGuide, "Move the VMs"), "moved {")
	cases := map[string]struct {
		reason, vmBlocks string
		kinds            []string
		gone             map[string]int // what the plan removes from the state
	}{
		"MAAS": {
			reason: "Canonical's provider has two resources for one VM.", vmBlocks: configurationOf(t, migratingGuide, "Move the VMs"),
			kinds: []string{"maas_vm_host_machine", "maas_instance"}, gone: map[string]int{"maas_instance forget": movedVMCount},
		},
		"LXD": {
			reason: "The provider for LXD knows the VMs by their names in LXD.", vmBlocks: withoutMove + configurationOf(t, migratingGuide, "Move instances of LXD"),
			kinds: []string{"lxd_instance"},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			f := newMovedFleet(t)
			f.addVMs(tc.kinds...)
			w := newIncumbentWorkspace(t)
			w.writeFile(t, stateFile, incumbentState(t, f.states...))
			w.writeFile(t, "before.tfstate", w.run(t, "state", "pull"))
			w.configureWithIncumbents(t, f.config(f.formerConfig()))
			w.wantEmptyPlan(t)

			config := f.moveConfig(t, tc.vmBlocks)
			w.configureWithIncumbents(t, f.config(config))
			f.simulatorOrSkip().ResetJournal()
			plan := map[string]int{"maaslxd_vm update": movedVMCount, "maaslxd_vm_host update": movedHostCount}
			maps.Copy(plan, tc.gone)
			w.wantAdoptions(t, plan)
			f.wantWrites(t, "plan", map[string]int{})
			w.run(t, "apply", "-no-color", "actions")
			f.wantTags(t)
			f.wantWrites(t, "apply", map[string]int{"PUT machines/{id}/": movedVMCount, "POST machines/{id}/ set_owner_data": 3 * movedHostCount, "tags": 1})
			w.wantEmptyPlan(t)
			w.configure(t, f.config(withoutBlocks(config))) // without the old providers
			w.wantEmptyPlan(t)

			w.writeFile(t, "moved.tfstate", w.run(t, "state", "pull"))
			w.configureWithIncumbents(t, f.config(f.formerConfig()))
			w.run(t, "state", "push", "-force", "before.tfstate")
			w.wantEmptyPlan(t)
			w.run(t, "state", "push", "-force", "moved.tfstate") // the other way begins there, too
			w.removeMoved(t)
			f.importAll(t, w)
			f.wantWrites(t, "after it", map[string]int{})
		})
	}
}

// withoutBlocks is a configuration without its moved and removed blocks.
func withoutBlocks(config string) string {
	var kept strings.Builder
	inBlock := false
	for line := range strings.Lines(config) {
		inBlock = inBlock || line == "moved {\n" || line == "removed {\n"
		if !inBlock {
			kept.WriteString(line)
		}
		inBlock = inBlock && line != "}\n"
	}
	return kept.String()
}

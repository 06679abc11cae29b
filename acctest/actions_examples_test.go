package acctest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const actionExamples = "../examples/actions"

// actionStep runs one action of an example, and checks what it did.
type actionStep struct {
	action string
	edit   [2]string // replaced in the example, so that an apply triggers the action; empty: it is invoked
	want   func(t *testing.T, x *metalTarget)
}

// actionExample is how an example of an action runs.
type actionExample struct {
	target func(t *testing.T) *metalTarget
	config func(x *metalTarget) string                     // what must be there before
	before func(t *testing.T, x *metalTarget, w workspace) // runs after the first apply
	steps  []actionStep
}

// metalOnLoopback is a MAAS with VM hosts, whose LXDs the provider reaches.
func metalOnLoopback(t *testing.T) *metalTarget { return newMetalTarget(t, listenOnLoopback) }

// lxdAlone is a MAAS without VM hosts.
func lxdAlone(t *testing.T) *metalTarget { return newTargetWithoutVMHosts(t) }

// wantStatus checks the status of a machine.
func wantStatus(machine, status string) func(*testing.T, *metalTarget) {
	return func(t *testing.T, x *metalTarget) {
		t.Helper()
		if got := x.findMachine(t, machine).StatusName; got != status {
			t.Errorf("%s is %s, want it %s", machine, got, status)
		}
	}
}

// wantCalls checks that each of the routes was called once.
func wantCalls(t *testing.T, x *metalTarget, routes ...string) {
	t.Helper()
	for _, route := range routes {
		if n := x.simulatorOrSkip().Journal().Count(route); n != 1 {
			t.Errorf("%s was called %d times, want once: %v", route, n, countChanges(x.simulatorOrSkip().Journal()))
		}
	}
}

// exampleVM is the VM of the example of snapshots.
func exampleVM(team string) string {
	return "resource \"maaslxd_vm\" \"web\" {\n  name = \"web-1\"\n  vm_host = maaslxd_vm_host.test.id\n  " + smallDisks +
		"\n  deploy = { image = \"ubuntu/noble\" }\n  config = { \"user.team\" = \"" + team + "\" }\n}\n"
}

// exampleActions are all examples by their folders.
var exampleActions = map[string]actionExample{
	"maaslxd_commission": {
		target: metalOnLoopback, config: func(*metalTarget) string { return "" },
		steps: []actionStep{{action: "maaslxd_commission.node1", want: func(t *testing.T, x *metalTarget) {
			wantCalls(t, x, "POST machines/{id}/ commission")
			wantStatus("node1", "Ready")(t, x)
		}}},
	},
	"maaslxd_power": {
		target: metalOnLoopback, config: func(*metalTarget) string { return hostOnNode1() },
		steps: []actionStep{{action: "maaslxd_power.restart", want: func(t *testing.T, x *metalTarget) {
			wantCalls(t, x, "POST machines/{id}/ power_off", "POST machines/{id}/ power_on")
			x.waitUntil(t, "web-1 is on", func() bool { return x.findMachine(t, "web-1").PowerState == "on" })
		}}},
	},
	"maaslxd_redeploy": {
		target: metalOnLoopback, config: func(x *metalTarget) string { return hostOnNode1() + vmOnTestHost("web", x.deploy()) },
		steps: []actionStep{{action: "maaslxd_redeploy.web", want: func(t *testing.T, x *metalTarget) {
			wantCalls(t, x, deployRoute)
			x.wantUserData(t, "web", "nginx")
			wantStatus("web", "Deployed")(t, x)
		}}},
	},
	"maaslxd_rescue": {
		target: metalOnLoopback, config: func(*metalTarget) string { return machineOnNode1() },
		steps: []actionStep{
			{action: "maaslxd_rescue.enter", want: wantStatus("node1", "Rescue mode")},
			{action: "maaslxd_rescue.exit", want: wantStatus("node1", "Deployed")},
		},
	},
	"maaslxd_restore": {
		target: lxdAlone, config: func(*metalTarget) string { return hostOnNode1() + exampleVM("billing") },
		before: func(t *testing.T, x *metalTarget, w workspace) {
			t.Helper()
			if _, failure := x.invokeReachingLXD(t, "maaslxd_snapshot", map[string]any{"machine": "web-1", "name": "before-update"}); failure != "" {
				t.Fatal(failure)
			}
			w.configure(t, x.configReachingLXD(hostOnNode1()+exampleVM("shop")))
			w.run(t, "apply", "-auto-approve", "-no-color")
			x.wantInstance(t, "web-1", map[string]string{"user.team": "shop", "security.secureboot": "false"})
		},
		steps: []actionStep{{action: "maaslxd_restore.web", want: func(t *testing.T, x *metalTarget) {
			x.wantInstance(t, "web-1", map[string]string{"user.team": "billing", "security.secureboot": "false"})
		}}},
	},
	"maaslxd_snapshot": {
		target: lxdAlone, config: func(*metalTarget) string { return hostOnNode1() },
		steps: []actionStep{{
			action: "maaslxd_snapshot.before_update", edit: [2]string{`name    = "web-1"`, "name    = \"web-1\"\n  config  = { \"user.team\" = \"shop\" }"},
			want: func(t *testing.T, x *metalTarget) {
				if diff := cmp.Diff([]string{"before-update"}, x.listSnapshots(t, "web-1")); diff != "" {
					t.Errorf("snapshots of web-1 (-want +got):\n%s", diff)
				}
				x.wantInstance(t, "web-1", map[string]string{"user.team": "shop", "security.secureboot": "false"})
			},
		}},
	},
	"maaslxd_vm_host_refresh": {
		target: metalOnLoopback, config: func(*metalTarget) string { return "" },
		steps: []actionStep{{
			action: "maaslxd_vm_host_refresh.kvm1", edit: [2]string{`name    = "kvm1"`, "name    = \"kvm1\"\n  tags    = [\"blue\"]"},
			want: func(t *testing.T, x *metalTarget) { wantCalls(t, x, "POST vm-hosts/{id}/ refresh") },
		}},
	},
}

// TestAccExampleActions runs each action of the examples with the CLI, by a
// command or by a change that triggers it, and checks what the action did.
func TestAccExampleActions(t *testing.T) {
	t.Parallel()
	for _, name := range fileNames(t, actionExamples) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newEmptyWorkspace(t).needsCLI114(t)
			e := exampleActions[name]
			x := e.target(t)
			w := newWorkspace(t, x.configReachingLXD(e.config(x)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			if e.before != nil {
				e.before(t, x, w)
			}
			text := readActionExample(t, name)
			w.writeFile(t, "action.tf", text)
			w.run(t, "apply", "-auto-approve", "-no-color")
			for _, s := range e.steps {
				x.simulatorOrSkip().ResetJournal()
				if s.edit[0] == "" {
					w.run(t, "apply", "-auto-approve", "-no-color", "-invoke=action."+s.action)
				} else {
					w.writeFile(t, "action.tf", replaceLines(t, text, s.edit[0], s.edit[1]))
					w.run(t, "apply", "-auto-approve", "-no-color")
				}
				s.want(t, x)
			}
		})
	}
}

// readActionExample is the example of an action.
func readActionExample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(actionExamples, name, "action.tf"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryExampleActionRuns: TestAccExampleActions runs each action of each
// example. A new example fails here until it is run, whatever CLI there is.
func TestEveryExampleActionRuns(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^action "(\w+)" "(\w+)"`)
	names := fileNames(t, actionExamples)
	for _, name := range names {
		var want, got []string
		for _, match := range declared.FindAllStringSubmatch(readActionExample(t, name), -1) {
			want = append(want, match[1]+"."+match[2])
		}
		for _, s := range exampleActions[name].steps {
			got = append(got, s.action)
			if s.edit[0] != "" && !strings.Contains(readActionExample(t, name), "actions = [action."+s.action+"]") {
				t.Errorf("%s: nothing triggers %s", name, s.action)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("actions of the example %s (-declared +run):\n%s", name, diff)
		}
	}
	for name := range exampleActions {
		if !slices.Contains(names, name) {
			t.Errorf("there is no example %s", name)
		}
	}
}

package acctest_test

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowFailureTellsWhy: a VM, a VM host and a machine fail. The error
// names the failed script, the end of its output and MAAS's last events. It
// shows no secret.
func TestAccWorkflowFailureTellsWhy(t *testing.T) {
	t.Parallel()
	const said = "reading\nprobing sda\nadmin_password: hunter2\n\x1b[31mno disk answers\x1b[0m\n"
	firmware := sim.Failure{Script: "50-site-firmware", ExitStatus: 3, Output: said}
	cases := map[string]struct {
		reason string
		world  func(t *testing.T) (x *target, config, machine string)
		during string
		script sim.Failure
		want   string
	}{
		"Commissioning": {
			"A script of the site is one of them.", vmThatFails, "Commissioning", firmware,
			"Cannot create VM MAAS shows script 50-site-firmware: Failed with exit status 3 probing sda | admin_password: [redacted] | no disk answers the last events: Commissioning; Powering on",
		},
		"Deploying": {
			"So is the log of an installation.", vmThatFails, "Deploying", sim.Failure{Output: said},
			"Cannot create VM MAAS shows script /tmp/install.log: Failed no disk answers the last events: Deploying",
		},
		"Host": {
			"A VM host fails as its machine does.", hostThatFails, "Deploying", sim.Failure{Output: said},
			"Cannot create VM host kvm1 Failed deployment MAAS shows script /tmp/install.log: Failed no disk answers the last events: Deploying",
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x, config, machine := tc.world(t)
			w := newWorkspace(t, config)
			run := startApplies(t, w)[0]
			x.actAtStatus(t, machine, tc.during, func(m sim.Machine) {
				if err := x.simulatorOrSkip().FailScript(m.SystemID, "", tc.script); err != nil {
					t.Error(err)
				}
			})
			err := run.cmd.Wait()
			out := unwrapMessage(run.out.String())
			if err == nil || !wordsPattern(tc.want).MatchString(out) || strings.Contains(out, "hunter2") {
				t.Errorf("%s\nwant an error with the words %q, got %v:\n%s", tc.reason, tc.want, err, out)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// vmThatFails is a VM in a model with transitions slow enough to intervene.
func vmThatFails(t *testing.T) (x *target, config, machine string) {
	x = newTarget(t, slowTransitions)
	name := x.name()
	return x, x.config(x.vm(name, x.deploy())), name
}

// hostThatFails is vmThatFails for a VM host.
func hostThatFails(t *testing.T) (x *target, config, machine string) {
	metal := newMetalTarget(t, slowTransitions)
	return metal.target, metal.config(hostOnNode1()), "node1"
}

// TestAccWorkflowCommissionFailureTellsWhy: the action that commissions says
// the same.
func TestAccWorkflowCommissionFailureTellsWhy(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, slowTransitions)
	go x.actAtStatus(t, "node1", "Commissioning", func(m sim.Machine) {
		if err := x.simulatorOrSkip().FailScript(m.SystemID, "", sim.Failure{Script: "50-site-firmware", Output: "no disk answers"}); err != nil {
			t.Error(err)
		}
	})
	_, failure := x.invokeAction(t, "maaslxd_commission", map[string]any{"machine": "node1"})
	if !wordsPattern(`Failed commissioning MAAS shows script 50-site-firmware: Failed with exit status 1; its output ends: no disk answers`).MatchString(failure) {
		t.Errorf("it says %q", failure)
	}
}

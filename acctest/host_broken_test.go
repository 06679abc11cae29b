package acctest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// createWithin6s is long enough to deploy a host, also on a busy machine. It is
// too short for slow steps.
const createWithin6s = `timeouts = { create = "6s" }`

// createWithin20s is long enough for MAAS to report what is wrong with an LXD.
const createWithin20s = `timeouts = { create = "20s" }`

// TestAccHostTimeoutIsResumed ends a create in each phase. The next apply must
// go on with the same machine.
func TestAccHostTimeoutIsResumed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		world  func(*sim.Model)
		allow  string
		warn   string
		heal   func(t *testing.T, x *metalTarget)
	}{
		"Deploying": {
			reason: "The deployment takes longer than the create may wait.", allow: createWithin6s, warn: "not finished: Deploying timeouts.create",
			world: func(m *sim.Model) { m.Latency.Deploy = 12 * time.Second },
		},
		"FirstBootFails": {
			reason: "The first boot fails. The warning says why, and the operator repairs the machine.", allow: createWithin20s, warn: "not finished: Waiting for LXD Failed to connect to the LXD REST API cloud-init-output.log",
			world: func(m *sim.Model) { m.Machines[0].FirstBoot = sim.BootNever },
			heal: func(t *testing.T, x *metalTarget) {
				if err := x.simulatorOrSkip().SetFirstBoot("node1", sim.BootOK, ""); err != nil {
					t.Fatal(err)
				}
			},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, tc.world)
			w := newWorkspace(t, x.config(hostOnNode1(tc.allow)))
			t.Log(tc.reason)
			if isLXDColumn() { // MAAS has no message for it
				tc.warn = strings.Replace(tc.warn, "Failed to connect to the LXD REST API", "not there yet", 1)
			}
			if out := w.run(t, "apply", "-auto-approve", "-no-color"); !wordsPattern(tc.warn).MatchString(out) {
				t.Errorf("want a warning with the words %q, got:\n%s", tc.warn, out)
			}
			if tc.heal != nil {
				tc.heal(t, x)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			if got := w.status(t); got != "Deployed" {
				t.Errorf("after the second apply it is %s", got)
			}
			if n, counted := x.countDeployments(); counted && n != 1 {
				t.Errorf("it was deployed %d times", n)
			}
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAccHostFailsForGood makes a deployment fail. The machine is kept for a
// look and replaced by the next apply, or released at once.
func TestAccHostFailsForGood(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"keep", "release"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, slowTransitions)
			w := newWorkspace(t, x.config(hostOnNode1(fmt.Sprintf("on_create_failure = %q", policy))))
			run := startApplies(t, w)[0]
			x.actAtStatus(t, "node1", "Deploying", func(m sim.Machine) {
				if err := x.simulatorOrSkip().FailMachine(m.SystemID, "no disk answers"); err != nil {
					t.Error(err)
				}
			})
			if err := run.cmd.Wait(); err == nil || !wordsPattern("Cannot create VM host kvm1 Failed deployment").MatchString(run.out.String()) {
				t.Errorf("want an error that says why, got %v:\n%s", err, run.out)
			}
			want := map[string]string{"keep": "Failed deployment", "release": "Ready"}[policy]
			if m := x.findMachine(t, "node1"); m.StatusName != want {
				t.Errorf("with %s the machine is %s, want %s", policy, m.StatusName, want)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			if got := w.status(t); got != "Deployed" {
				t.Errorf("after the second apply it is %s", got)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAccHostDestroyRefused: a host with VMs of other owners stays, and the
// error names them. force_destroy in the configuration overrides that.
func TestAccHostDestroyRefused(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.makeUnmanagedVMOnNode1(t, "precious")
	cmd, out := w.command(t.Context(), "destroy", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("Cannot delete VM host kvm1 has VMs of others: precious").MatchString(out.String()) {
		t.Errorf("want it refused with the VM named, got %v:\n%s", err, out)
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" || len(x.listVMHosts(t)) != 1 {
		t.Errorf("the host was touched: %+v", m)
	}
	w.configure(t, x.config(hostOnNode1(`force_destroy = true`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccHostDrift changes things without Terraform, and wants a plan that
// corrects them.
func TestAccHostDrift(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		drift  func(t *testing.T, x *metalTarget)
		action plancheck.ResourceActionType
	}{
		"Zone": {
			reason: "If somebody moves a VM host to another zone, an update moves it back.", action: plancheck.ResourceActionUpdate,
			drift: func(t *testing.T, x *metalTarget) { x.editOnlyVMHost(t, "zone=az2") },
		},
		"Ratio": {
			reason: "If somebody changes the over-commit, an update restores it.", action: plancheck.ResourceActionUpdate,
			drift: func(t *testing.T, x *metalTarget) { x.editOnlyVMHost(t, "cpu_over_commit_ratio=9") },
		},
		"Name": {
			reason: "If somebody renames a VM host, an update restores the name.", action: plancheck.ResourceActionUpdate,
			drift: func(t *testing.T, x *metalTarget) { x.editOnlyVMHost(t, "name=other") },
		},
		"Tag": {
			reason: "If somebody removes a tag, an update adds it again.", action: plancheck.ResourceActionUpdate,
			drift: func(t *testing.T, x *metalTarget) {
				x.postForm(t, fmt.Sprintf("vm-hosts/%d/?op=remove_tag", x.listVMHosts(t)[0].ID), map[string][]string{"tag": {"rack1"}})
			},
		},
		"Forgotten": {
			reason: "If somebody removes a VM host from MAAS, an update registers it again.", action: plancheck.ResourceActionUpdate,
			drift: func(t *testing.T, x *metalTarget) { x.forgetVMHost(t, "kvm1") },
		},
		"Unrecorded": {
			reason: "If somebody takes the tag off its machine, an update records the VM host again.", action: plancheck.ResourceActionUpdate,
			drift: func(t *testing.T, x *metalTarget) {
				x.postForm(t, "tags/maaslxd-host/?op=update_nodes", map[string][]string{"remove": {x.findMachine(t, "node1").SystemID}})
			},
		},
		"Released": {
			reason: "If somebody releases the machine, nothing of the host is left.", action: plancheck.ResourceActionCreate,
			drift: func(t *testing.T, x *metalTarget) {
				x.forgetVMHost(t, "kvm1")
				x.postForm(t, "machines/"+x.findMachine(t, "node1").SystemID+"/?op=release", nil)
				x.actAtStatus(t, "node1", "Ready", func(sim.Machine) {})
			},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			config := x.config(hostOnNode1(`zone = "az1"`, `cpu_overcommit = 2`, `tags = ["rack1"]`, `adopt_existing_vms = true`))
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkReady("node1"),
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() { t.Log(tc.reason); tc.drift(t, x) },
						Config:    config, ConfigPlanChecks: expectHostAction(tc.action),
						ConfigStateChecks: []statecheck.StateCheck{
							expectHostValue("status", exactText("Deployed")), expectHostValue("name", exactText("kvm1")), expectHostValue("zone", exactText("az1")),
						},
					},
				},
			})
		})
	}
}

// TestAccHostRedeployed: a machine that another user released and deployed
// belongs to that user.
func TestAccHostRedeployed(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.forgetVMHost(t, "kvm1")
	path := "machines/" + x.findMachine(t, "node1").SystemID
	x.postForm(t, path+"/?op=release", nil)
	x.actAtStatus(t, "node1", "Ready", func(sim.Machine) {})
	x.postForm(t, path+"/?op=deploy", nil)
	x.actAtStatus(t, "node1", "Deployed", func(sim.Machine) {})
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("machine node1 not Ready but Deployed adopt it").MatchString(out.String()) {
		t.Errorf("want the machine left to its new owner, got %v:\n%s", err, out)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
		t.Errorf("it is %s", m.StatusName)
	}
}

// TestAccHostImportUnmarked imports a VM host whose marks and state were lost.
// The next apply adopts it, and a destroy leaves its machine deployed, although
// it was allocated for the same name once.
func TestAccHostImportUnmarked(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	maker := newWorkspace(t, x.config(vmHost("kvm1", `machine = "node1"`)))
	maker.run(t, "apply", "-auto-approve", "-no-color")
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
	for _, apply := range []bool{true, false} {
		w := newWorkspace(t, x.config(vmHost("kvm1", `machine = "node1"`, `adopt = true`)))
		w.run(t, "import", "-no-color", hostAddress, "node1")
		if apply {
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			if m := x.findMachine(t, "node1"); m.OwnerData["maaslxd-state"] != "adopted" {
				t.Errorf("it was not marked: %v", m.OwnerData)
			}
			x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			continue
		}
		w.run(t, "destroy", "-auto-approve", "-no-color")
	}
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" || m.HostedHosts != "" {
		t.Errorf("want it Deployed without a VM host, got %+v", m)
	}
	if n, counted := x.countCalls(t, "POST vm-hosts/"); counted && n != 1 {
		t.Errorf("it was registered %d times", n)
	}
}

// TestAccHostKey: a lost or changed key is an error that names what the host
// trusts. A destroy of the host needs no key.
func TestAccHostKey(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	fingerprint := x.findMachine(t, "node1").OwnerData["maaslxd-fingerprint"]
	if info, err := os.Stat(x.keyFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("want a key that only this user can read, got %v, %v", info, err)
	}
	refused := func(reason, want string) {
		t.Helper()
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Run(); err == nil || !wordsPattern(want).MatchString(strings.ReplaceAll(out.String(), "\n", " ")) || !strings.Contains(unwrapMessage(out.String()), fingerprint) {
			t.Errorf("%s\nwant the words %q and the fingerprint %s, got %v:\n%s", reason, want, fingerprint, err, out)
		}
	}
	if err := os.Rename(x.keyFile(), x.keyFile()+".away"); err != nil {
		t.Fatal(err)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color") // a plan needs no key
	zone := `zone = "az2"`
	w.configure(t, x.config(hostOnNode1(zone)))
	if isLXDColumn() { // there a plan of the VM needs the LXD
		refused("The key is lost.", "fleet's key pair is not here kvm1 trusts but the file lxd-client.pem does not exist")
	} else if out := w.run(t, "apply", "-auto-approve", "-no-color"); !strings.Contains(unwrapMessage(out), fingerprint) {
		t.Errorf("want MAAS's own done, and a warning that names the key that is lost, got:\n%s", out)
	}
	w.configure(t, x.config(hostOnNode1(zone, `server_fingerprint = "`+strings.Repeat("ab", 32)+`"`)))
	refused("The key is lost.", "fleet's key pair is not here kvm1 trusts but the file lxd-client.pem does not exist")
	x.makeLXDTrustNewKey(t, "node1") // it makes another key
	if out := w.run(t, "plan", "-no-color"); !wordsPattern("Warning: LXD client certificate at hand is").MatchString(out) {
		t.Errorf("want the plan to warn, got:\n%s", out)
	}
	refused("Another key is at hand.", "LXD client certificate at hand is")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// unwrapMessage removes the CLI's frame and line breaks from a message.
func unwrapMessage(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("│╷╵ \n", r) }), " ")
}

// TestAccHostAddressCorrected corrects the address of an LXD server after a create that ran out of
// time: MAAS could not reach the server by that address. The VM host that was begun has the former
// address, so the error names both addresses and the way out.
func TestAccHostAddressCorrected(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	x.makeLXDTrustNewKey(t, "stray")
	config := func(address string, more ...string) string {
		return x.config(vmHost("kvm", append(more, fmt.Sprintf("address = %q", address), `adopt_existing_vms = true`)...))
	}
	const short = `timeouts = { create = "3s" }`
	setCondition := func(c sim.Condition) {
		t.Helper()
		if err := x.simulatorOrSkip().SetLXDCondition("stray", c); err != nil {
			t.Fatal(err)
		}
	}
	setCondition(sim.ConditionUnreachable)
	w := newWorkspace(t, config("10.200.0.9", short))
	apply := func(want string) {
		t.Helper()
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Run(); err == nil || !wordsPattern(want).MatchString(unwrapMessage(out.String())) {
			t.Errorf("want %q, got %v:\n%s", want, err, out)
		}
	}
	apply("MAAS cannot use the LXD of kvm yet")
	w.configure(t, config("10.200.0.10", short))
	apply(`address: a former run registered VM host kvm by the address https://10.200.0.9:8443 and the address is https://10.200.0.10:8443 now Delete VM host kvm in MAAS`)
	w.configure(t, config("10.200.0.9"))
	setCondition(sim.ConditionOK)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

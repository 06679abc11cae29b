package acctest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// newTargetWithoutVMHosts is a MAAS without VM hosts. It has machines, and LXDs
// that the test can reach.
func newTargetWithoutVMHosts(t *testing.T, changes ...func(*sim.Model)) *metalTarget {
	t.Helper()
	if isOnSite() && !isLXDColumn() {
		t.Skip("in the column " + columnMAAS + " MAAS makes the VMs, and this test needs a provider that makes them in LXD")
	}
	gone := func(m *sim.Model) {
		listenOnLoopback(m)
		m.MAASVersion = sim.VersionGone
	}
	return newMetalTarget(t, append([]func(*sim.Model){gone}, changes...)...)
}

// configReachingLXD is a configuration whose provider connects to the LXDs.
func (x *metalTarget) configReachingLXD(body string, settings ...string) string {
	return strings.Replace(x.config(body, settings...), `probe = "maas"`, `probe = "direct"`, 1)
}

// vmOnTestHost is a maaslxd_vm.test on the host maaslxd_vm_host.test.
func vmOnTestHost(name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  name = %q\n  vm_host = maaslxd_vm_host.test.id\n  %s\n}\n", name, strings.Join(attributes, "\n  "))
}

// wantRefusedChange applies a change of existing objects. It wants one error
// with these words, at an attribute unless at is empty. Nothing may change.
func (w workspace) wantRefusedChange(t *testing.T, x *metalTarget, at, want string) {
	t.Helper()
	before := x.observeState()
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil {
		t.Fatalf("it was done:\n%s", out)
	}
	text := unwrapMessage(out.String())
	if !wordsPattern(want).MatchString(text) || strings.Count(text, "Error: ") != 1 {
		t.Errorf("want one error, with the words %q, in:\n%s", want, out)
	}
	if pointed := at + " ="; at != "" && !strings.Contains(shownConfigLines(out.String()), pointed) {
		t.Errorf("want the CLI to point at %q:\n%s", pointed, out)
	}
	if diff := cmp.Diff(before, x.observeState(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("it changed something (-before +after):\n%s", diff)
	}
}

// checkRunning checks that an instance runs. Real LXDs that start their VMs say
// so themselves.
func (x *metalTarget) checkRunning(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for _, i := range x.instances() {
			if i.Name == name && i.Running {
				return nil
			}
		}
		return fmt.Errorf("no instance %s runs: %+v", name, x.instances())
	}
}

// checkNothingLeft checks that the machines are Ready again, and that no
// instance is left in any LXD.
func (x *metalTarget) checkNothingLeft(names ...string) func(*terraform.State) error {
	return func(s *terraform.State) error {
		if err := x.checkReady(names...)(s); err != nil {
			return err
		}
		for _, i := range x.instances() {
			return fmt.Errorf("the LXD %s has the instance %s left", i.Host, i.Name)
		}
		for _, m := range x.machines() {
			if slices.Contains(m.Tags, "maaslxd-host") {
				return fmt.Errorf("machine %s still has the tag of hosts", m.Hostname)
			}
			if m.Hostname == "web" {
				return fmt.Errorf("MAAS still has machine %s", m.Hostname)
			}
		}
		return nil
	}
}

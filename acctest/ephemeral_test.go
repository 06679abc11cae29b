package acctest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// needsEphemeralResources skips a test whose CLI has no ephemeral resources.
func (w workspace) needsEphemeralResources(t *testing.T) {
	t.Helper()
	if w.cli.IsTofu() && w.cli.IsOlderThan(1, 11) || w.cli.IsOlderThan(1, 10) {
		t.Skip("ephemeral resources came with Terraform 1.10 and OpenTofu 1.11, and this is " + w.cli.String())
	}
}

// lxdClientExample is the example of maaslxd_lxd_client.
const lxdClientExample = "examples/ephemeral-resources/maaslxd_lxd_client/ephemeral-resource.tf"

// TestAccWorkflowLXDClient configures the provider for LXD as the example does,
// and connects to the LXD of a VM host. No key may be in what the runs write.
func TestAccWorkflowLXDClient(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configWithProbe("direct", hostOnNode1()))
	w.needsEphemeralResources(t)
	w.run(t, "apply", "-auto-approve", "-no-color")
	beside := newIncumbentWorkspace(t).withTrace()
	beside.copyRepositoryFiles(t, lxdClientExample)
	wants := `
resource "lxd_instance" "vm" {}

import {
  to = lxd_instance.vm
  id = "web-1"
}

ephemeral "maaslxd_lxd_client" "host" {
  vm_host = %q
  lifecycle {
    postcondition {
      condition     = self.address == ephemeral.maaslxd_lxd_client.kvm1.address && self.client_key == ephemeral.maaslxd_lxd_client.kvm1.client_key
      error_message = "The same VM host by its system id is another one."
    }
    postcondition {
      condition     = startswith(self.address, "https://") && self.project == "maas" && can(regex("^[0-9a-f]{64}$", self.server_fingerprint))
      error_message = "It is ${self.address} in ${self.project} with ${self.server_fingerprint}."
    }
  }
}
`
	beside.writeFile(t, "main.tf", x.configWithProbe("direct", fmt.Sprintf(wants, x.findMachine(t, "node1").SystemID)))
	beside.run(t, "apply", "-auto-approve", "-no-color")
	beside.checkSecretsNowhere(t, x.privateKey(t))
	if got := beside.run(t, "state", "list"); strings.TrimSpace(got) != "lxd_instance.vm" {
		t.Errorf("the state has %s", got)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccLXDClientBadInput wants one clear error from a plan that cannot find
// out how to reach an LXD. Nothing may change.
func TestAccLXDClientBadInput(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	newWorkspace(t, x.config(hostOnNode1())).run(t, "apply", "-auto-approve", "-no-color")
	client := func(host string) string {
		return fmt.Sprintf("ephemeral \"maaslxd_lxd_client\" \"host\" {\n  vm_host = %q\n}\n", host)
	}
	cases := map[string]struct{ reason, config, want string }{
		"UnknownHost": {"MAAS has no VM host of this name, so there is no LXD to connect to.", x.config(client("kvm9")), `vm_host: MAAS knows no VM host "kvm9" Known: kvm1`},
		"NoName":      {"An empty name names no VM host.", x.config(client("")), `Invalid vm_host It is empty`},
		"KeyLost":     {"The VM host trusts only the lost pair, so a new pair would not help.", strings.Replace(x.config(client("kvm1")), x.folder, t.TempDir(), 1), `the fleet's key pair that VM host kvm1 trusts is not here Give the pair as lxd_client_cert and lxd_client_key`},
		"NoMAAS":      {"Without a MAAS, the provider cannot find the VM host.", "provider \"maaslxd\" {}\n" + client("kvm1"), `the provider is not configured: it lacks api_url`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, tc.config)
			w.needsEphemeralResources(t)
			w.wantRefusedPlan(t, tc.want)
			if _, err := os.Stat(w.dir + "/" + stateFile); err == nil {
				t.Errorf("%s\nthere is a state", tc.reason)
			}
		})
	}
}

// TestAccLXDClientOtherKey warns of a pair that the VM host was not made to
// trust. Its operator may have added this pair since.
func TestAccLXDClientOtherKey(t *testing.T) {
	t.Parallel()
	x, other := newMetalTarget(t), newMetalTarget(t)
	newWorkspace(t, x.config(hostOnNode1())).run(t, "apply", "-auto-approve", "-no-color")
	newWorkspace(t, other.config(hostOnNode1())).run(t, "apply", "-auto-approve", "-no-color")
	w := newWorkspace(t, strings.Replace(x.config("ephemeral \"maaslxd_lxd_client\" \"host\" {\n  vm_host = \"kvm1\"\n}\n"), x.folder, other.folder, 1))
	w.needsEphemeralResources(t)
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: The VM host may not trust the key pair at hand").MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
}

package acctest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

const serverData = "maaslxd-server-fingerprint"

// sha256Of is LXD's fingerprint of a PEM certificate.
func sha256Of(certificate string) string {
	block, _ := pem.Decode([]byte(certificate))
	if block == nil {
		return ""
	}
	sum := sha256.Sum256(block.Bytes)
	return hex.EncodeToString(sum[:])
}

// findLXD finds a simulated LXD that listens, by its name.
func (x *metalTarget) findLXD(t *testing.T, name string) sim.LXD {
	t.Helper()
	for _, l := range x.simulatorOrSkip().LXDs() {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("there is no LXD %s", name)
	return sim.LXD{}
}

// shownFingerprint is the fingerprint of an LXD's server certificate.
func (x *metalTarget) shownFingerprint(t *testing.T, name string) string {
	t.Helper()
	return sha256Of(x.findLXD(t, name).Certificate)
}

// renewCertificate gives an LXD another certificate, and returns its
// fingerprint.
func (x *metalTarget) renewCertificate(t *testing.T, name string) string {
	t.Helper()
	certificate, err := x.simulatorOrSkip().RenewCertificate(name)
	if err != nil {
		t.Fatal(err)
	}
	return sha256Of(certificate)
}

// wantFailure runs terraform, which must fail with all of these texts.
func (w *workspace) wantFailure(t *testing.T, reason string, says []string, args ...string) {
	t.Helper()
	cmd, out := w.command(t.Context(), args...)
	err := cmd.Run()
	for _, want := range says {
		if err == nil || !strings.Contains(unwrapMessage(out.String()), want) {
			t.Errorf("%s\nwant it refused with %q, got %v:\n%s", reason, want, err, out)
		}
	}
}

// TestAccHostServerChanged: the LXD of a host has another certificate. Nothing
// is done with it until the user accepts that. A host that is deployed again
// starts without a known certificate.
func TestAccHostServerChanged(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configWithProbe("auto", hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.shownFingerprint(t, "node1")
	if noted := x.findMachine(t, "node1").OwnerData[serverData]; noted != before {
		t.Errorf("the machine notes %q, and its LXD shows %s", noted, before)
	}
	after := x.renewCertificate(t, "node1")
	w.run(t, "plan", "-detailed-exitcode", "-no-color") // a plan asks only MAAS
	served := len(x.simulatorOrSkip().Journal().LXD.Calls)
	puts := x.simulatorOrSkip().Journal().Count("PUT vm-hosts/{id}/")

	w.configure(t, x.configWithProbe("auto", hostOnNode1(`zone = "az2"`)))
	says := []string{"kvm1", before, after, "lxc info", fmt.Sprintf("server_fingerprint = %q", after)}
	w.wantFailure(t, "Another LXD answers.", says, "apply", "-auto-approve", "-no-color")
	w.wantFailure(t, "Nobody knows what it holds.", says, "destroy", "-auto-approve", "-no-color")
	if n, counted := x.countCalls(t, "PUT vm-hosts/{id}/"); counted && n != puts {
		t.Error("the VM host was changed in MAAS all the same")
	}
	if n := len(x.simulatorOrSkip().Journal().LXD.Calls); n != served {
		t.Errorf("%d requests were sent to it", n-served)
	}

	w.configure(t, x.configWithProbe("auto", hostOnNode1(`zone = "az2"`, fmt.Sprintf("server_fingerprint = %q", after))))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.configWithProbe("auto", hostOnNode1(`zone = "az2"`))) // the new certificate is stored by now
	w.run(t, "plan", "-detailed-exitcode", "-no-color")

	w.run(t, "apply", "-auto-approve", "-no-color", "-replace="+hostAddress)
	anew := x.shownFingerprint(t, "node1")
	if noted := x.findMachine(t, "node1").OwnerData[serverData]; noted != anew || anew == after {
		t.Errorf("deployed anew, the machine notes %q, and its LXD shows %s", noted, anew)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	x.renewCertificate(t, "node1")
	w.configure(t, x.configWithProbe("maas", hostOnNode1(`zone = "az2"`))) // this asks no LXD
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneServerChanged: MAAS has no VM hosts, and the LXD of a host has another certificate. The
// user accepts it, also while the host has a VM. Then VMs can be made there again.
func TestAccGoneServerChanged(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	after := x.renewCertificate(t, "node1")
	accepted := hostOnNode1(fmt.Sprintf("server_fingerprint = %q", after))
	w.configure(t, x.configReachingLXD(accepted+vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if noted := x.findMachine(t, "node1").OwnerData[serverData]; noted != after {
		t.Errorf("the machine notes %q, and its LXD shows %s", noted, after)
	}
	w.wantEmptyPlan(t)
	w.configure(t, x.configReachingLXD(accepted+vmOnTestHost("web")+vmOnKVM1("b", "db")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccHostServerDemanded registers an LXD only with the certificate that the
// configuration names.
func TestAccHostServerDemanded(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	x.makeLXDTrustNewKey(t, "stray")
	shown, other := x.shownFingerprint(t, "stray"), strings.Repeat("ab", 32)
	stray := func(fingerprint string) string {
		return x.configWithProbe("direct", vmHost("kvm", fmt.Sprintf("address = %q", x.findLXD(t, "stray").Address), fmt.Sprintf("server_fingerprint = %q", fingerprint)))
	}
	w := newWorkspace(t, stray(other))
	w.wantFailure(t, "It is not the one that is meant.", []string{"kvm", other, shown}, "apply", "-auto-approve", "-no-color")
	w.configure(t, stray(strings.ToUpper(shown)))
	w.wantFailure(t, "LXD writes it otherwise.", []string{"server_fingerprint", shown}, "plan", "-no-color")
	w.configure(t, strings.Replace(stray(shown), `probe = "direct"`, `probe = "maas"`, 1))
	w.wantFailure(t, "MAAS does not look.", []string{"server_fingerprint", "cannot be checked", "probe"}, "apply", "-auto-approve", "-no-color")
	if n, counted := x.countCalls(t, "POST vm-hosts/"); counted && n != 0 {
		t.Errorf("it was registered %d times", n)
	}
	w.configure(t, stray(shown))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccHostServerUnexpected deploys a machine whose LXD has another
// certificate than the configuration names. It is not registered. After a
// correction the apply goes on.
func TestAccHostServerUnexpected(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configWithProbe("direct", hostOnNode1(fmt.Sprintf("server_fingerprint = %q", strings.Repeat("ab", 32)))))
	out := w.run(t, "apply", "-auto-approve", "-no-color")
	for _, want := range []string{"not finished: Waiting for LXD", strings.Repeat("ab", 32), x.shownFingerprint(t, "node1"), "server_fingerprint"} {
		if !strings.Contains(unwrapMessage(out), want) {
			t.Errorf("want a warning with %q, got:\n%s", want, out)
		}
	}
	if strings.Contains(out, "cloud-init-output") {
		t.Errorf("the first boot is blamed:\n%s", out)
	}
	w.wantFailure(t, "It is so still.", []string{"Error:", x.shownFingerprint(t, "node1")}, "apply", "-auto-approve", "-no-color")
	if n, counted := x.countCalls(t, "POST vm-hosts/"); counted && n != 0 {
		t.Errorf("it was registered %d times", n)
	}
	w.configure(t, x.configWithProbe("direct", hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if n, counted := x.countDeployments(); w.status(t) != "Deployed" || counted && n != 1 {
		t.Errorf("it is %s after %d deployments", w.status(t), n)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccHostServerIsTold reads the fingerprint from the resource, the data
// sources and an import. It is null where only MAAS reaches the LXD.
func TestAccHostServerIsTold(t *testing.T) {
	t.Parallel()
	const sources = `
data "maaslxd_vm_host" "test" {
  vm_host_id = maaslxd_vm_host.test.vm_host_id
}
data "maaslxd_vm_hosts" "test" {
  depends_on = [maaslxd_vm_host.test]
}
`
	cases := map[string]struct {
		reason string
		probe  string
		seen   knownvalue.Check
	}{
		"Direct": {"With probe = direct, the provider itself reads the certificate.", "direct", knownvalue.StringRegexp(regexp.MustCompile("^[0-9a-f]{64}$"))},
		"MAAS":   {"MAAS does not report the certificate of an LXD.", "maas", knownvalue.Null()},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			x := newMetalTarget(t, listenOnLoopback)
			config := x.configWithProbe(tc.probe, hostOnNode1()+sources)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkReady("node1"),
				Steps: []resource.TestStep{
					{
						Config: config,
						ConfigStateChecks: []statecheck.StateCheck{
							expectHostValue("server_fingerprint", tc.seen), expectDataValue("data.maaslxd_vm_host.test", "server_fingerprint", tc.seen),
							expectDataValue("data.maaslxd_vm_hosts.test", "vm_hosts.0.server_fingerprint", tc.seen),
						},
					},
					{Config: config, ConfigPlanChecks: expectHostAction(plancheck.ResourceActionNoop)},
					{
						ResourceName: hostAddress, ImportState: true, ImportStateId: "node1", ImportStateVerify: true,
						ImportStateVerifyIgnore: []string{"deploy", "cores", "memory_mib", "storage_pools"},
					},
				},
			})
		})
	}
}

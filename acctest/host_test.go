package acctest_test

import (
	"bytes"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// TestAccHostLife does everything to one host that a user does.
func TestAccHostLife(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	firstBoot := []string{"lxd.%", "lxd.channel", "lxd.project"} // an import does not know the channel; the project is the default one
	total := statecheck.ExpectKnownValue(hostAddress, tfjsonpath.New("cores").AtMapKey("total"), x.checkCores(1))
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1"),
		Steps: []resource.TestStep{
			{ // create; the framework also checks that a second plan is empty
				Config: x.config(hostOnNode1(`zone = "az1"`, `pool = "kvm"`, `tags = ["a", "b"]`, `cpu_overcommit = 2`)),
				ConfigStateChecks: []statecheck.StateCheck{
					expectHostValue("status", exactText("Deployed")), expectHostValue("name", exactText("kvm1")), expectHostValue("hostname", exactText("node1")), expectHostValue("zone", exactText("az1")),
					expectHostValue("vm_host_id", checkHostNumber(knownvalue.NotNull())), expectHostValue("lxd_version", checkLXDVersion()), expectHostValue("ip_addresses", knownvalue.ListSizeExact(1)),
					expectHostValue("certificate_fingerprint", knownvalue.StringRegexp(regexp.MustCompile("^[0-9a-f]{64}$"))), expectHostValue("default_storage_pool", exactText("default")), total,
					statecheck.ExpectKnownValue(hostAddress, tfjsonpath.New("cores").AtMapKey("free"), x.checkCores(2)),
				},
			},
			{ // changes that MAAS makes in place, also of the name
				Config: x.config(vmHost("renamed", `machine = "node1.maas"`, deployNoble, `zone = "az2"`, `tags = ["b"]`, `cpu_overcommit = 4`,
					`memory_overcommit = 1.5`, `default_storage_pool = "default"`, `lxd = { channel = "5.21/stable", project = "maas" }`, `force_destroy = true`)),
				ConfigPlanChecks: expectHostAction(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{
					expectHostValue("name", exactText("renamed")), expectHostValue("zone", exactText("az2")), expectHostValue("pool", exactText("kvm")),
					expectHostValue("tags", knownvalue.SetExact([]knownvalue.Check{exactText("b")})), expectHostValue("memory_overcommit", knownvalue.Float64Exact(1.5)),
				},
			},
			{
				Config: x.config(vmHost("renamed", `machine = "node1"`, deployNoble, `zone = "az2"`, `tags = ["b"]`, `cpu_overcommit = 4`,
					`memory_overcommit = 1.5`)),
				ConfigPlanChecks: expectHostAction(plancheck.ResourceActionUpdate),
			},
			{
				ResourceName: hostAddress, ImportState: true, ImportStateVerify: true,
				ImportStateVerifyIgnore: append([]string{"cores", "memory_mib"}, firstBoot...),
			},
			{ResourceName: hostAddress, ImportState: true, ImportStateId: "renamed", ImportStateVerify: true, ImportStateVerifyIgnore: firstBoot},
			{ResourceName: hostAddress, ImportState: true, ImportStateId: "node1.maas", ImportStateVerify: true, ImportStateVerifyIgnore: firstBoot},
			{ // another first boot replaces the host
				Config: x.config(vmHost("renamed", `machine = "node1"`, deployNoble,
					`lxd = { storage_pools = { default = { driver = "btrfs", size_gb = 20 } } }`)),
				ConfigPlanChecks: expectHostAction(plancheck.ResourceActionReplace),
				ConfigStateChecks: []statecheck.StateCheck{
					expectHostValue("status", exactText("Deployed")),
					statecheck.ExpectKnownValue(hostAddress, tfjsonpath.New("storage_pools").AtMapKey("default").AtMapKey("driver"), exactText(poolDriver("btrfs"))),
				},
			},
			{ // another machine does, too
				Config: x.config(vmHost("renamed", `machine = "node2"`, deployNoble,
					`lxd = { storage_pools = { default = { driver = "btrfs", size_gb = 20 } } }`)),
				ConfigPlanChecks:  expectHostAction(plancheck.ResourceActionReplace),
				ConfigStateChecks: []statecheck.StateCheck{expectHostValue("hostname", exactText("node2"))},
			},
		},
	})
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccHostImportByIdentity needs a CLI with resource identity.
func TestAccHostImportByIdentity(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1"),
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		Steps: []resource.TestStep{
			{Config: x.config(hostOnNode1())},
			{ResourceName: hostAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity},
		},
	})
}

// TestAccHostWaysIn makes hosts in each possible way.
func TestAccHostWaysIn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(t *testing.T, x *metalTarget)
		body   string
		checks []statecheck.StateCheck
	}{
		"SmallestThatFits": {
			reason: "A selector takes the smallest machine that fits.",
			before: func(t *testing.T, x *metalTarget) { x.tagLentMachines(t, "metal") },
			body:   vmHost("kvm", `selector = { tags = ["metal"], min_cores = 4, min_disk_gb = 100, architecture = "amd64" }`, deployNoble),
			checks: []statecheck.StateCheck{expectHostValue("hostname", exactText("node1"))},
		},
		"SelectorZone": {
			reason: "A selector takes a machine of its zone.", body: vmHost("kvm", `selector = { zone = "az2" }`, deployNoble),
			checks: []statecheck.StateCheck{expectHostValue("hostname", exactText("node2"))},
		},
		"DefaultImage": {reason: "Without deploy, MAAS's default image is installed.", body: vmHost("kvm", `machine = "node1"`)},
		"OwnUserData": {
			reason: "The user's own user-data runs beside that of the provider.",
			body: vmHost("kvm", `machine = "node1"`,
				`deploy = { image = "ubuntu/noble", user_data_wo = "#cloud-config\npackages: [htop]\n", user_data_wo_version = 1 }`),
		},
		"OtherBridge": {
			reason: "The VMs join the bridge that the configuration describes.",
			body:   vmHost("kvm", `machine = "node1"`, deployNoble, `bridge = { name = "br-lan", subnet = "lan" }`),
		},
		"ByAddress": {
			reason: "An LXD that runs already is registered, and nothing is installed.",
			before: func(t *testing.T, x *metalTarget) { x.makeLXDTrustNewKey(t, "stray") },
			body:   vmHost("kvm", `address = "10.200.0.9"`, `adopt_existing_vms = true`),
			checks: []statecheck.StateCheck{expectHostValue("address", exactText("10.200.0.9")), expectHostValue("lxd_address", exactText("https://10.200.0.9:8443"))},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			t.Log(tc.reason)
			if tc.before != nil {
				tc.before(t, x)
			}
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkReady("node1", "node2"),
				Steps: []resource.TestStep{{
					Config: x.config(tc.body),
					ConfigStateChecks: append(tc.checks, expectHostValue("status", exactText("Deployed")), expectHostValue("vm_host_id", checkHostNumber(knownvalue.NotNull())),
						expectHostValue("id", knownvalue.NotNull())),
				}},
			})
		})
	}
}

// TestAccHostTooNew registers an LXD on which MAAS cannot compose, and warns.
func TestAccHostTooNew(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, func(m *sim.Model) { m.Hosts[0].LXDVersion = "6.7" })
	x.makeLXDTrustNewKey(t, "stray")
	w := newWorkspace(t, x.config(vmHost("kvm", `address = "10.200.0.9"`, `adopt_existing_vms = true`)))
	if out := w.run(t, "apply", "-auto-approve", "-no-color"); !wordsPattern("Warning: MAAS cannot make VMs on LXD 6.7 5.21/stable").MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
	w.configure(t, x.config(vmHost("kvm", `machine = "node1"`, `lxd = { channel = "6/stable" }`)))
	if out := w.run(t, "plan", "-no-color"); !wordsPattern("Warning: An LXD that MAAS may not be able to use").MatchString(out) {
		t.Errorf("want a warning, got:\n%s", out)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// makeLXDTrustNewKey makes the fleet's key and adds it to an LXD's trusted
// ones, as its operator would.
func (x *metalTarget) makeLXDTrustNewKey(t *testing.T, lxd string) {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(x.keyFile(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := x.simulatorOrSkip().TrustCertificate(lxd, key.Certificate); err != nil {
		t.Fatal(err)
	}
}

// TestAccHostAdopt takes a machine that an earlier owner made a host, and
// leaves it as it was.
func TestAccHostAdopt(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	maker := newWorkspace(t, x.config(hostOnNode1()))
	maker.run(t, "apply", "-auto-approve", "-no-color")
	x.forgetVMHost(t, "kvm1")
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
	adopter := newWorkspace(t, x.config(vmHost("taken", `machine = "node1"`, `adopt = true`, `adopt_existing_vms = true`)))
	adopter.run(t, "apply", "-auto-approve", "-no-color")
	adopter.run(t, "plan", "-detailed-exitcode", "-no-color")
	adopter.run(t, "destroy", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" || m.HostedHosts != "" || len(m.OwnerData) != 0 {
		t.Errorf("an adopted machine is not released, only let go; got %+v", m)
	}
}

// TestAccHostThenVMs makes VMs on a host of the same apply, by its name and by
// placement. The key may be only in its file.
func TestAccHostThenVMs(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1(`zone = "az1"`)+`
resource "maaslxd_vm" "named" {
  count   = 2
  name    = "tf-acc-named-${count.index}"
  vm_host = maaslxd_vm_host.test.name
}
resource "maaslxd_vm" "placed" {
  name       = "tf-acc-placed"
  placement  = { zone = "az1" }
  depends_on = [maaslxd_vm_host.test]
}
`)).withTrace()
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	for _, i := range x.instances() {
		if i.Host != "node1" || i.Project != "maas" {
			t.Errorf("a VM is in the wrong place: %+v", i)
		}
	}
	if n := len(x.instances()); n != 3 {
		t.Errorf("want three VMs, got %d", n)
	}
	w.checkSecretsNowhere(t, x.privateKey(t))
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	w.checkSecretsNowhere(t, x.privateKey(t))
}

// checkSecretsNowhere searches everything that the runs wrote, traces included.
func (w workspace) checkSecretsNowhere(t *testing.T, secrets []string) {
	t.Helper()
	for name, data := range w.readWrittenFiles(t) {
		for _, line := range secrets {
			if line == "" || bytes.Contains(data, []byte(line)) {
				t.Errorf("%s holds a line of the private key", name)
			}
		}
	}
}

// TestAccHostTwoAtOnce starts two runs at once: of one owner for the same host,
// and of different owners for the same machine.
func TestAccHostTwoAtOnce(t *testing.T) {
	t.Parallel()
	for title, second := range map[string]string{"OneName": "kvm1", "OneMachine": "kvm2"} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, slowTransitions)
			first := newWorkspace(t, x.config(hostOnNode1()))
			other := newWorkspace(t, x.config(vmHost(second, `machine = "node1"`, deployNoble)))
			failed := 0
			var outs []string
			for _, r := range startApplies(t, first, other) {
				if err := r.cmd.Wait(); err != nil {
					failed++
				}
				outs = append(outs, r.out.String())
			}
			if failed > 1 || title == "OneMachine" && failed != 1 {
				t.Errorf("%d runs failed:\n%s", failed, strings.Join(outs, "\n=====\n"))
			}
			if got := x.listVMHosts(t); len(got) != 1 {
				t.Errorf("want one VM host, got %+v", got)
			}
			if n, counted := x.countDeployments(); counted && n != 1 {
				t.Errorf("the machine was deployed %d times:\n%s", n, strings.Join(outs, "\n=====\n"))
			}
			for _, w := range []workspace{first, other} {
				if strings.Contains(w.run(t, "state", "list"), hostAddress) {
					w.run(t, "destroy", "-auto-approve", "-no-color")
				}
			}
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// startedRun is a run of the CLI that has not ended.
type startedRun struct {
	cmd *exec.Cmd
	out *cliOutput
}

// startApplies starts an apply in each folder.
func startApplies(t *testing.T, spaces ...workspace) []startedRun {
	t.Helper()
	var runs []startedRun
	for _, w := range spaces {
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, startedRun{cmd, out})
	}
	return runs
}

// countDeployments counts the deployments that MAAS accepted. On a real MAAS
// nobody counts them: counted is then false, which is logged.
func (x *metalTarget) countDeployments() (n int, counted bool) {
	if x.sim == nil {
		return x.countCalls(x.t, deployRoute)
	}
	for _, c := range x.sim.Journal().Calls {
		if c.Route == deployRoute && c.Status == http.StatusOK {
			n++
		}
	}
	return n, true
}

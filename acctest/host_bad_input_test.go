package acctest_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// badHost is a host that cannot be made as its configuration says.
type badHost struct {
	reason   string
	world    func(*sim.Model)
	before   func(*testing.T, *metalTarget)
	body     string                                  // the word STRAY in it becomes the address of the LXD stray
	probe    string                                  // empty: maas
	settings func(*testing.T, *metalTarget) []string // of the provider
	at       string                                  // attribute at which the CLI points; empty where a validator of a nested one refuses it
	want     string                                  // words of the message: the attribute, and a way out
}

// strayAddress stands for an address that is known only after the simulator has
// started.
const strayAddress = "STRAY"

// testRefusedHosts applies each host, and wants one error that names the
// attribute and a way out. MAAS and its LXDs must stay as they were, and the
// next plan must give the same error.
func testRefusedHosts(t *testing.T, cases map[string]badHost) {
	t.Helper()
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var changes []func(*sim.Model)
			if tc.world != nil {
				changes = append(changes, tc.world)
			}
			x := newMetalTarget(t, changes...)
			t.Log(tc.reason)
			if x.sim == nil && (tc.world != nil || strings.Contains(tc.body, strayAddress)) {
				t.Skip("only the simulated model has the machine or LXD that it needs")
			}
			if tc.before != nil {
				tc.before(t, x)
			}
			config := x.config
			if tc.settings != nil {
				config = func(body string, _ ...string) string { return x.configOnly(body, tc.settings(t, x)...) }
			}
			text := config(strings.ReplaceAll(tc.body, strayAddress, x.strayLXDAddress()))
			if tc.probe != "" {
				text = strings.Replace(text, `probe = "maas"`, fmt.Sprintf("probe = %q", tc.probe), 1)
			}
			newWorkspace(t, text).wantRefusedCreate(t, x, tc.at, tc.want)
		})
	}
}

// wantRefusedCreate applies the configuration in the folder; see
// testRefusedHosts.
func (w workspace) wantRefusedCreate(t *testing.T, x *metalTarget, at, want string) {
	t.Helper()
	before := x.observeState()
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil {
		t.Fatalf("it was made:\n%s", out)
	}
	text := unwrapMessage(out.String())
	if !wordsPattern(want).MatchString(text) {
		t.Errorf("want the words %q in:\n%s", want, out)
	}
	if n := strings.Count(text, "Error: "); n != 1 {
		t.Errorf("want one error, got %d:\n%s", n, out)
	}
	if pointed := at + " ="; at != "" && !strings.Contains(shownConfigLines(out.String()), pointed) {
		t.Errorf("want the CLI to point at %q:\n%s", pointed, out)
	}
	if diff := cmp.Diff(before, x.observeState(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("it left something (-before +after):\n%s", diff)
	}
	if state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate")); err == nil && !strings.Contains(string(state), `"resources": []`) {
		t.Errorf("it is in the state: %s", state)
	}
	if !strings.Contains(text, "Plan: 1 to add") {
		return // the plan gives the same error as before
	}
	if plan := w.run(t, "plan", "-no-color"); !strings.Contains(plan, "Plan: 1 to add, 0 to change, 0 to destroy.") {
		t.Errorf("the next plan is:\n%s", plan)
	}
}

// shownConfigLines are the lines of the configuration that the CLI's messages
// show, each after its number.
func shownConfigLines(text string) string {
	var shown []string
	for line := range strings.Lines(text) {
		number, code, found := strings.Cut(strings.TrimLeft(line, "│ "), ":")
		if found && number != "" && strings.Trim(number, "0123456789") == "" {
			shown = append(shown, strings.Join(strings.Fields(code), " "))
		}
	}
	return strings.Join(shown, "\n")
}

// observedState is everything that a refused host could change.
type observedState struct {
	Machines  []sim.Machine
	Instances []sim.Instance
	Trusted   map[string][]sim.TrustedCertificate // certificates by LXD
	Writes    []string                            // routes of the accepted calls that change something
}

func (x *metalTarget) observeState() observedState {
	all := observedState{Machines: x.machines(), Instances: x.instances(), Trusted: map[string][]sim.TrustedCertificate{}}
	if x.sim == nil {
		leaveOut(x.t, "compare what was written and who is trusted", "a real MAAS has no journal of calls")
		for n := range all.Machines { // the previous story leaves them switched off
			all.Machines[n].PowerState, all.Machines[n].StatusMessage, all.Machines[n].IPAddresses = "", "", nil
		}
		return all
	}
	for _, l := range x.simulatorOrSkip().LXDs() {
		all.Trusted[l.Name] = l.Trusted
	}
	for _, c := range x.simulatorOrSkip().Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") && c.Status < http.StatusBadRequest {
			all.Writes = append(all.Writes, c.Route)
		}
	}
	return all
}

// strayLXDAddress is the address of the LXD stray. It is empty on a real MAAS.
func (x *metalTarget) strayLXDAddress() string {
	if x.sim == nil {
		return ""
	}
	for _, l := range x.simulatorOrSkip().LXDs() {
		if l.Name == "stray" {
			return l.Address
		}
	}
	return ""
}

// withLXD is a host on node1 with these attributes of lxd.
func withLXD(text string) string { return hostOnNode1("lxd = { " + text + " }") }

// multiPart is user-data of two parts, of which the second is not valid.
const multiPart = `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=A

--A
Content-Type: text/x-shellscript

#!/bin/sh
--A
Content-Type: text/cloud-config
Content-Disposition: attachment; filename=mine.yaml

#cloud-config
lxd: {init: {}}
--A--
`

// TestAccHostBadInput: configurations that contradict themselves, or name
// things that do not exist.
func TestAccHostBadInput(t *testing.T) {
	t.Parallel()
	testRefusedHosts(t, map[string]badHost{
		"NoMachine":      {reason: "A host needs a source: a machine, a selector or an address.", body: vmHost("kvm"), want: `No source of the host machine selector address`},
		"TwoWaysIn":      {reason: "A host has only one source.", body: vmHost("kvm", `machine = "node1"`, `address = "10.0.0.5"`), at: "address", want: `More than one source`},
		"AdoptByAddress": {reason: "An address names no machine that could be adopted.", body: vmHost("kvm", `address = "10.0.0.5"`, `adopt = true`), at: "adopt", want: `Nothing to adopt`},
		"DeployAdopted":  {reason: "An adopted host is not installed, so it takes no installation.", body: hostOnNode1(`adopt = true`), want: `Nothing is installed on this host`},
		"PoolsByAddress": {reason: "Storage pools cannot be made in an LXD that runs already.", body: vmHost("kvm", `address = "10.0.0.5"`, `lxd = { storage_pools = {} }`), want: `Nothing is installed on this host`},
		"UnknownZone":    {reason: "An unknown zone is named, and the known ones are listed.", body: hostOnNode1(`zone = "mars"`), at: "zone", want: `zone "mars" az1`},
		"UnknownPool":    {reason: "An unknown resource pool is named, and the known ones are listed.", body: hostOnNode1(`pool = "mars"`), at: "pool", want: `pool "mars" kvm`},
		"SelectorZone":   {reason: "An unknown zone of a selector is named, and the known ones are listed.", body: vmHost("kvm", `selector = { zone = "mars" }`), at: "selector", want: `selector.zone: MAAS knows no zone "mars" az1`},
		"UnknownImage":   {reason: "An unknown image is found before a machine is allocated.", body: vmHost("kvm", `machine = "node1"`, `deploy = { image = "ubuntu/warty" }`), want: `image "ubuntu/warty" ubuntu/noble`},
		"Ratio":          {reason: "MAAS accepts ratios up to 10.", body: hostOnNode1(`cpu_overcommit = 11`), at: "cpu_overcommit", want: `cpu_overcommit at most 10`},
		"NegativeRatio":  {reason: "It is below zero.", body: hostOnNode1(`cpu_overcommit = -1`), at: "cpu_overcommit", want: `-1 is not an over-commit ratio`},
		"NoRatio":        {reason: "A ratio of zero would leave no room.", body: hostOnNode1(`memory_overcommit = 0`), at: "memory_overcommit", want: `0 is not an over-commit ratio`},
		"UnknownStorage": {reason: "The default storage pool must exist in LXD.", body: hostOnNode1(`default_storage_pool = "fast"`), at: "default_storage_pool", want: `default_storage_pool "fast" default`},
		"DefaultPool":    {reason: "The profile names a storage pool that is not made.", body: withLXD(`profile = { pool = "fast" }`), at: "lxd", want: `no storage pool "fast" choose one of default`},
		"MacvlanParent":  {reason: "A macvlan needs a NIC.", body: withLXD(`networks = { lan = { kind = "macvlan" } }`), want: `name the machine's NIC`},
		"ManagedAddress": {reason: "An address that LXD chooses itself can fail.", body: withLXD(`networks = { lxdbr0 = { kind = "managed" } }`), want: `not an address with a prefix`},
		"Channel":        {reason: "A channel of a snap needs a risk.", body: withLXD(`channel = "newest"`), want: `"newest" is not a channel of a snap`},
		"ChannelTooOld":  {reason: "MAAS refuses such an LXD.", body: withLXD(`channel = "4.0/stable"`), want: `channel: 4.0/stable brings an LXD that is too old take 5.21/stable`},
		"Port":           {reason: "There is no such port.", body: withLXD(`listen_port = 99999`), want: `listen_port value must be between 1 and 65535`},
		"Project":        {reason: "The text cannot be the name of a project.", body: withLXD(`project = "a b"`), want: `no name of an LXD project`},
		"Feature":        {reason: "LXD has no such feature of a project.", body: withLXD(`project_features = { wings = true }`), want: `no such feature`},
		"UserDataLXD":    {reason: "Two sections have the same name, and one would be dropped.", body: vmHost("kvm", `machine = "node1"`, `deploy = { user_data_wo = "#cloud-config\npackages: [htop]\nlxd: {init: {}}\n" }`), want: `deploy.user_data: it has an lxd: section (line 3) remove it`},
		"UserDataPart":   {reason: "The user-data have several parts, and the error names the part.", body: vmHost("kvm", `machine = "node1"`, fmt.Sprintf("deploy = { user_data_wo = %q }", multiPart)), want: `deploy.user_data: part mine.yaml: it has an lxd: section (line 2) remove it`},
		"Erase":          {reason: "MAAS has no other way to erase disks.", body: hostOnNode1(`release = { erase = "twice" }`), want: `erase value must be one of`},
		"Name":           {reason: "The name must be valid in MAAS, LXD and DNS.", body: vmHost("k v", `machine = "node1"`), at: "name", want: `name must be 1 to 63 letters`},
		"Composer":       {reason: "There is no such composer.", body: hostOnNode1(), settings: withSetting(`composer = "virsh"`), at: "composer", want: `composer value must be one of "virsh"`},
		"NoVMHosts":      {reason: "MAAS after 3.8 has no VM hosts.", world: func(m *sim.Model) { m.MAASVersion = sim.VersionGone }, body: hostOnNode1(), settings: withSetting(`composer = "maas"`), want: `no VM hosts any more composer = "lxd"`},
	})
}

// TestAccHostNameTwice: a second resource would take over the host of the
// first.
func TestAccHostNameTwice(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkReady("node1", "node2"),
		Steps: []resource.TestStep{{
			Config: x.config(withUnknownName("kvm1", hostOnNode1()+`resource "maaslxd_vm_host" "twin" {
  name    = "kvm1"
  machine = "node2"
}
`)),
			ExpectError: wordsPattern(`name another resource of this configuration has the same name VM host kvm1`),
		}},
	})
	if n, counted := x.countDeployments(); counted && n != 1 {
		t.Errorf("%d machines were deployed", n)
	}
}

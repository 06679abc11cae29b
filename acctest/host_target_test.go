package acctest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
	"github.com/maaslxd/maaslxd/engine"
)

const hostAddress = "maaslxd_vm_host.test"

// addBareMetal gives the simulated MAAS machines that can become hosts, and an
// LXD that it does not know.
func addBareMetal(m *sim.Model) {
	m.Hosts = []sim.HostModel{{
		Name: "stray", Cores: 16, MemoryMiB: 65536, Unregistered: true, Address: "10.200.0.9:8443",
	}}
	m.Machines = []sim.MachineModel{
		{Hostname: "node1", Cores: 8, MemoryMiB: 32768, DiskGB: 500, Zone: "az1", Tags: []string{"metal"}},
		{Hostname: "node2", Cores: 16, MemoryMiB: 65536, DiskGB: 500, Zone: "az2", Tags: []string{"metal"}},
		{Hostname: "small", Cores: 2, MemoryMiB: 4096, DiskGB: 40, Zone: "az1"},
	}
	if isLXDColumn() { // where the test can reach the machines
		for n := range m.Subnets {
			m.Subnets[n].CIDR = ""
		}
		m.Hosts[0].Address = ""
	}
	m.Latency.FirstBoot, m.Latency.Inventory = 200*time.Millisecond, 100*time.Millisecond
}

// metalTarget is a simulated MAAS with bare metal, and a ledger of its own, so
// that each test has a key of its own.
type metalTarget struct {
	*target
	folder string // folder of the ledger and the key
}

func newMetalTarget(t *testing.T, changes ...func(*sim.Model)) *metalTarget {
	t.Helper()
	x := &metalTarget{folder: t.TempDir()}
	if isOnSite() {
		skipUnlessInColumn(t)
		if reason := reasonFor(t.Name(), notOnSite); reason != "" {
			t.Skip("runs only on the simulator: " + reason)
		}
		lent := theSite.lendMachines(t)
		x.target = theSite.newTarget(t)
		x.lent = lent
		theSite.putFleetKey(t, x.keyFile())
		for n, m := range lent {
			word := fmt.Sprintf("node%d", n+1)
			x.names.existingNames[word] = m.Hostname
			theSite.standIns.Store(m.Hostname, word)
			t.Cleanup(func() { theSite.standIns.Delete(m.Hostname) })
		}
	} else {
		x.target = newSimulatedTarget(t, append([]func(*sim.Model){addBareMetal}, changes...)...)
	}
	x.makesOwnKey, x.hostKeyPair = true, x.fleetKeyPair
	return x
}

// config is a whole configuration. Only MAAS reaches the simulator's hosts,
// unless they have real LXDs.
func (x *metalTarget) config(body string, settings ...string) string {
	probe := `probe = "maas"`
	if isLXDColumn() {
		probe = `probe = "direct"`
	}
	ledger := fmt.Sprintf("ledger = %q", filepath.Join(x.folder, "ledger.db"))
	return x.configWith(strings.Join(append([]string{fmt.Sprintf("poll_interval = %q", x.pollInterval()), probe, ledger}, settings...), "\n  "), body)
}

// vmHost is a resource maaslxd_vm_host.test.
func vmHost(name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_vm_host\" \"test\" {\n  name = %q\n  %s\n}\n", name, strings.Join(attributes, "\n  "))
}

const deployNoble = `deploy = { image = "ubuntu/noble" }`

// hostOnNode1 is a host on the machine node1.
func hostOnNode1(attributes ...string) string {
	return vmHost("kvm1", append([]string{`machine = "node1"`, deployNoble}, attributes...)...)
}

func expectHostValue(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(hostAddress, tfjsonpath.New(attribute), value)
}

func expectHostAction(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(hostAddress, action)}}
}

// checkReady checks that the machines are Ready and without an owner, and that
// MAAS has no VM host left.
func (x *metalTarget) checkReady(names ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for _, m := range x.machines() {
			ours := slices.ContainsFunc(keysOf(m.OwnerData), func(k string) bool { return strings.HasPrefix(k, "maaslxd") })
			if slices.Contains(names, m.Hostname) && (m.StatusName != "Ready" || m.Owner != "" || ours) {
				return fmt.Errorf("machine %s is left %s of %q, with %v", m.Hostname, m.StatusName, m.Owner, m.OwnerData)
			}
			if m.HostedHosts != "" {
				return fmt.Errorf("MAAS still has the VM hosts %s", m.HostedHosts)
			}
		}
		return nil
	}
}

func keysOf(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// keyFile is the path of the fleet's key.
func (x *metalTarget) keyFile() string { return filepath.Join(x.folder, "lxd-client.pem") }

// fleetKeyPair is the fleet's key pair. It is empty until there is one.
func (x *metalTarget) fleetKeyPair() realmaas.LXD {
	text, err := os.ReadFile(x.keyFile())
	if err != nil {
		return realmaas.LXD{}
	}
	certificate, key, _ := strings.Cut(string(text), "-----END CERTIFICATE-----\n")
	return realmaas.LXD{Certificate: certificate + "-----END CERTIFICATE-----\n", Key: key}
}

// privateKey is the lines of the fleet's private key, which must be nowhere
// else.
func (x *metalTarget) privateKey(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(x.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	_, private, _ := strings.Cut(string(text), "PRIVATE KEY-----\n")
	return strings.Split(strings.TrimSpace(strings.Split(private, "-----END")[0]), "\n")
}

// hostRecord is a VM host as MAAS lists it.
type hostRecord struct {
	ID   int
	Name string
	Zone struct{ Name string }
	Pool struct{ Name string }
	Tags []string
}

// listVMHosts lists MAAS's VM hosts. Where MAAS has none, it lists the machines
// that are marked as hosts.
func (x *metalTarget) listVMHosts(t *testing.T) (found []hostRecord) {
	t.Helper()
	if isLXDColumn() {
		for _, m := range x.machines() {
			if slices.Contains(m.Tags, engine.HostTag) {
				found = append(found, hostRecord{Name: m.Hostname})
			}
		}
		return found
	}
	if err := json.Unmarshal(x.callMAAS(t, http.MethodGet, "vm-hosts/", ""), &found); err != nil {
		t.Fatal(err)
	}
	if x.names == nil {
		return found
	}
	found = slices.DeleteFunc(found, func(r hostRecord) bool { return !x.isOurs(r.Name) })
	for n := range found {
		found[n].Name = x.names.wordOf(found[n].Name)
		found[n].Zone.Name = x.names.wordOf(found[n].Zone.Name, "az1", "az2")
		found[n].Pool.Name = x.names.wordOf(found[n].Pool.Name, "kvm")
		for i, tag := range found[n].Tags {
			found[n].Tags[i] = x.names.wordOf(tag)
		}
	}
	return found
}

// makeUnmanagedVMOnNode1 makes a VM on node1's host without our provider.
func (x *metalTarget) makeUnmanagedVMOnNode1(t *testing.T, name string) {
	t.Helper()
	if !isLXDColumn() {
		x.postForm(t, fmt.Sprintf("vm-hosts/%d/?op=compose", x.listVMHosts(t)[0].ID), map[string][]string{"hostname": {x.siteNameOf(t, name)}})
	} else if err := x.simulatorOrSkip().AddInstance(sim.Instance{Host: "node1", Project: "maas", Name: name}); err != nil {
		t.Fatal(err)
	}
}

// editOnlyVMHost edits the only VM host, as an operator would: "zone=az2".
func (x *metalTarget) editOnlyVMHost(t *testing.T, form string) {
	t.Helper()
	if field, word, found := strings.Cut(form, "="); found && x.names.hasName(word) {
		form = field + "=" + url.QueryEscape(x.siteNameOf(t, word))
	}
	x.callMAAS(t, http.MethodPut, fmt.Sprintf("vm-hosts/%d/", x.listVMHosts(t)[0].ID), form)
}

// tagLentMachines puts a tag on the machines that are lent to the test. The
// simulated ones have it already.
func (x *metalTarget) tagLentMachines(t *testing.T, tag string) {
	t.Helper()
	for _, m := range x.lent {
		if err := theSite.client.SetTags(t.Context(), m, append(slices.Clone(m.Tags), x.names.tag(tag))); err != nil {
			t.Fatal(err)
		}
	}
}

// forgetVMHost makes MAAS forget a VM host, as an operator would. Where MAAS
// has none, it removes the tag that finds hosts.
func (x *metalTarget) forgetVMHost(t *testing.T, name string) {
	t.Helper()
	if isLXDColumn() {
		x.untagHostMachine(t, name)
		return
	}
	for _, r := range x.listVMHosts(t) {
		if r.Name == name {
			x.callMAAS(t, http.MethodDelete, fmt.Sprintf("vm-hosts/%d/", r.ID), "")
			return
		}
	}
	t.Fatalf("MAAS has no VM host %s", name)
}

// untagHostMachine removes the tag of hosts from a host's machine.
func (x *metalTarget) untagHostMachine(t *testing.T, name string) {
	t.Helper()
	for _, m := range x.machines() {
		if x.names.wordOf(m.OwnerData["maaslxd-name"]) != name {
			continue
		}
		tags := slices.DeleteFunc(slices.Clone(m.Tags), func(tag string) bool { return tag == engine.HostTag })
		x.editMachine(t, m.Hostname, sim.MachineEdit{Tags: &tags})
		return
	}
	t.Fatalf("no machine says that it is host %s", name)
}

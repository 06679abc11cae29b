package acctest_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/capi-bridge/check"
	program "github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// newUpgradeTarget is a MAAS with VM hosts before its upgrade, whose LXDs the
// test can reach. In the column of LXDs they are real.
func newUpgradeTarget(t *testing.T) *metalTarget {
	t.Helper()
	skipUnlessInColumn(t)
	m := simulatedModel()
	addBareMetal(&m)
	m.LXDListen = sim.LXDListenAuto
	for n := range m.Subnets {
		m.Subnets[n].CIDR = ""
	}
	var real []sim.Option
	if isLXDColumn() {
		m.Hosts, real = nil, []sim.Option{sim.WithLXDs(lxdLender())}
	}
	s := sim.StartServer(t, m, real...)
	return &metalTarget{target: &target{url: s.URL, key: s.APIKey(), sim: s, image: "ubuntu/noble", makesOwnKey: true}, folder: t.TempDir()}
}

// fleetConfig is a configuration of hosts by name and machine, and of VMs by
// name and host.
func (x *metalTarget) fleetConfig(hosts, vms map[string]string) string {
	return x.fleetConfigBy("name", hosts, vms)
}

// fleetConfigBy is fleetConfig with the attribute of a host by which its VMs
// name it.
func (x *metalTarget) fleetConfigBy(by string, hosts, vms map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		fmt.Fprintf(&text, `
resource "maaslxd_vm_host" %[1]q {
  name            = %[1]q
  machine         = %[2]q
  zone            = "az1"
  pool            = "kvm"
  tags            = ["blue"]
  cpu_overcommit  = 3
  deploy          = { image = "ubuntu/noble" }
}
`, name, hosts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(vms)) {
		fmt.Fprintf(&text, `
resource "maaslxd_vm" %[1]q {
  name    = %[1]q
  vm_host = maaslxd_vm_host.%[2]s.%[3]s
  cores   = 2
  tags    = ["a"]
  disks   = { root = { size_gb = 10 }, data = { size_gb = 5 } }
  deploy  = { image = "ubuntu/noble" }
}
`, name, vms[name], by)
	}
	return x.configReachingLXD(text.String())
}

// machineIDs are the machines of the fleet, by hostname.
func (x *metalTarget) machineIDs() map[string]string {
	ids := map[string]string{}
	for _, m := range x.machines() {
		ids[m.Hostname] = m.SystemID
	}
	return ids
}

// checkUpgrade runs "capi-bridge check upgrade". It must report nothing
// missing, with these words.
func (x *metalTarget) checkUpgrade(t *testing.T, words ...string) {
	t.Helper()
	env := map[string]string{"MAAS_ENDPOINT": x.url, "MAAS_API_KEY": x.key, "MAASLXD_LXD_CLIENT_CERT": x.keyFile(), "MAASLXD_LXD_CLIENT_KEY": x.keyFile()}
	var out bytes.Buffer
	err := check.Run(t.Context(), program.Program{
		Name: "capi-bridge check", Args: []string{"upgrade"}, Getenv: func(name string) string { return env[name] }, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	for _, word := range append(words, "check upgrade: passed\n") {
		if !strings.Contains(out.String(), word) {
			t.Errorf("want %q in:\n%s", word, &out)
		}
	}
}

// TestAccTakeover makes a fleet on a MAAS with VM hosts. It continues with it,
// unchanged, after the upgrade of MAAS.
func TestAccTakeover(t *testing.T) {
	t.Parallel()
	x := newUpgradeTarget(t)
	hosts := map[string]string{"kvm1": "node1", "kvm2": "node2"}
	vms := map[string]string{"web1": "kvm1", "web2": "kvm1", "db1": "kvm2"}
	w := newWorkspace(t, x.fleetConfig(hosts, vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	before := x.machineIDs()

	x.checkUpgrade(t, "VM host kvm1: its machine", "VM host kvm2: its machine", "VM web1 (", "3 VMs were looked at")
	if err := x.simulatorOrSkip().Upgrade(); err != nil {
		t.Fatal(err)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.configure(t, x.fleetConfigBy("system_id", hosts, vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if diff := cmp.Diff(before, x.machineIDs()); diff != "" {
		t.Errorf("machines by the system ids of hosts (-before +after):\n%s", diff)
	}
	vms["web3"] = "kvm1"
	w.configure(t, x.fleetConfig(hosts, vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	after := x.machineIDs()
	if after["web3"] == "" {
		t.Error("the further VM is not there")
	}
	delete(after, "web3")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}

	delete(vms, "web1")
	delete(vms, "db1")
	delete(hosts, "kvm2")
	w.configure(t, x.fleetConfig(hosts, vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	var left []string
	for _, i := range x.instances() {
		left = append(left, i.Name)
	}
	if diff := cmp.Diff([]string{"web2", "web3"}, left); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if err := x.checkReady("node2")(nil); err != nil {
		t.Error(err)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccTakeoverPairLeftOut changes the fleet's pair after an upgrade of MAAS. An imported VM host
// has no pair, and was left out. The plan warns of it. Once its certificate is listed, MAAS has
// the next pair for all its VMs.
func TestAccTakeoverPairLeftOut(t *testing.T) {
	t.Parallel()
	x := newUpgradeTarget(t)
	hosts, vms := map[string]string{"kvm1": "node1"}, map[string]string{"web1": "kvm1"}
	w := newWorkspace(t, x.fleetConfig(hosts, vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	former := x.loadKeyPair(t, x.keyFile())
	data := x.findMachine(t, "node1").OwnerData
	delete(data, "maaslxd-fingerprint")
	x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &data})
	w.run(t, "state", "rm", "maaslxd_vm_host.kvm1")
	w.run(t, "import", "-no-color", "maaslxd_vm_host.kvm1", "node1")
	w.run(t, "apply", "-auto-approve", "-no-color")
	if err := x.simulatorOrSkip().Upgrade(); err != nil {
		t.Fatal(err)
	}
	vms["web2"] = "kvm1"
	w.configure(t, x.fleetConfig(hosts, vms))
	w.run(t, "apply", "-auto-approve", "-no-color")

	if err := os.Rename(x.keyFile(), x.keyFile()+".former"); err != nil {
		t.Fatal(err)
	}
	next := x.loadKeyPair(t, x.keyFile())
	if err := x.simulatorOrSkip().TrustCertificate("node1", next.Certificate); err != nil {
		t.Fatal(err)
	}
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: VM host kvm1 has no key pair of the fleet yet MAAS keeps the former pair lxd.trusted_certificates").MatchString(out) {
		t.Errorf("want a warning of the VM host without a pair, got:\n%s", out)
	}
	listed := fmt.Sprintf("lxd = { trusted_certificates = [%q] }\n  machine", next.Certificate)
	w.configure(t, strings.Replace(x.fleetConfig(hosts, vms), "machine", listed, 1))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if err := x.simulatorOrSkip().DistrustCertificate("node1", former.Certificate); err != nil {
		t.Fatal(err)
	}
	for name := range vms {
		power := string(x.callMAAS(t, "GET", "machines/"+x.findMachine(t, name).SystemID+"/?op=query_power_state", ""))
		if !strings.Contains(power, `"on"`) && !strings.Contains(power, `"off"`) {
			t.Errorf("with the former pair distrusted, MAAS says of the power of %s: %s", name, power)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

package acctest_test

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/reallxd"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// columnVariable chooses who makes the VMs of the suite, and so its MAAS.
// "maas", the default, is a MAAS with VM hosts and simulated LXDs. "lxd" is a
// MAAS without VM hosts, whose hosts have real LXDs.
const columnVariable = "MAASLXD_ACC_COLUMN"

// alikeVariable makes the column of LXDs also run the tests of alikeOnLXD.
const alikeVariable = "MAASLXD_ACC_ALIKE"

const (
	columnMAAS = "maas"
	columnLXD  = "lxd"
)

// currentColumn is the column that runs.
func currentColumn() string {
	if name := os.Getenv(columnVariable); name != "" {
		return name
	}
	return columnMAAS
}

// isLXDColumn reports whether this is the column of real LXDs.
func isLXDColumn() bool { return currentColumn() == columnLXD }

// lxdLender lends its LXDs to all tests.
var lxdLender = sync.OnceValue(func() *reallxd.Lender {
	return reallxd.NewLender(func(what string) { fmt.Println("real LXDs: " + what) })
})

// startingLXDLender lends LXDs that start their VMs, from the same pool.
var startingLXDLender = sync.OnceValue(func() *reallxd.Lender { return lxdLender().WithVMStart() })

// lxdLenderFor is the lender for a test.
func lxdLenderFor(t *testing.T) *reallxd.Lender {
	t.Helper()
	if _, starts := startsVMs[t.Name()]; starts {
		return startingLXDLender()
	}
	return lxdLender()
}

// needBoots skips a test that needs VMs which really start, where they only
// count as started.
func needBoots(t *testing.T) {
	t.Helper()
	if !isLXDColumn() || isOnSite() {
		return
	}
	if err := lxdLenderFor(t).VMStartError(); err != nil {
		t.Skipf("not with real LXDs here: their VMs are not started, so there is nothing to stop: %v", err)
	}
}

// fleetKey is the key pair that the existing hosts trust, in files.
var fleetKey = sync.OnceValues(func() (key fleetkey.Key, err error) {
	dir, err := os.MkdirTemp("", "maaslxd-acctest-key-")
	if err != nil {
		return fleetkey.Key{}, err
	}
	defer os.RemoveAll(dir)
	return fleetkey.LoadOrCreate(filepath.Join(dir, "key.pem"), time.Now())
})

// skipUnlessInColumn skips a test that makes no sense in this column, or whose
// result the other column shows already. It also skips what cannot run in
// either.
func skipUnlessInColumn(t *testing.T) {
	t.Helper()
	if !isLXDColumn() {
		return
	}
	if reason := reasonFor(t.Name(), notOnLXD); reason != "" {
		t.Skip("not with real LXDs: " + reason)
	}
	if reason := reasonFor(t.Name(), alikeOnLXD); reason != "" && os.Getenv(alikeVariable) == "" {
		t.Skip("in the column " + columnMAAS + " alone: " + reason)
	}
	if isOnSite() {
		return
	}
	if err := reallxd.CheckAvailable(); err != nil {
		t.Skip(err)
	}
}

// reasonFor is the reason in a table for a test, or for the case that contains
// it. It is empty where there is none.
func reasonFor(test string, table map[string]string) string {
	for name, reason := range table {
		if test == name || strings.HasPrefix(test, name+"/") {
			return reason
		}
	}
	return ""
}

// startSimulator serves a model. In the column of LXDs it is our fleet after
// MAAS has removed its VM hosts.
func startSimulator(t *testing.T, m sim.Model) *sim.Server {
	t.Helper()
	if !isLXDColumn() {
		return sim.StartServer(t, m)
	}
	key, err := fleetKey()
	if err != nil {
		t.Fatal(err)
	}
	m.MAASVersion, m.LXDListen = sim.VersionGone, sim.LXDListenAuto
	for n := range m.Hosts {
		if !m.Hosts[n].Unregistered {
			m.Hosts[n].TrustedCertificates = append(m.Hosts[n].TrustedCertificates, key.Certificate)
		}
	}
	s := sim.StartServer(t, m, sim.WithLXDs(lxdLenderFor(t)))
	for _, h := range m.Hosts {
		if !h.Unregistered {
			markHostMachine(t, s, h)
		}
	}
	return s
}

// markHostMachine marks a host's machine as a maaslxd_vm_host does.
func markHostMachine(t *testing.T, s *sim.Server, h sim.HostModel) {
	t.Helper()
	record := engine.HostRecord{
		Name: h.Name, Zone: h.Zone, Pool: h.Pool, Tags: h.Tags, CPUOvercommit: h.CPUOvercommit, MemoryOvercommit: h.MemoryOvercommit,
		Endpoint: engine.Endpoint{Project: h.Project},
	}
	if record.Project == "" {
		record.Project = "default"
	}
	for _, l := range s.LXDs() {
		if l.Name == h.Name {
			record.Address, record.DefaultStoragePool = l.Address, l.StoragePools[0].Name
		}
	}
	tags, data := []string{engine.HostTag, "virtual"}, record.OwnerData()
	for key, value := range data {
		if value == "" {
			delete(data, key)
		}
	}
	if err := s.EditMachine(h.Name, sim.MachineEdit{Tags: &tags, OwnerData: &data}); err != nil {
		t.Fatal(err)
	}
}

// lxdComposer is the setting that makes the provider create VMs in LXD.
const lxdComposer = "composer = \"lxd\"\n  "

// keySettings are the settings of a provider that must reach the existing
// hosts.
func (x *target) keySettings() string {
	if !isLXDColumn() {
		return ""
	}
	if x.makesOwnKey && x.sim == nil {
		return lxdComposer
	}
	if x.makesOwnKey {
		return ""
	}
	if x.sim == nil {
		l := theSite.LXDs[0]
		return fmt.Sprintf(lxdComposer+"lxd_client_cert = %q\n  lxd_client_key = %q\n  ", l.Certificate, l.Key)
	}
	key, err := fleetKey()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("lxd_client_cert = %q\n  lxd_client_key = %q\n  ", key.Certificate, key.Credentials.Key)
}

// enlistVM makes a VM in the LXD of a host, and in MAAS, as an operator without
// our provider would.
func (x *target) enlistVM(t *testing.T, host, name string, cores int) {
	t.Helper()
	key, err := fleetKey()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(name))
	mac := fmt.Sprintf("00:16:3e:%x:%x:%x", hash[:1], hash[1:2], hash[2:3])
	if err := x.simulatorOrSkip().AddInstance(sim.Instance{Host: host, Name: name, Cores: cores, MemoryMiB: 2048, MACs: []string{mac}}); err != nil {
		t.Fatal(err)
	}
	x.postForm(t, "machines/", url.Values{
		"hostname": {name}, "architecture": {"amd64/generic"}, "mac_addresses": {mac}, "power_type": {"lxd"},
		"power_parameters_power_address": {x.lxdAddress(host)}, "power_parameters_instance_name": {name},
		"power_parameters_certificate": {key.Certificate}, "power_parameters_key": {key.Credentials.Key},
	})
}

// lxdAddress is the address of a VM host's LXD.
func (x *target) lxdAddress(host string) string {
	for _, l := range x.simulatorOrSkip().LXDs() {
		if l.Name == host {
			return l.Address
		}
	}
	return ""
}

// lxdVersion is the version of the LXDs.
var lxdVersion = sync.OnceValue(func() string {
	if !isLXDColumn() {
		return "5.21.3"
	}
	version, err := reallxd.LXDVersion()
	if err != nil {
		return err.Error()
	}
	return version
})

// checkLXDVersion checks the version of a host's LXD.
func checkLXDVersion() knownvalue.Check {
	if isOnSite() {
		return knownvalue.StringRegexp(regexp.MustCompile(`^[0-9]+\.[0-9]+`))
	}
	return exactText(lxdVersion())
}

// checkHostNumber checks the number that MAAS gives a VM host, where it has VM
// hosts.
func checkHostNumber(c knownvalue.Check) knownvalue.Check {
	if isLXDColumn() {
		return knownvalue.Null()
	}
	return c
}

// expectResize is the plan for a VM of another size. LXD changes it in place,
// MAAS cannot.
func expectResize() resource.ConfigPlanChecks {
	if isLXDColumn() {
		return expectUpdate
	}
	return expectReplace
}

// putKeyBesideLedger puts the fleet's key beside a ledger, for a provider that
// must reach the existing hosts.
func (x *target) putKeyBesideLedger(t *testing.T, ledger string) {
	t.Helper()
	if !isLXDColumn() {
		return
	}
	key, err := fleetKey()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(key.Certificate) + "\n" + strings.TrimSpace(key.Credentials.Key) + "\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(ledger), "lxd-client.pem"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// poolDriver is the driver of a storage pool. Real LXDs are lent with the
// driver dir only.
func poolDriver(asked string) string {
	if isLXDColumn() && !isOnSite() {
		return "dir"
	}
	return asked
}

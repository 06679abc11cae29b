package acctest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// target is the MAAS of a test, and what the test may use of it.
type target struct {
	url, key         string
	sim              *sim.Server         // nil on a real MAAS
	names            *nameTranslator     // nil on the simulator
	t                *testing.T          // the test that uses it
	ownPrefixes      prefixes            // prefixes of the names that the test makes
	holdsTransitions bool                // machines of the test stay in their transitions
	lent             []realmaas.Machine  // machines that only this test uses
	hostKeyPair      func() realmaas.LXD // key pair that the test's hosts trust

	host  string // VM host to compose on
	zone  string // a zone without the host
	pool  string // a resource pool without the host
	image string // an image to deploy; empty on a real MAAS: do not deploy

	makesOwnKey bool // the test makes its own key beside its ledger
}

// providers serves the provider under test in this process.
var providers = map[string]func() (tfprotov6.ProviderServer, error){
	"maaslxd": providerserver.NewProtocol6WithError(provider.New("acctest")()),
}

// ledgerVariable is the variable with the provider's ledger.
const ledgerVariable = "MAASLXD_LEDGER"

// TestMain prints what the suite runs against, and keeps the user's settings
// away from the simulator.
func TestMain(m *testing.M) {
	if !slices.Contains([]string{columnMAAS, columnLXD}, currentColumn()) {
		fmt.Fprintf(os.Stderr, "%s is %q; set it to %s or %s\n", columnVariable, currentColumn(), columnMAAS, columnLXD)
		os.Exit(1)
	}
	if err := openSite(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	unsetProviderVariables()
	if isOnSite() {
		if err := os.Setenv(realmaas.CACertVariable, theSite.CACert); err != nil { // the provider must trust it, too
			fmt.Fprintln(os.Stderr, err)
			os.Exit(closeSite(1))
		}
		fmt.Println("acceptance tests run on the MAAS at", theSite.URL)
	} else {
		fmt.Println("acceptance tests run on the simulator,", map[string]string{
			columnMAAS: "whose MAAS has VM hosts, with simulated LXDs", columnLXD: "whose MAAS has no VM hosts, with real LXDs",
		}[currentColumn()])
	}
	os.Exit(closeSite(runWithLedger(m.Run)))
}

// unsetProviderVariables keeps the user's settings away from the provider: a
// test sets what it needs.
func unsetProviderVariables() {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "MAAS_API_") || strings.HasPrefix(name, "MAASLXD_LXD_") || name == ledgerVariable || strings.HasPrefix(name, "TF_VAR_") || strings.HasPrefix(name, "TF_CLI_ARGS") {
			os.Unsetenv(name) //nolint:errcheck // the variable exists
		}
	}
}

// runWithLedger runs the tests with a ledger of their own, unless the
// environment names one. The user's own ledger is not for simulated machines.
func runWithLedger(run func() int) int {
	if os.Getenv(ledgerVariable) != "" {
		return run()
	}
	dir, err := os.MkdirTemp("", "maaslxd-ledger-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv(ledgerVariable, filepath.Join(dir, "ledger.db")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// simulatedModel is the simulated MAAS: two hosts in two zones, and fast
// machines.
func simulatedModel() sim.Model {
	return sim.Model{
		MAASVersion: sim.Version37,
		Zones:       []string{"az1", "az2"},
		Pools:       []string{"kvm"},
		Domains:     []string{"example.org"},
		Images:      []string{"ubuntu/jammy", "ubuntu/noble"},
		Subnets: []sim.SubnetModel{
			{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true},
			{Name: "dark", CIDR: "10.78.0.0/24"},
		},
		Hosts: []sim.HostModel{
			{Name: "lxd1", Cores: 8, MemoryMiB: 16384, Zone: "az1", Tags: []string{"rack1"}, StoragePools: []sim.StoragePoolModel{
				{Name: "default", SizeGB: 200, Default: true}, {Name: "fast", SizeGB: 50},
			}},
			{Name: "lxd2", Cores: 8, MemoryMiB: 16384, Zone: "az2"},
		},
		Latency: sim.Latency{
			Compose: 50 * time.Millisecond, Commission: 300 * time.Millisecond,
			Deploy: 300 * time.Millisecond, Release: 100 * time.Millisecond,
			PowerOn: 50 * time.Millisecond, PowerOff: 50 * time.Millisecond,
		},
	}
}

// newTarget returns the real MAAS that the environment names. Otherwise it
// returns a simulated one for this test, with these changes of its model.
func newTarget(t *testing.T, changes ...func(*sim.Model)) *target {
	t.Helper()
	if !isOnSite() {
		return newSimulatedTarget(t, changes...)
	}
	return theSite.newTarget(t)
}

// newSimulatedTarget always returns a simulated MAAS. It is for tests that
// break things, or read what a real MAAS does not show.
func newSimulatedTarget(t *testing.T, changes ...func(*sim.Model)) *target {
	t.Helper()
	if isOnSite() {
		t.Skip("runs only on the simulator: it breaks MAAS, or reads its inside")
	}
	skipUnlessInColumn(t)
	m := simulatedModel()
	for _, change := range changes {
		change(&m)
	}
	s := startSimulator(t, m)
	return &target{
		url: s.URL, key: s.APIKey(), sim: s, t: t,
		host: "lxd1", zone: "az2", pool: "kvm", image: "ubuntu/noble",
	}
}

// newSizedTarget is newTarget for a test of sizes and addresses of the
// simulated model. On a real MAAS it skips the test.
func newSizedTarget(t *testing.T) *target {
	t.Helper()
	if isOnSite() {
		t.Skip("runs only on the simulator: " + siteSimulatedValues)
	}
	return newSimulatedTarget(t)
}

// slowTransitions makes transitions so slow that a test can act within them.
func slowTransitions(m *sim.Model) {
	m.Latency.Commission, m.Latency.Deploy = 2*time.Second, 2*time.Second
}

// name returns a hostname for a test. On a real MAAS it begins with the prefix
// of the run, so that the leftovers of a broken run can be recognised.
func (x *target) name() string {
	if x.names == nil {
		return fmt.Sprintf("tf-acc-%08x", rand.Uint32())
	}
	name := fmt.Sprintf("%sx%07x", runPrefix(), rand.Uint32()>>4)
	x.names.onNewName(name)
	return name
}

// config is a whole configuration: the provider block, then the body.
func (x *target) config(body string) string {
	return x.configWith(fmt.Sprintf("poll_interval = %q", x.pollInterval()), body)
}

// pollInterval is the time between two looks of the provider.
func (x *target) pollInterval() string {
	if x.sim != nil {
		return "50ms"
	}
	return theSite.Interval.String()
}

// configWith is config with other settings of the provider.
func (x *target) configWith(settings, body string) string {
	own := x.keySettings()
	if strings.Contains(settings, "composer =") {
		own = strings.Replace(own, lxdComposer, "", 1)
	}
	return fmt.Sprintf("provider \"maaslxd\" {\n  api_url = %q\n  api_key = %q\n  owner = \"tf-acc\"\n  %s%s\n}\n%s", x.url, x.key, own, settings, x.names.config(body))
}

// vm is a resource maaslxd_vm.test of the given name on the target's host, with
// these attributes.
func (x *target) vm(name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  name = %q\n  vm_host = %q\n  %s\n}\n", name, x.host, strings.Join(attributes, "\n  "))
}

func (x *target) deploy(more ...string) string {
	return fmt.Sprintf("deploy = {\n    image = %q\n    %s\n  }", x.image, strings.Join(more, "\n    "))
}

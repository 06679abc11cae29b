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
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// target is the MAAS that a test runs against, and what there is to use on it.
type target struct {
	url, key string
	sim      *sim.Server // nil on a real MAAS

	host  string // VM host to compose on
	zone  string // a zone that the host is not in
	pool  string // a resource pool that the host is not in
	image string // an image to deploy, empty to leave that out on a real MAAS

	ownKey bool // makes a key of its own, beside its ledger
}

// providers serves the provider under test in this process.
var providers = map[string]func() (tfprotov6.ProviderServer, error){
	"maaslxd": providerserver.NewProtocol6WithError(provider.New("acctest")()),
}

// Variables that choose a real MAAS, and what may be used of it.
const (
	urlVariable   = "MAAS_API_URL"
	keyVariable   = "MAAS_API_KEY"
	hostVariable  = "MAASLXD_ACC_VM_HOST"
	zoneVariable  = "MAASLXD_ACC_ZONE"
	poolVariable  = "MAASLXD_ACC_POOL"
	imageVariable = "MAASLXD_ACC_IMAGE"

	ledgerVariable = "MAASLXD_LEDGER"
)

// TestMain says what the suite runs against, and keeps settings of the user's
// own away from the simulator.
func TestMain(m *testing.M) {
	switch url, key := os.Getenv(urlVariable), os.Getenv(keyVariable); {
	case (url == "") != (key == ""):
		fmt.Fprintf(os.Stderr, "set both %s and %s for a real MAAS, or neither for the simulator\n", urlVariable, keyVariable)
		os.Exit(1)
	case !slices.Contains([]string{columnMAAS, columnLXD}, column()):
		fmt.Fprintf(os.Stderr, "%s is %q, and may be %s or %s\n", columnVariable, column(), columnMAAS, columnLXD)
		os.Exit(1)
	case url == "":
		fmt.Println("acceptance tests run on the simulator,", map[string]string{
			columnMAAS: "whose MAAS has VM hosts, with simulated LXDs", columnLXD: "whose MAAS has no VM hosts, with real LXDs",
		}[column()])
		for _, entry := range os.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			if strings.HasPrefix(name, "MAAS_API_") || strings.HasPrefix(name, "MAASLXD_LXD_") || name == ledgerVariable || strings.HasPrefix(name, "TF_VAR_") || strings.HasPrefix(name, "TF_CLI_ARGS") {
				os.Unsetenv(name) //nolint:errcheck // it was just listed
			}
		}
	default:
		fmt.Println("acceptance tests run on the MAAS at", url)
	}
	os.Exit(withLedger(m.Run))
}

// withLedger runs the tests with a ledger of their own, unless the environment
// names one: the user's is not for machines that do not exist.
func withLedger(run func() int) int {
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

// world is the simulated MAAS: two hosts in two zones, and quick machines.
func world() sim.Model {
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

// target returns the real MAAS that the environment names, or else a simulated
// one of its own for this test.
func newTarget(t *testing.T, changes ...func(*sim.Model)) *target {
	t.Helper()
	url, key := os.Getenv(urlVariable), os.Getenv(keyVariable)
	if url != "" && key != "" {
		x := &target{
			url: url, key: key, host: os.Getenv(hostVariable), zone: os.Getenv(zoneVariable),
			pool: os.Getenv(poolVariable), image: os.Getenv(imageVariable),
		}
		if x.host == "" || x.zone == "" || x.pool == "" || x.image == "" {
			t.Fatalf("on a real MAAS the suite also needs %s, %s, %s and %s", hostVariable, zoneVariable, poolVariable, imageVariable)
		}
		return x
	}
	return simulated(t, changes...)
}

// simulated returns a simulated MAAS whatever the environment says: for tests
// that break things, or look at what a real MAAS does not show.
func simulated(t *testing.T, changes ...func(*sim.Model)) *target {
	t.Helper()
	if os.Getenv(urlVariable) != "" && os.Getenv(keyVariable) != "" {
		t.Skip("runs only on the simulator: it breaks MAAS, or looks behind it")
	}
	inColumn(t)
	m := world()
	for _, change := range changes {
		change(&m)
	}
	s := start(t, m)
	return &target{
		url: s.URL, key: s.APIKey(), sim: s,
		host: "lxd1", zone: "az2", pool: "kvm", image: "ubuntu/noble",
	}
}

// slow makes transitions last so long that a test can act within them.
func slow(m *sim.Model) {
	m.Latency.Commission, m.Latency.Deploy = 2*time.Second, 2*time.Second
}

// name returns a hostname for a test. On a real MAAS all of ours begin with
// tf-acc-, so that what a broken run leaves can be told.
func (x *target) name() string {
	return fmt.Sprintf("tf-acc-%08x", rand.Uint32())
}

// config is a whole configuration: the provider block, then the body.
func (x *target) config(body string) string {
	interval := "5s"
	if x.sim != nil {
		interval = "50ms"
	}
	return x.configWith(fmt.Sprintf("poll_interval = %q", interval), body)
}

// configWith is config with other settings of the provider.
func (x *target) configWith(settings, body string) string {
	return fmt.Sprintf("provider \"maaslxd\" {\n  api_url = %q\n  api_key = %q\n  owner = \"tf-acc\"\n  %s%s\n}\n%s", x.url, x.key, x.keySettings(), settings, body)
}

// vm is a resource maaslxd_vm.test of the given name on the target's host, with
// more attributes.
func (x *target) vm(name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  name = %q\n  vm_host = %q\n  %s\n}\n", name, x.host, strings.Join(attributes, "\n  "))
}

func (x *target) deploy(more ...string) string {
	return fmt.Sprintf("deploy = {\n    image = %q\n    %s\n  }", x.image, strings.Join(more, "\n    "))
}

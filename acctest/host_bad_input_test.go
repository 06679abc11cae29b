package acctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	fleetkey "github.com/maaslxd/maaslxd/engine/lxd"
)

// TestAccHostBadInput wants one clear error each, which names the attribute,
// and every machine as it was.
func TestAccHostBadInput(t *testing.T) {
	t.Parallel()
	at1 := func(more ...string) string { return node1(more...) }
	lxd := func(text string) string { return at1("lxd = { " + text + " }") }
	cases := map[string]struct {
		reason   string
		world    func(*sim.Model)
		before   func(*testing.T, *metalTarget)
		body     string
		settings func(*testing.T, *metalTarget) []string
		want     string
	}{
		"NoMachine":       {reason: "A host is made of something.", body: vmHost("kvm"), want: `Nothing to make the host of machine selector address`},
		"TwoWaysIn":       {reason: "And of one thing.", body: vmHost("kvm", `machine = "node1"`, `address = "10.0.0.5"`), want: `More than one thing`},
		"AdoptByAddress":  {reason: "There is no machine to adopt.", body: vmHost("kvm", `address = "10.0.0.5"`, `adopt = true`), want: `Nothing to adopt`},
		"DeployAdopted":   {reason: "Nothing is installed.", body: at1(`adopt = true`), want: `Nothing is installed on this host`},
		"PoolsByAddress":  {reason: "Nobody can make them from outside.", body: vmHost("kvm", `address = "10.0.0.5"`, `lxd = { storage_pools = {} }`), want: `Nothing is installed on this host`},
		"UnknownMachine":  {reason: "MAAS has no such machine.", body: vmHost("kvm", `machine = "node9"`), want: `Cannot create VM host kvm machine: MAAS has no machine "node9"`},
		"MachineDeployed": {reason: "Somebody uses it.", world: inUse, body: at1(), want: `machine node1 is not Ready but Deployed, and belongs adopt it`},
		"MachineBroken":   {reason: "An operator must look.", world: broken, body: at1(), want: `machine node1 is not Ready but Broken`},
		"AdoptReady":      {reason: "Only what is deployed can be taken as it is.", body: vmHost("kvm", `machine = "node1"`, `adopt = true`), want: `Only a Deployed machine can be adopted`},
		"OtherArchitecture": {
			reason: "No machine is of it.", body: vmHost("kvm", `selector = { architecture = "arm64" }`),
			want: `InsufficientResources none of 3 Ready machines architecture arm64`,
		},
		"TooMuchAsked":    {reason: "No machine is so large.", body: vmHost("kvm", `selector = { min_cores = 999 }`), want: `none of 3 Ready machines at least 999 cores`},
		"UnknownZone":     {reason: "Zones are named, and known ones listed.", body: at1(`zone = "mars"`), want: `zone "mars" az1`},
		"UnknownPool":     {reason: "Resource pools too.", body: at1(`pool = "mars"`), want: `pool "mars" kvm`},
		"SelectorZone":    {reason: "There too.", body: vmHost("kvm", `selector = { zone = "mars" }`), want: `zone "mars" az1`},
		"UnknownImage":    {reason: "Found before anything is allocated.", body: vmHost("kvm", `machine = "node1"`, `deploy = { image = "ubuntu/warty" }`), want: `image "ubuntu/warty" ubuntu/noble`},
		"Ratio":           {reason: "MAAS takes up to 10.", body: at1(`cpu_overcommit = 11`), want: `cpu_overcommit at most 10`},
		"NoRatio":         {reason: "Zero would leave no room at all.", body: at1(`memory_overcommit = 0`), want: `0 is no over-commit ratio`},
		"UnknownDriver":   {reason: "Found without a MAAS.", body: lxd(`storage_pools = { default = { driver = "ntfs" } }`), want: `driver value must be one of "zfs" got: "ntfs"`},
		"CephWithoutPool": {reason: "Ceph must be named.", body: lxd(`storage_pools = { default = { driver = "ceph" } }`), want: `no name of a Ceph cluster`},
		"MissingSource":   {reason: "A source must be a disk.", body: lxd(`storage_pools = { default = { driver = "zfs", source = "/srv/pool" } }`), want: `/srv/pool is no disk /dev/disk/by-id`},
		"PoolBeyondDisk":  {reason: "LXD would fail at first boot.", body: lxd(`storage_pools = { default = { size_gb = 501 } }`), want: `storage pools take 501 GB largest disk of machine node1 has 500 GB`},
		"DefaultPool":     {reason: "No such pool is made.", body: lxd(`profile = { pool = "fast" }`), want: `no storage pool "fast" described are default`},
		"UnknownStorage":  {reason: "The default must be one that LXD has.", body: at1(`default_storage_pool = "fast"`), want: `default_storage_pool "fast" default`},
		"LongBridge":      {reason: "Linux takes 15 characters, MAAS more.", body: at1(`bridge = { name = "br-much-too-long" }`), want: `bridge.name "br-much-too-long" has 16 characters`},
		"BridgeTaken":     {reason: "The name of another interface.", body: at1(`bridge = { name = "eth0" }`), want: `machine node1 has another interface eth0`},
		"UnknownNIC":      {reason: "Interfaces are named, and known ones listed.", body: at1(`bridge = { nic = "eth9" }`), want: `interface "eth9" eth0`},
		"VLANWithoutDHCP": {reason: "VMs could not boot there.", body: at1(`bridge = { subnet = "dark" }`), want: `no DHCP on the VLAN of 10.78.0.0/24`},
		"UnknownSubnet":   {reason: "Subnets are named.", body: at1(`bridge = { subnet = "mars" }`), want: `subnet "mars" 10.77.0.0/24`},
		"MacvlanParent":   {reason: "A macvlan lies on a NIC.", body: lxd(`networks = { lan = { kind = "macvlan" } }`), want: `name the machine's NIC`},
		"ManagedAddress":  {reason: "LXD's own choice can fail.", body: lxd(`networks = { lxdbr0 = { kind = "managed" } }`), want: `no address of a bridge`},
		"Channel":         {reason: "A risk belongs to it.", body: lxd(`channel = "newest"`), want: `"newest" is no channel of a snap`},
		"Port":            {reason: "No such port.", body: lxd(`listen_port = 99999`), want: `listen_port value must be between 1 and 65535`},
		"Project":         {reason: "No name of a project.", body: lxd(`project = "a b"`), want: `no name of an LXD project`},
		"Feature":         {reason: "Projects have known features.", body: lxd(`project_features = { wings = true }`), want: `no such feature`},
		"TrustedNonsense": {reason: "Only certificates are trusted.", body: lxd(`trusted_certificates = ["abc"]`), want: `The certificate holds no certificate in PEM`},
		"UserDataLXD":     {reason: "Two sections of one name: one would be dropped.", body: vmHost("kvm", `machine = "node1"`, `deploy = { user_data_wo = "#cloud-config\nlxd: {init: {}}\n" }`), want: `Cannot make such a host lxd`},
		"Erase":           {reason: "MAAS has no other ways.", body: at1(`release = { erase = "twice" }`), want: `erase value must be one of`},
		"Name":            {reason: "A name that can be written anywhere.", body: vmHost("k v", `machine = "node1"`), want: `name must be 1 to 63 letters`},
		"Composer":        {reason: "Not there yet, and said so.", body: at1(), settings: setting(`composer = "lxd"`), want: `composer VMs cannot be made in LXD itself`},
		"HalfAPair":       {reason: "A certificate without its key.", body: at1(), settings: pair("a", ""), want: `lxd_client_key holds no private key`},
		"OtherKey":        {reason: "Halves of two pairs.", body: at1(), settings: pair("a", "b"), want: `lxd_client_key is not the private key of the certificate`},
		"NoLastingKey":    {reason: "A key that ends with the run would lock everybody out.", body: at1(), settings: setting(`ledger = "memory"`), want: `Cannot create VM host no lasting place for the client key pair`},
		"KeyFileMissing":  {reason: "Neither PEM nor a file.", body: at1(), settings: setting(`lxd_client_cert = "/nowhere"`), want: `lxd_client_cert neither PEM text nor the path of a file`},
		"KeyReadByOthers": {
			reason: "Somebody may have it.", body: at1(),
			before: func(t *testing.T, x *metalTarget) {
				x.trustAt(t, "stray")
				if err := os.Chmod(x.keyFile(), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			want: `can be read or written by other users chmod 600`,
		},
		"NoVMHosts": {reason: "A MAAS after 3.8.", world: func(m *sim.Model) { m.MAASVersion = sim.VersionGone }, body: at1(), want: `no VM hosts any more`},
		"ProjectInUse": {
			reason: "Nobody can see here whether it is.", before: func(t *testing.T, x *metalTarget) { x.trustAt(t, "stray") },
			body: vmHost("kvm", `address = "10.200.0.9"`), want: `cannot see whether project "maas" adopt_existing_vms`,
		},
		"RegisteredAlready": {
			reason: "MAAS has it under another name.",
			before: func(t *testing.T, x *metalTarget) {
				x.trustAt(t, "stray")
				w := newWorkspace(t, x.config(vmHost("first", `address = "10.200.0.9"`, `adopt_existing_vms = true`)))
				w.run(t, "apply", "-auto-approve", "-no-color")
			},
			body: vmHost("second", `address = "10.200.0.9"`, `adopt_existing_vms = true`), want: `MAAS has project "maas" already VM host first Import it`,
		},
		"NameTwice": {
			reason: "The second would be the first.",
			body: node1() + `resource "maaslxd_vm_host" "twin" {
  name    = "kvm1"
  machine = "node2"
}
`, want: `name another resource of this configuration creates VM host kvm1`,
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var changes []func(*sim.Model)
			if tc.world != nil {
				changes = append(changes, tc.world)
			}
			x := newMetal(t, changes...)
			t.Log(tc.reason)
			if tc.before != nil {
				tc.before(t, x)
			}
			config := x.config(tc.body)
			if tc.settings != nil {
				config = x.configOnly(tc.body, tc.settings(t, x)...)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps:                    []resource.TestStep{{Config: config, ExpectError: words(tc.want)}},
			})
			if title != "MachineDeployed" && title != "MachineBroken" && title != "RegisteredAlready" {
				if err := x.checkReady("node1", "node2")(nil); err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
			}
		})
	}
}

func inUse(m *sim.Model)  { m.Machines[0].Status = "Deployed" }
func broken(m *sim.Model) { m.Machines[0].Status = "Broken" }

// configOnly is config with settings that may stand in the place of its own.
func (x *metalTarget) configOnly(body string, settings ...string) string {
	all := append([]string{`poll_interval = "50ms"`, `probe = "maas"`}, settings...)
	if len(settings) == 0 || settings[0] != `ledger = "memory"` {
		all = append(all, fmt.Sprintf("ledger = %q", filepath.Join(x.folder, "ledger.db")))
	}
	return x.configWith(strings.Join(all, "\n  "), body)
}

func setting(line string) func(*testing.T, *metalTarget) []string {
	return func(*testing.T, *metalTarget) []string { return []string{line} }
}

// pair gives a certificate of one key pair and the key of another, by path; an
// empty one is left out.
func pair(certificate, key string) func(*testing.T, *metalTarget) []string {
	return func(t *testing.T, x *metalTarget) (lines []string) {
		for attribute, name := range map[string]string{"lxd_client_cert": certificate, "lxd_client_key": key} {
			if name == "" {
				continue
			}
			made, err := fleetkey.LoadOrCreate(filepath.Join(x.folder, name+".pem"), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			text := map[string]string{"lxd_client_cert": made.Certificate, "lxd_client_key": made.Key}[attribute]
			lines = append(lines, fmt.Sprintf("%s = %q", attribute, text))
		}
		return lines
	}
}

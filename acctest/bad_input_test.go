package acctest_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// wordsPattern matches a text with all these words in this order, however the
// CLI wraps its lines. Case does not matter.
func wordsPattern(text string) *regexp.Regexp {
	parts := strings.Fields(text)
	for i, p := range parts {
		parts[i] = orSiteName(regexp.QuoteMeta(p))
	}
	return regexp.MustCompile(`(?is)` + strings.Join(parts, `.*?`))
}

// TestAccVMBadInput wants one clear error for each case, which names the
// attribute. Nothing may be made.
func TestAccVMBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		attributes []string
		name       string // empty: a valid name
		host       string // empty: the target's host
		world      func(*sim.Model)
		before     func(*testing.T, *target)
		want       string
	}{
		"UnknownHost":        {reason: "MAAS does not know the VM host. The known ones are listed.", host: "lxd9", want: `vm_host "lxd9" lxd1`},
		"UnknownZone":        {reason: "An unknown zone is named, and the known ones are listed.", attributes: []string{`zone = "mars"`}, want: `zone "mars" az1`},
		"UnknownPool":        {reason: "An unknown resource pool is named, and the known ones are listed.", attributes: []string{`pool = "mars"`}, want: `pool "mars" kvm`},
		"UnknownDomain":      {reason: "An unknown domain is named, and the known ones are listed.", attributes: []string{`domain = "mars"`}, want: `domain "mars" Known: maas`},
		"UnknownImage":       {reason: "An unknown image is found before the VM is composed.", attributes: []string{`deploy = { image = "ubuntu/warty" }`}, want: `image "ubuntu/warty" ubuntu/noble`},
		"UnknownStoragePool": {reason: "MAAS itself would silently use the default pool.", attributes: []string{`disks = { root = { size_gb = 8, pool = "mars" } }`}, want: `pool "mars" default`},
		"UnknownSubnet":      {reason: "An unknown subnet is named, and the known ones are listed.", attributes: []string{`interfaces = { eth0 = { subnet = "mars" } }`}, want: `subnet "mars" Known: /24`},
		"SubnetWithoutDHCP":  {reason: "A VM that cannot boot from the network is never commissioned.", attributes: []string{`interfaces = { eth0 = { subnet = "dark" } }`}, want: `subnet DHCP`},
		"AddressElsewhere":   {reason: "The address belongs to another subnet.", attributes: []string{`interfaces = { eth0 = { subnet = "lan", ip = "10.99.0.1" } }`}, want: `ip 10.99.0.1 10.77.0.0/24`},
		"AddressOfMAAS":      {reason: "MAAS gives this address to DHCP clients. The error names a free one.", attributes: []string{`interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.200" } }`}, want: `ip 10.77.0.200 dynamic range is free`},
		"AddressTaken": {
			reason: "Another host has the address, and the error names it before a VM is composed.", attributes: []string{`interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.42" } }`},
			before: func(t *testing.T, x *target) {
				x.postForm(t, "dnsresources/", url.Values{"fqdn": {"www.maas"}, "ip_addresses": {"10.77.0.42"}})
			},
			want: `ip 10.77.0.42 in use by the DNS name www.maas 10.77.0.43 is free`,
		},
		"NoAddress":        {reason: "The text is not an IP address.", attributes: []string{`interfaces = { eth0 = { subnet = "lan", ip = "ten" } }`}, want: `not an IP address. Write one`},
		"CoresBeyondHost":  {reason: "A VM is never larger than its host.", attributes: []string{`cores = 9`}, want: `cores 9 8 lxd1`},
		"MemoryBeyondHost": {reason: "A VM is never larger than its host.", attributes: []string{`memory_mib = 16385`}, want: `memory_mib 16385 16384`},
		"DiskBeyondPool":   {reason: "MAAS would answer with a server error.", attributes: []string{`disks = { root = { size_gb = 8, pool = "fast" }, data = { size_gb = 49, pool = "fast" } }`}, want: `fast 50 GB left`},
		"ZeroCores":        {reason: "The mistake is found without a call to MAAS.", attributes: []string{`cores = 0`}, want: `cores between 1 and`},
		"NegativeMemory":   {reason: "The mistake is found without a call to MAAS.", attributes: []string{`memory_mib = -1`}, want: `memory_mib 1024`},
		"AbsurdMemory":     {reason: "The mistake is found without a call to MAAS.", attributes: []string{`memory_mib = 99999999999`}, want: `memory_mib value must be between 1024 and`},
		"ZeroDisk":         {reason: "The mistake is found without a call to MAAS, which would accept it.", attributes: []string{`disks = { root = { size_gb = 0 } }`}, want: `size_gb value must be between 1 and`},
		"NoRootDisk":       {reason: "The VM boots from the disk named root.", attributes: []string{`disks = { data = { size_gb = 8 } }`}, want: `must be named "root"`},
		"DottedName":       {reason: "MAAS accepts the name, but LXD refuses it.", name: "web.1", want: `has a dot. LXD refuses it`},
		"LongName":         {reason: "A DNS label has 63 letters at most.", name: strings.Repeat("a", 64), want: `is not a DNS label: 1 to 63`},
		"CoresAndPinned":   {reason: "A VM has either a number of cores or pinned cores.", attributes: []string{`cores = 1`, `pinned_cores = [0]`}, want: `"pinned_cores" cannot be specified when "cores"`},
		"PinnedBeyondHost": {reason: "The host has no such core.", attributes: []string{`pinned_cores = [99]`}, want: `pinned_cores: VM host lxd1 has no core 99`},
		"BigUserData": {
			reason:     "MAAS's web server refuses such a large request.",
			attributes: []string{`deploy = { user_data_wo = join("", [for i in range(1024) : format("%1024d", i)]) }`},
			want:       `1048576 bytes, and MAAS safely takes at most 524288`,
		},
		"HostNeverReached": {
			reason: "MAAS lists VM hosts that it never reached.", host: "dead",
			before: func(t *testing.T, x *target) {
				x.postForm(t, "vm-hosts/", url.Values{"type": {"lxd"}, "name": {"dead"}, "power_address": {"10.255.255.1:8443"}})
			},
			want: `dead`,
		},
		"HostFull": {
			reason: "Other VMs have the cores, and over-commit is off.", attributes: []string{`cores = 3`}, host: "small",
			world: func(m *sim.Model) {
				m.Hosts = append(m.Hosts, sim.HostModel{Name: "small", Cores: 4, MemoryMiB: 8192, CPUOvercommit: 0.5})
			},
			want: `3 cores 2 left`,
		},
		"NoVMHosts": {
			reason: "MAAS after 3.8 has no VM hosts, and no machine is a host.",
			world:  func(m *sim.Model) { m.MAASVersion = sim.VersionGone },
			want:   `knows no VM host "lxd1"`,
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			var changes []func(*sim.Model)
			if tc.world != nil {
				changes = append(changes, tc.world)
			}
			x := newTarget(t, changes...)
			if x.sim == nil && (tc.world != nil || tc.before != nil) {
				t.Skip("only the simulated model has the VM host that it needs")
			}
			if tc.host != "" {
				x.host = tc.host
			}
			name := tc.name
			if name == "" {
				name = x.name()
			}
			t.Log(tc.reason)
			if tc.before != nil {
				tc.before(t, x)
			}
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps: []resource.TestStep{{
					Config:      x.config(x.vm(name, tc.attributes...)),
					ExpectError: wordsPattern(tc.want),
				}},
			})
			if err := x.checkVMGone(name)(nil); err != nil {
				t.Errorf("%s\nsomething was made: %v", tc.reason, err)
			}
		})
	}
}

// TestAccProviderBadInput wants one clear error for each wrong setting of the
// provider.
func TestAccProviderBadInput(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		url    func(*target) string
		key    func(*target) string
		more   string
		want   string
	}{
		"MalformedKey": {reason: "A key has three parts.", key: func(*target) string { return "abc" }, want: `an API key has three parts`},
		"WrongKey":     {reason: "MAAS refuses the key, and the error shows nothing of it.", key: func(*target) string { return "aaaa:bbbb:cccc" }, want: `MAAS refused the API key`},
		"NotAnAdmin":   {reason: "Only administrators may compose VMs.", key: func(x *target) string { return x.simulatorOrSkip().UserAPIKey() }, want: `may not compose VMs administrators`},
		"NoScheme":     {reason: "The URL has no scheme.", url: func(*target) string { return "maas.example:5240" }, want: `api_url: the URL must begin with http`},
		"NotAURL":      {reason: "The URL contains spaces.", url: func(*target) string { return "http://not a url" }, want: `api_url: this is not a URL`},
		"HTTPSAsked":   {reason: "https where MAAS speaks http.", url: func(x *target) string { return strings.Replace(x.url, "http:", "https:", 1) }, want: `does not speak HTTPS api_url begin with http://`},
		"NobodyThere":  {reason: "Nothing listens at the address.", url: func(*target) string { return "http://127.0.0.1:1/MAAS" }, want: `nothing listens at 127.0.0.1:1`},
		"NoMAAS":       {reason: "The web server at the address is no MAAS.", url: func(x *target) string { return x.url + "/elsewhere" }, want: `there is no MAAS API at this address`},
		"BadCA":        {reason: "The text is not a certificate.", more: `ca_cert = "-----BEGIN NONSENSE-----"`, want: `ca_cert: there is no PEM certificate`},
		"BadInterval":  {reason: "The text is not a duration.", more: `poll_interval = "soon"`, want: `"soon" is not a duration`},
		"BadTimeout":   {reason: "The time is too short for any answer.", more: `request_timeout = "1ns"`, want: `"1ns" is not a duration`},
		"BadOwner":     {reason: "An owner is a name without spaces.", more: `owner = "a b"`, want: `owner must be 1 to 64`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			name := x.name()
			url, key := x.url, x.key
			if tc.url != nil {
				url = tc.url(x)
			}
			if tc.key != nil {
				key = tc.key(x)
			}
			t.Log(tc.reason)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				ErrorCheck: func(err error) error {
					if _, secret, ok := strings.Cut(key, ":"); ok && strings.Contains(err.Error(), secret) {
						t.Errorf("the error echoes the key: %v", err)
					}
					return err
				},
				Steps: []resource.TestStep{{
					Config: fmt.Sprintf("provider \"maaslxd\" {\n  api_url = %q\n  api_key = %q\n  %s\n}\n", url, key, tc.more) +
						x.vm(name),
					ExpectError: wordsPattern(tc.want),
				}},
			})
			if err := x.checkVMGone(name)(nil); err != nil {
				t.Errorf("%s\nsomething was made: %v", tc.reason, err)
			}
		})
	}
}

// TestAccProviderURLForms accepts the URL with and without /MAAS and slashes.
func TestAccProviderURLForms(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"/MAAS", "/MAAS/", "", "/"} {
		t.Run(fmt.Sprintf("%q", form), func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			x.url = strings.TrimSuffix(x.url, "/MAAS") + form
			name := x.name()
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				CheckDestroy:             x.checkVMGone(name),
				Steps:                    []resource.TestStep{{Config: x.config(x.vm(name))}},
			})
		})
	}
}

// TestAccVMNameTaken leaves another owner's machine of the same name alone, and
// names it in the error.
func TestAccVMNameTaken(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		says    string
		machine sim.MachineModel
	}{
		"Foreign": {reason: "A machine without our mark.", says: "import", machine: sim.MachineModel{Hostname: "tf-acc-taken", Cores: 2, MemoryMiB: 2048}},
		"OtherOwner": {
			reason:  "A VM of another owner.",
			says:    `made for "team-b/tf-acc-taken" Choose another name`,
			machine: sim.MachineModel{Hostname: "tf-acc-taken", Description: "maaslxd-0123456789ab team-b/tf-acc-taken"},
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t, func(m *sim.Model) { m.Machines = append(m.Machines, tc.machine) })
			before := x.findMachine(t, "tf-acc-taken")
			t.Log(tc.reason)
			runStory(t, resource.TestCase{
				ProtoV6ProviderFactories: providers,
				Steps: []resource.TestStep{{
					Config:      x.config(x.vm("tf-acc-taken")),
					ExpectError: wordsPattern(before.SystemID + " " + tc.says),
				}},
			})
			if after := x.findMachine(t, "tf-acc-taken"); after.Description != before.Description || after.StatusName != before.StatusName {
				t.Errorf("the foreign machine was touched: %+v, before %+v", after, before)
			}
			if n := len(x.instances()); n != 0 {
				t.Errorf("%d instances were made", n)
			}
		})
	}
}

// withUnknownName is a configuration in whose plans a name is still unknown.
func withUnknownName(name, config string) string {
	return fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %q\n}\n", name) +
		strings.ReplaceAll(config, fmt.Sprintf("%q", name), "terraform_data.late.output")
}

// TestAccVMNameTwice refuses two resources with one name. Otherwise one of them
// would take the other's VM for its own.
func TestAccVMNameTwice(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	runStory(t, resource.TestCase{
		ProtoV6ProviderFactories: providers,
		CheckDestroy:             x.checkVMGone(name),
		Steps: []resource.TestStep{{
			Config:      x.config(withUnknownName(name, x.vm(name)+strings.Replace(x.vm(name), `"test"`, `"twin"`, 1))),
			ExpectError: wordsPattern(`name another resource ` + name),
		}},
	})
	if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
		t.Errorf("there were %d composes, want 1", n)
	}
}

// TestAccVMFractions gives a VM one and a half cores, and a root disk of a half GB too much. Each is one
// error at its attribute, before any call.
func TestAccVMFractions(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("test", "web", `cores = 3 / 2`, `disks = { root = { size_gb = 8.5 } }`)))
	for attribute, number := range map[string]string{"cores": "1.5", "disks.root.size_gb": "8.5"} {
		w.wantCommandFailure(t, "Error: The number cannot be used "+attribute+": "+number+" is no whole number. Round it: floor("+number+")", "plan", "-no-color")
	}
	cmd, out := w.command(t.Context(), "plan", "-no-color")
	if err := cmd.Run(); err == nil || strings.Contains(out.String(), "provider developer") {
		t.Errorf("want no word of a defect of the provider, got %v:\n%s", err, out)
	}
}

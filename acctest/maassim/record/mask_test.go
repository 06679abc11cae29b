package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
)

const somePEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"

// TestMaskField checks how single fields are masked.
func TestMaskField(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason            string
		parent, key, have string
		want              string
	}{
		"TrustPassword": {"the replay's LXD has it", "vm-hosts", "password", "hunter22", "<LXD TRUST PASSWORD>"},
		"PowerPass":     {"a BMC's password", "machines", "power_parameters_power_pass", "hunter22", "<LXD TRUST PASSWORD>"},
		"TokenSecret":   {"Proxmox's", "machines", "power_token_secret", "abcdef", "<SECRET>"},
		"KG":            {"IPMI's", "machines", "power_parameters_k_g", "0xabcd", "<SECRET>"},
		"OSPassword":    {"OpenStack's", "machines", "os_password", "abcdef", "<SECRET>"},
		"VCenter":       {"all of it", "maas", "vcenter_server", "10.1.2.3", "<SECRET>"},
		"BMCKey":        {"a setting", "maas", "maas_auto_ipmi_k_g_bmc_key", "abc", "<SECRET>"},
		"Omapi":         {"a setting", "maas", "omapi_key", "abc", "<SECRET>"},
		"RPC":           {"a setting", "maas", "rpc_shared_secret", "abc", "<SECRET>"},
		"PEM":           {"wherever it stands", "vm-hosts", "key", somePEM, "<PRIVATE KEY PEM>"},
		"PEMInJSON":     {"power parameters are JSON", "machines", "power_parameters", `{"key":"` + strings.ReplaceAll(somePEM, "\n", `\n`) + `","power_pass":"x1y2"}`, `{"key":"<PRIVATE KEY PEM>","power_pass":"<LXD TRUST PASSWORD>"}`},
		"UserData":      {"it stays user-data", "machines", "user_data", "c2VjcmV0", "I2Nsb3VkLWNvbmZpZwojIHVzZXItZGF0YSAxCg=="},
		"Address":       {"its place in the network stays", "machines", "power_address", "https://192.168.3.4:8443", "https://10.77.3.4:8443"},
		"Loopback":      {"it tells nothing", "machines", "power_address", "https://127.0.0.1:8443", "https://127.0.0.1:8443"},
		"Network":       {"as its addresses", "subnets", "cidr", "192.168.3.0/24", "10.77.3.0/24"},
		"IPv6":          {"an address", "ipaddresses", "ip", "2001:db8::5", "fd00:77::1"},
		"MAC":           {"LXD's half stays", "machines", "mac_addresses", "00:16:3e:12:34:56", "00:16:3e:00:00:01"},
		"Hostname":      {"a name", "machines", "hostname", "acme-01", "host1"},
		"Petname":       {"MAAS made it up: it stays one", "machines", "hostname", "cute-hog", "calm-ant"},
		"FQDN":          {"two names", "machines", "fqdn", "web1.acme.example", "host1.domain1"},
		"User":          {"the first is the simulator's", "machines", "owner", "jane", "admin"},
		"Email":         {"a user's", "users", "email", "jane@acme.example", "admin@example.com"},
		"Zone":          {"a name", "zones", "name", "berlin", "zone1"},
		"Default":       {"MAAS's own word", "zones", "name", "default", "default"},
		"ZoneID":        {"a number is an id", "vm-hosts", "zone", "2", "2"},
		"Description":   {"people write anything", "machines", "description", "for ACME", "text 1"},
		"EventText":     {"MAAS writes these", "events", "description", "Node powered off", "Node powered off"},
		"DiskTag":       {"found by MAAS", "boot_disk", "tags", "ssd", "ssd"},
		"Proxy":         {"a password in an address", "maas", "http_proxy", "http://joe:pw@proxy.acme.example:3128/", "http://<SECRET>@site1.example:3128/"},
		"SSHKey":        {"public, but somebody's", "sshkeys", "key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ jane@laptop", "<SECRET>"},
		"DNSName":       {"two names", "dnsresources", "fqdn", "web.acme.example", "host1.domain1"},
		"DNSTarget":     {"a site's", "dnsresourcerecords", "rrdata", "mail.acme.example.", "site1.example."},
		"VLANName":      {"a name", "vlans", "name", "acme-dmz", "vlan1"},
		"DefaultVLAN":   {"MAAS made it up", "vlans", "name", "untagged", "untagged"},
		"NIC":           {"the kernel made it up", "interface_set", "name", "enp5s0", "enp5s0"},
		"Bridge":        {"a name", "interfaces", "name", "br-acme", "nic1"},
		"FirstName":     {"somebody's", "users", "first_name", "Jane", "text 1"},
		"AgentName":     {"a client's", "machines", "agent_name", "acme-ci", "agent1"},
		"PowerUser":     {"of a BMC", "machines", "power_user", "acme-bmc", "admin"},
		"Serial":        {"of somebody's disk", "blockdevice_set", "serial", "WD-1234", "text 1"},
		"LXDSerial":     {"LXD made it up", "blockdevice_set", "serial", "lxd_root", "lxd_root"},
		"UUID":          {"of somebody's machine", "machines", "hardware_uuid", "3dc8018d-3fab-4183-9fc5-86bfd6ee4f71", "00000000-0000-4000-8000-000000000001"},
		"NTP":           {"a setting that is not known", "maas", "ntp_servers", "ntp.acme.example", "text 1"},
		"Series":        {"a setting", "maas", "default_distro_series", "jammy", "jammy"},
		"Image":         {"of everybody", "boot-resources", "name", "ubuntu/jammy", "ubuntu/jammy"},
		"CustomImage":   {"somebody's", "boot-resources", "name", "custom/acme", "custom/image1"},
		"Storage":       {"labels and pools", "machines", "storage", "root:8(default),data:9(acme)", "root:8(default),label1:9(label2)"},
		"Interfaces":    {"labels and names", "machines", "interfaces", "a:space=dmz,ip=192.168.1.2", "label1:space=label2,ip=10.77.1.2"},
		"Specifier":     {"a name behind it", "machines", "subnet", "name:acme", "name:subnet1"},
		"Unknown":       {"it may be anything", "machines", "frobnicate", "acme", "text 1"},
		"UnknownNumber": {"it may be a PIN", "machines", "frobnicate", "1234", "text 1"},
		"Empty":         {"nothing to hide", "machines", "power_pass", "", ""},
		"Status":        {"MAAS's word", "machines", "status_name", "Deployed", "Deployed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := record.NewMask().Field(tc.parent, tc.key, tc.have); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestMaskIsConsistent checks that a name keeps its placeholder, in fields and in
// sentences.
func TestMaskIsConsistent(t *testing.T) {
	t.Parallel()
	m := record.NewMask()
	first := m.Field("machines", "hostname", "acme-01")
	second := m.Field("machines", "hostname", "acme-02")
	if first == second || m.Field("machines", "hostname", "acme-01") != first {
		t.Errorf("acme-01 is %q, acme-02 %q", first, second)
	}
	if got, want := m.Text(`Node with hostname "acme-01" already exists on 192.168.1.9`), `Node with hostname "`+first+`" already exists on 10.77.1.9`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Field("account", "token_secret", "s3cr3ts3cr3t")
	if got := m.Text("token s3cr3ts3cr3t is bad"); strings.Contains(got, "s3cr3t") {
		t.Errorf("a sentence tells a secret: %q", got)
	}
}

// TestMaskKeepsNamesApart checks that a name of the site that looks like a
// placeholder gets another one.
func TestMaskKeepsNamesApart(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"berlin", "zone1", "zone2"}, {"zone2", "zone1", "berlin"}} {
		m, by := record.NewMask(), map[string]string{}
		for _, name := range names {
			m.Field("zones", "name", name)
		}
		for _, name := range names {
			masked := m.Field("zones", "name", name)
			if by[masked] != "" {
				t.Errorf("%s and %s are both %s", name, by[masked], masked)
			}
			by[masked] = name
		}
	}
}

// FuzzMask checks that no input breaks the mask, that JSON stays JSON, and that a password
// never appears.
func FuzzMask(f *testing.F) {
	f.Add("machines", "hostname", "acme-01.example")
	f.Add("vm-hosts", "power_parameters", `{"a":["10.0.0.1"]}`)
	f.Add("machines", "x", "-----BEGIN X-----\n")
	f.Fuzz(func(t *testing.T, parent, key, text string) {
		m := record.NewMask()
		m.Field("vm-hosts", "password", "Zq9-password-Zq9")
		masked := m.Field(parent, key, text+"Zq9-password-Zq9")
		if strings.Contains(masked, "Zq9-password-Zq9") {
			t.Errorf("%s.%s tells the password: %q", parent, key, masked)
		}
		if _, err := json.Marshal(m.Value(parent, key, map[string]any{key: []any{text, nil, true}})); err != nil {
			t.Error(err)
		}
	})
}

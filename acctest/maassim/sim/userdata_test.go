package sim_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// keyPair is a client's certificate with its key, made once.
var keyPair = sync.OnceValues(func() (certificate, key string) {
	made, err := makeClientPair()
	if err != nil {
		panic(err)
	}
	return made.certificate, made.key
})

// preseedConfig is a cloud-config with a preseed.
func preseedConfig(preseed string) string {
	return "#cloud-config\nlxd:\n  preseed: |\n    " + strings.ReplaceAll(strings.TrimSpace(preseed), "\n", "\n    ") + "\n"
}

const plainPreseed = `
config:
  core.https_address: "[::]:8443"
storage_pools:
- name: slow
  driver: dir
- name: fast
  driver: btrfs
  config: {size: 20GiB}
projects:
- name: fleet
  config: {features.images: "false"}
profiles:
- name: maas
  devices:
    root: {type: disk, path: /, pool: fast}
    eth0: {type: nic, nictype: bridged, parent: br0}
`

// trustScript makes the LXD trust the fleet's certificate in a project.
func trustScript() string {
	certificate, _ := keyPair()
	return "#!/bin/sh\nset -eu\n" +
		"lxd waitready --timeout=300\n" +
		"lxc project show fleet >/dev/null 2>&1 || lxc project create fleet # there already\n" +
		"cat >/run/fleet.crt <<'EOF'\n" + certificate + "EOF\n" +
		"if ! lxc config trust list --format csv | grep -q abc; then\n" +
		"\tlxc config trust add /run/fleet.crt --name fleet \\\n\t\t--restricted --projects fleet\nfi\nrm -f /run/fleet.crt\n"
}

// multiPart joins parts, each "type\ntext", into one message. Every second one is in
// base64.
func multiPart(parts ...string) string {
	var b strings.Builder
	b.WriteString("Content-Type: multipart/mixed;\n boundary=\"XX\"\nMIME-Version: 1.0\n\n")
	for i, p := range parts {
		kind, text, _ := strings.Cut(p, "\n")
		b.WriteString("--XX\nContent-Type: " + kind + "; charset=\"utf-8\"\n")
		if i%2 == 1 {
			text = base64.StdEncoding.EncodeToString([]byte(text))
			b.WriteString("Content-Transfer-Encoding: base64\n")
		}
		b.WriteString("\n" + text + "\n")
	}
	return b.String() + "--XX--\n"
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// TestUserData checks the result of user-data on a machine.
func TestUserData(t *testing.T) {
	t.Parallel()
	certificate, _ := keyPair()
	both := multiPart("text/cloud-config\n"+preseedConfig(plainPreseed), "text/x-shellscript\n"+trustScript())
	full := "10.77.0.1:8443 5.0.4 [fast:20 slow:100] [default fleet] [fleet]"
	cases := map[string]struct {
		reason   string
		userData string
		want     string // empty if nothing listens
		event    string
	}{
		"Parts":     {"A preseed and a script.", both, full, "SUCCESS"},
		"Gzipped":   {"The whole may be compressed.", gzipped(both), full, "SUCCESS"},
		"Jinja":     {"A template's first line is not the part's.", multiPart("text/cloud-config\n## template: jinja\n"+preseedConfig(plainPreseed), "text/x-shellscript\n"+trustScript()), full, "SUCCESS"},
		"Archive":   {"The other way to join parts.", "#cloud-config-archive\n- type: text/cloud-config\n  content: |\n    " + strings.ReplaceAll(preseedConfig(plainPreseed), "\n", "\n    "), "10.77.0.1:8443 5.0.4 [fast:20 slow:100] [default fleet] []", "SUCCESS"},
		"LastWins":  {"If two parts have a key, the last one counts.", multiPart("text/cloud-config\n"+"#cloud-config\nlxd: {init: {network_port: 1}}\n", "text/cloud-config\n"+preseedConfig(plainPreseed)), "10.77.0.1:8443 5.0.4 [fast:20 slow:100] [default fleet] []", "SUCCESS"},
		"Init":      {"The short form.", "#cloud-config\nlxd:\n  init: {network_address: 0.0.0.0, network_port: 8444, storage_backend: btrfs, storage_create_loop: 30}\n", "10.77.0.1:8444 5.0.4 [default:30] [default] []", "SUCCESS"},
		"Auto":      {"MAAS's own way.", "#cloud-config\nwrite_files:\n- path: /root/lxd.crt\n  encoding: b64\n  content: " + base64.StdEncoding.EncodeToString([]byte(certificate)) + "\nsnap:\n  commands:\n    00: [snap, refresh, lxd, --channel=5.21/stable]\nruncmd:\n- lxd init --auto --network-address=[::]\n- lxc project create maas\n- [lxc, config, trust, add, /root/lxd.crt, --restricted, --projects, maas]\n", "10.77.0.1:8443 5.21.3 [default:100] [default maas] [maas]", "SUCCESS"},
		"Here":      {"A preseed from standard input, a variable, a pipe.", "#!/bin/bash\nPOOL=\"p1\"\ntimeout 600 snap refresh lxd --channel=5.21/stable || true\ncat <<-EOT | lxd init --preseed\n\tstorage_pools: [{name: p1, driver: dir}]\n\tEOT\nlxc config set core.https_address 10.77.0.1\nlxc storage create two zfs size=50GB\necho " + base64.StdEncoding.EncodeToString([]byte(certificate)) + " | base64 -d | lxc config trust add - --name=x\n", "10.77.0.1:8443 5.21.3 [p1:100 two:46] [default] [*]", "SUCCESS"},
		"Installed": {"An install where it is there changes nothing.", "#!/bin/sh\nsnap install lxd --channel=5.21/stable\nlxc config set core.https_address=:8443\n", "10.77.0.1:8443 5.0.4 [] [default] []", "SUCCESS"},

		"Hook":     {"A boothook runs before the preseed.", multiPart("text/cloud-config\n"+preseedConfig(plainPreseed), "text/cloud-boothook\n#!/bin/sh\ncase ${1:-} in\ninstall) snap refresh lxd --channel=5.21/stable ;;\n*) systemd-run --unit=x --property='After=y z' /bin/sh \"$0\" install ;;\nesac\n"), "10.77.0.1:8443 5.21.3 [fast:20 slow:100] [default fleet] []", "SUCCESS"},
		"Function": {"Functions have arguments and standard input.", "#!/bin/sh\nset -eu\nadd() { lxc project create \"$1\" </dev/null; lxc config trust add - --restricted --projects \"$1\"; }\nadd p1 <<'EOF'\n" + certificate + "EOF\nlxc config set core.https_address :8443\n", "10.77.0.1:8443 5.0.4 [] [default p1] [p1]", "SUCCESS"},
		"Asks":     {"Commands that query the machine have answers.", "#!/bin/sh\nset -eu\n[ \"$(snap list lxd | awk 'NR > 1 { print $2 }')\" = 5.0.4 ]\ncommand -v lxd >/dev/null\n! ip link show dev br7\nip link show eth0 | grep -q UP\n! lxc query /1.0/storage-pools/p\nlxc storage create p dir\nlxc query /1.0/storage-pools/p | grep -q '\"driver\": *\"dir\"'\nlxc config set core.https_address=:8443\n[ -n \"$(lxc config get core.https_address)\" ]\n[ ! -e /etc/passwd ]\n", "10.77.0.1:8443 5.0.4 [p:100] [default] []", "SUCCESS"},
		"GivesUp":  {"After a failure the script does not continue.", "#!/bin/sh\nfail() { echo \"$*\" >&2; exit 1; }\nuntil ip link show br7; do n=$((${n:-0} + 1)); [ $n -lt 60 ] || fail no br7; sleep 2; done\nlxc config set core.https_address=:8443\n", "", "no br7"},
		"Endless":  {"A script that never ends is ended.", "#!/bin/sh\nwhile true; do sleep 1; done\n", "", "it never ends"},
		"Syntax":   {"The script has a syntax error.", "#!/bin/sh\nif\n", "", "part-001"},

		"Nothing":       {"No user-data at all.", "", "", "SUCCESS"},
		"NoLXD":         {"The user-data sets up no LXD.", "#cloud-config\npackages: [nginx]\n", "", "SUCCESS"},
		"NoAddress":     {"LXD is there and listens nowhere.", preseedConfig("storage_pools: [{name: p, driver: dir}]"), "", "SUCCESS"},
		"Loopback":      {"Other computers cannot reach it there.", preseedConfig("config: {core.https_address: '127.0.0.1:8443'}"), "", "SUCCESS"},
		"NotMine":       {"An address of another machine.", preseedConfig("config: {core.https_address: '10.9.9.9:8443'}"), "", "cannot assign requested address"},
		"Driver":        {"The driver does not exist.", preseedConfig(strings.Replace(plainPreseed, "btrfs", "xfs", 1)), "", `unsupported storage driver "xfs"`},
		"Source":        {"The source does not exist.", preseedConfig(strings.Replace(plainPreseed, "size: 20GiB", "source: /srv/none", 1)), "", `source "/srv/none" does not exist`},
		"Field":         {"LXD reads strictly.", preseedConfig("certificates: []"), "", "field certificates not found"},
		"Key":           {"The key does not exist.", preseedConfig("config: {core.bogus: 1}"), "", "unknown key"},
		"Network":       {"A profile's network must exist.", preseedConfig(plainPreseed + "    eth1: {type: nic, network: none}\n"), "", `network "none" not found`},
		"Mapping":       {"The preseed is a text.", "#cloud-config\nlxd: {preseed: {config: {}}}\n", "", "preseed is not a text"},
		"YAML":          {"The YAML is invalid.", "#cloud-config\nlxd: [\n", "", "cloud-config: yaml"},
		"Unknown":       {"Neither config nor script.", "hello\n", "", "SUCCESS"},
		"NoProject":     {"A trust needs its project.", multiPart("text/cloud-config\n"+preseedConfig("config: {core.https_address: ':8443'}"), "text/x-shellscript\n"+strings.Replace(trustScript(), "lxc project create", "true", 1)), "10.77.0.1:8443 5.0.4 [] [default] []", `project "fleet" not found`},
		"NoCertificate": {"The certificate does not exist.", "#!/bin/sh\nlxc config set core.https_address :8443\nlxc config trust add /none\n", "10.77.0.1:8443 5.0.4 [] [default] []", "open /none: no such file"},
		"Channel":       {"The channel does not exist.", "#!/bin/sh\nsnap refresh lxd --channel=9/stable\n", "", `no channel "9/stable"`},
		"Truncated":     {"The whole part of half a message.", both[:len(both)/2], "10.77.0.1:8443 5.0.4 [fast:20 slow:100] [default fleet] []", "unexpected EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1"}}})
			c.deployMetal("m1", tc.userData)
			if got := describeLXDs(c.sim); got != tc.want {
				t.Errorf("%s\nwant %q\n got %q", tc.reason, tc.want, got)
			}
			if log := c.call("GET", "events/?op=query&level=DEBUG"); !strings.Contains(log.text, strings.ReplaceAll(tc.event, `"`, `\"`)) {
				t.Errorf("%s no event with %q: %s", tc.reason, tc.event, log.text)
			}
		})
	}
}

// describeLXDs lists each LXD: address, version, pools with their GiB, projects, and the
// projects of each certificate.
func describeLXDs(s *sim.Sim) string {
	var all []string
	for _, l := range s.LXDs() {
		var pools, trusted []string
		for _, p := range l.StoragePools {
			size := p.SizeBytes >> 30
			if p.SizeBytes%1e9 == 0 && p.Driver == "dir" {
				size = p.SizeBytes / 1e9
			}
			pools = append(pools, fmt.Sprintf("%s:%d", p.Name, size))
		}
		for _, c := range l.Trusted {
			if !c.Restricted {
				c.Projects = []string{"*"}
			}
			trusted = append(trusted, c.Projects...)
		}
		all = append(all, fmt.Sprintf("%s %s %s %s %s", l.Address, l.Version, sortedTexts(pools), l.Projects, trusted))
	}
	return strings.Join(all, "\n")
}

// TestDisksOfPools checks which disks a pool can use.
func TestDisksOfPools(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		more   []int64
		source string
		want   string // the pool's bytes; empty for no LXD
	}{
		"Known":    {"The path selects the disk, and the pool has its size.", []int64{200}, "/dev/sdb", "200000000000"},
		"ByName":   {"Another path selects the disk, too.", []int64{200, 300}, "/dev/disk/by-dname/sdc", "300000000000"},
		"ByID":     {"The id in MAAS selects the disk.", []int64{200}, "/dev/disk/by-id/wwn-S000002", "200000000000"},
		"System":   {"The system is on it.", []int64{200}, "/dev/sda", ""},
		"Absent":   {"The machine has others.", []int64{200}, "/dev/sdz", ""},
		"Anything": {"The model describes no disks.", nil, "/dev/sdz", "100000000000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1", MoreDisksGB: tc.more}}})
			c.deployMetal("m1", preseedConfig("config: {core.https_address: ':8443'}\nstorage_pools: [{name: p, driver: zfs, config: {source: "+tc.source+"}}]"))
			got := ""
			for _, l := range c.sim.LXDs() {
				got = fmt.Sprint(l.StoragePools[0].SizeBytes)
			}
			if got != tc.want {
				t.Errorf("%s want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

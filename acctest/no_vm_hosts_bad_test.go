package acctest_test

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// TestAccGoneBad: reasons why a VM cannot be made in an LXD that is already a
// host. Nothing is left half-made in LXD or MAAS.
func TestAccGoneBad(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		before func(*testing.T, *metalTarget)
		vm     []string
		at     string
		want   string
	}{
		"Unreachable": {
			reason: "Nothing answers at the address of the LXD.",
			before: func(t *testing.T, x *metalTarget) {
				if err := x.simulatorOrSkip().SetLXDCondition("node1", sim.ConditionUnreachable); err != nil {
					t.Fatal(err)
				}
			},
			vm: []string{`timeouts = { create = "15s" }`},
			at: "vm_host", want: `nothing listens at core.https_address`,
		},
		"OtherProject": {
			reason: "Our certificate may not use the LXD project.",
			before: func(t *testing.T, x *metalTarget) {
				for _, m := range x.machines() {
					if m.Hostname != "node1" {
						continue
					}
					m.OwnerData["maaslxd-project"] = "other"
					if err := x.simulatorOrSkip().EditMachine(m.SystemID, sim.MachineEdit{OwnerData: &m.OwnerData}); err != nil {
						t.Fatal(err)
					}
				}
			},
			vm: []string{`timeouts = { create = "15s" }`},
			at: "vm_host", want: `project "other"`,
		},
		"OtherServer": {
			reason: "Another server answers at the address of the LXD.",
			before: func(t *testing.T, x *metalTarget) {
				if _, err := x.simulatorOrSkip().RenewCertificate("node1"); err != nil {
					t.Fatal(err)
				}
			},
			at: "vm_host", want: `shows the certificate`,
		},
		"NoPool": {
			reason: "The VM host has no such storage pool.", vm: []string{`disks = { root = { size_gb = 8, pool = "tape" } }`},
			at: "disks", want: `VM host kvm1 has no storage pool "tape" Known: default`,
		},
		"NoProfile": {
			reason: "The LXD project has no such profile.", vm: []string{`profile = "gold"`},
			at: "profile", want: `the project "maas" has no profile "gold" It has: default lxc profile create gold`,
		},
		"NoNetwork": {
			reason: "MAAS has no such subnet.", vm: []string{`interfaces = { eth0 = { subnet = "10.99.0.0/24" } }`},
			want: `interfaces.eth0.subnet: MAAS knows no subnet "10.99.0.0/24"`,
		},
		"InstanceThere": {
			reason: "Another user has an instance of the same name.",
			before: func(t *testing.T, x *metalTarget) {
				if err := x.simulatorOrSkip().AddInstance(sim.Instance{Host: "node1", Project: "maas", Name: "web"}); err != nil {
					t.Fatal(err)
				}
			},
			want: `the LXD of host kvm1 has an instance web already, without a mark of this program Choose another name`,
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTargetWithoutVMHosts(t)
			t.Log(tc.reason)
			host := hostOnNode1()
			w := newWorkspace(t, x.configReachingLXD(host))
			w.run(t, "apply", "-auto-approve", "-no-color")
			if tc.before != nil {
				tc.before(t, x)
			}
			w.configure(t, x.configReachingLXD(host+vmOnTestHost("web", tc.vm...)))
			w.wantRefusedChange(t, x, tc.at, tc.want)
		})
	}
}

// TestAccGoneMACTaken: MAAS has given each MAC that the VM would get to another
// machine.
func TestAccGoneMACTaken(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	host := hostOnNode1()
	w := newWorkspace(t, x.configReachingLXD(host+vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	mark, _, _ := strings.Cut(x.findMachine(t, "web").Description, " ")
	first := x.instances()[0].MACs
	w.configure(t, x.configReachingLXD(host))
	w.run(t, "apply", "-auto-approve", "-no-color")
	const tries = 4 // the provider tries four times; each time the MACs follow from the VM's mark and its host
	for n := range tries {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s 0 %d", mark, x.findMachine(t, "node1").SystemID, n))
		mac := fmt.Sprintf("00:16:3e:%02x:%02x:%02x", sum[0], sum[1], sum[2])
		if n == 0 && !slices.Equal(first, []string{mac}) {
			t.Fatalf("its first MAC was %v, and %s is taken", first, mac)
		}
		x.postForm(t, "machines/", url.Values{
			"hostname": {fmt.Sprint("other", n)}, "architecture": {"amd64/generic"}, "mac_addresses": {mac}, "power_type": {"manual"}, "commission": {"false"},
		})
	}
	w.configure(t, x.configReachingLXD(host+vmOnTestHost("web")))
	w.wantRefusedChange(t, x, "", fmt.Sprintf(`MAAS has given the MAC of web, to machine other%d If that machine is a leftover of this VM, delete it in MAAS`, tries-1))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGoneTooOld: a MAAS without VM hosts does not know LXD's version. So
// the provider reads it when it makes a VM on the host.
func TestAccGoneTooOld(t *testing.T) {
	t.Parallel()
	const old = "4.0.9"
	var host sim.HostModel
	x := &metalTarget{folder: t.TempDir(), target: newSimulatedTarget(t, listenOnLoopback, func(m *sim.Model) {
		m.MAASVersion, m.Hosts, m.Hosts[0].LXDVersion = sim.VersionGone, m.Hosts[:1], old
		host = m.Hosts[0]
	})}
	x.makesOwnKey = true
	x.makeLXDTrustNewKey(t, host.Name)
	const want = "LXD " + old + " at is too old: LXD 5.0 or newer is needed Install LXD 5.0 or newer on the host snap refresh lxd --channel=5.21/stable"
	markHostMachine(t, x.sim, host)
	newWorkspace(t, x.configReachingLXD(x.vm("web"))).wantRefusedCreate(t, x, "vm_host", want)
	placed := "resource \"maaslxd_vm\" \"test\" {\n  name = \"web\"\n  placement = {}\n}\n"
	newWorkspace(t, x.configReachingLXD(placed)).wantRefusedCreate(t, x, "", "no VM host fits web unusable lxd1 LXD "+old+" at is too old: LXD 5.0 or newer is needed")
}

// TestAccGoneOnMAAS: a provider with composer = "maas" says that this MAAS has
// no VM hosts.
func TestAccGoneOnMAAS(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1(), `composer = "maas"`))
	w.wantRefusedCreate(t, x, "", `has no VM hosts any more composer = "lxd"`)
}

// TestAccGoneUntrusted: another configuration has a key pair of its own, which
// the host does not trust.
func TestAccGoneUntrusted(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	newWorkspace(t, x.configReachingLXD(hostOnNode1())).run(t, "apply", "-auto-approve", "-no-color")
	other := &metalTarget{target: x.target, folder: t.TempDir()}
	if _, err := fleetkey.LoadOrCreate(other.keyFile(), time.Now()); err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t, other.configReachingLXD("resource \"maaslxd_vm\" \"test\" {\n  name = \"web\"\n  vm_host = \"kvm1\"\n}\n"))
	w.wantRefusedCreate(t, other, "vm_host", `does not trust the client certificate lxc config trust add`)
}

// TestAccGoneNameTooLong: neither LXD nor MAAS gets a request for a name that
// no host can have.
func TestAccGoneNameTooLong(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.configReachingLXD(hostOnNode1()+vmOnTestHost(strings.Repeat("a", 64))))
	w.wantRefusedChange(t, x, "name", `name 63`)
}

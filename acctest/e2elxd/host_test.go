package e2elxd

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// kubeadmJoin is bootstrap data in the form of Cluster API's kubeadm provider.
//
//go:embed testdata/kubeadm-join.yaml
var kubeadmJoin []byte

// userScript is what a user runs beside our part of the user-data.
const userScript = "#!/bin/sh\nlxc query /1.0/projects/maas >/run/user-part\n"

// TestRealHosts deploys hosts, and looks at the result from outside. It looks
// again after a reboot, and after a first boot that cloud-init takes for that
// of another machine.
func TestRealHosts(t *testing.T) {
	t.Parallel()
	needE2E(t)
	cases := map[string]struct {
		reason string
		change func(*engine.HostSpec)
		before []func(*testing.T, machine)
		want   view
		more   func(*testing.T, machine)
	}{
		"plain": {
			reason: "LXD is in the image, as in some of MAAS's; VMs join the bridge that MAAS made.",
			change: func(s *engine.HostSpec) {
				s.LXD.StoragePools = map[string]cloudinit.StoragePool{"default": {Driver: cloudinit.Dir}}
			},
			want: view{
				Pools:    map[string]string{"default": "dir"},
				Profiles: map[string]profileSummary{"default": {"pool": "default", "nictype": "bridged", "parent": "br0"}},
			},
			more: wantVendorDataRan,
		},
		"rich": {
			reason: "LXD comes from its snap, between two stages of cloud-init; there are pools, a network, limits, a user's part and one that joins a cluster.",
			change: func(s *engine.HostSpec) {
				s.LXD.StoragePools = map[string]cloudinit.StoragePool{
					"default": {Driver: cloudinit.Btrfs, Source: "/srv/pool"}, "slow": {Driver: cloudinit.Dir},
				}
				s.LXD.Networks = map[string]cloudinit.Network{
					"br0": {}, "lxdbr0": {Kind: cloudinit.Managed, IPv4Address: "10.10.10.1/24", NAT: true},
				}
				s.LXD.Project = cloudinit.Project{Description: "VMs of MAAS", Limits: map[string]string{"virtual-machines": "20"}}
				s.LXD.Profile = cloudinit.Profile{Pool: "slow", Network: "lxdbr0", Config: map[string]string{"limits.cpu": "2"}}
				s.LXD.Extra = [][]byte{[]byte(userScript)}
				s.Machine.Deploy.UserData = kubeadmJoin
			},
			before: []func(*testing.T, machine){installLXDBySnap},
			want: view{
				Pools:    map[string]string{"default": "btrfs", "slow": "dir"},
				Networks: map[string]string{"lxdbr0": "10.10.10.1/24"},
				Limits:   map[string]string{"limits.virtual-machines": "20"},
				Profiles: map[string]profileSummary{"default": {"pool": "slow", "network": "lxdbr0", "limits.cpu": "2"}},
			},
			more: wantAllPartsRan,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, name)
			t.Log(tc.reason)
			spec := w.hostSpec(name, tc.change)
			began := time.Now()
			step, m := w.beginHost(t, spec, tc.before...)
			installed := time.Since(began)
			host := w.waitUntilReady(t, step)
			t.Logf(name+": installed in %.1f s, Ready %.1f s after that", installed.Seconds(), (time.Since(began) - installed).Seconds())
			if len(host.VMHost.StoragePools) != len(tc.want.Pools) || host.VMHost.Version == "" {
				t.Errorf("MAAS knows another host: %+v", host.VMHost)
			}
			check := func(when string) {
				t.Helper()
				if said := m.waitForCloudInit(t); !strings.Contains(said, `"errors": []`) || !strings.Contains(said, "DataSourceMAAS") {
					t.Errorf("%s: cloud-init says %s", when, said)
				}
				if diff := cmp.Diff(tc.want, w.readViewOverHTTPS(t, host)); diff != "" {
					t.Errorf("%s: seen from outside, -want +got:\n%s", when, diff)
				}
				if when != afterReboot { // a reboot runs none of it again
					tc.more(t, m)
				}
			}
			check("after the first boot")
			before := m.mustRunScript(t, fingerprintScript)
			m.reboot(t)
			check(afterReboot)
			m.mustRunScript(t, "cloud-init clean --logs")
			m.reboot(t)
			check("after the same first boot again")
			if after := m.mustRunScript(t, fingerprintScript); after != before {
				t.Errorf("LXD was made anew:\n%s\ninstead of\n%s", after, before)
			}
			res, err := step(t.Context())
			if err != nil || !res.Done {
				t.Errorf("the engine sees another host now: %+v, %v", res, err)
			}
		})
	}
}

const afterReboot = "after a reboot"

// fingerprintScript prints what must not change in an LXD: its certificate, and
// its contents.
const fingerprintScript = `sha256sum /var/lib/lxd/server.crt
lxc storage list --format csv; lxc network list --format csv; lxc config trust list --format csv; lxc project list --format csv
lxc profile show default --project maas`

// waitUntilReady steps the host until it is ready.
func (w *world) waitUntilReady(t *testing.T, step func(context.Context) (engine.Result[engine.Host], error)) engine.Host {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	host, err := engine.WaitUntilDone(ctx, step)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// installLXDBySnap makes LXD exist only after snapd has installed it.
func installLXDBySnap(t *testing.T, m machine) {
	t.Helper()
	m.removeFile(t, "/usr/bin/lxd")
	m.writeFile(t, "/usr/bin/snap", "#!/bin/sh\nexec /usr/local/lib/maaslxd/snap \"$@\"\n", "0755")
}

// wantVendorDataRan checks that our user-data removed nothing from MAAS's
// vendor-data.
func wantVendorDataRan(t *testing.T, m machine) {
	t.Helper()
	m.mustRunScript(t, "test -e /run/maas-vendor-data")
}

// wantAllPartsRan checks that each part had its effect, in order.
func wantAllPartsRan(t *testing.T, m machine) {
	t.Helper()
	if warned := strings.Join(cloudinit.Warnings(kubeadmJoin), " "); !strings.Contains(warned, "runcmd: replaces MAAS's") {
		t.Errorf("nobody was warned that the bootstrap part takes MAAS's runcmd: %s", warned)
	}
	if _, err := m.runScript(t.Context(), "test -e /run/maas-vendor-data"); err == nil {
		t.Error("MAAS's runcmd ran beside another one, contrary to the warning")
	}
	if got := m.mustRunScript(t, "cat /run/user-part"); !strings.Contains(got, `"VMs of MAAS"`) {
		t.Errorf("the user's part ran before the host was ready: %s", got)
	}
	calls := m.mustRunScript(t, "cat /var/log/kubeadm-stand-in.log")
	if !strings.Contains(calls, "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml") || !strings.Contains(calls, "name: 'rich") {
		t.Errorf("kubeadm was called otherwise: %s", calls)
	}
	if got := m.mustRunScript(t, "cat /run/cluster-api/bootstrap-success.complete /etc/kubernetes/pki/note"); !strings.HasPrefix(got, "success") {
		t.Errorf("the bootstrap part did not end: %s", got)
	}
	snaps := slices.Collect(strings.Lines(m.mustRunScript(t, "cat /var/log/snap-stand-in.log")))
	want := "snap install lxd --channel=5.21/stable\n"
	if i := slices.Index(snaps, want); i < 0 || slices.Contains(snaps[i+1:], want) {
		t.Errorf("snapd was not asked once to install LXD: %q", snaps)
	}
}

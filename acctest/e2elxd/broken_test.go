package e2elxd

import (
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// TestRealBrokenHosts: a failed first boot never makes a Ready host, and the
// engine names what failed.
func TestRealBrokenHosts(t *testing.T) {
	t.Parallel()
	needE2E(t)
	pool := func(p cloudinit.StoragePool) func(*engine.HostSpec) {
		return func(s *engine.HostSpec) { s.LXD.StoragePools = map[string]cloudinit.StoragePool{"default": p} }
	}
	cases := map[string]struct {
		reason string
		change func(*engine.HostSpec)
		before []func(*testing.T, machine)
		want   []string // in the engine's message
		clouds string   // in cloud-init's message
	}{
		"source": {
			reason: "The pool's source is not there.",
			change: pool(cloudinit.StoragePool{Driver: cloudinit.Btrfs, Source: "/srv/absent/pool"}),
			want:   []string{"connection refused", "no storage pool default of the driver btrfs", "/srv/absent/pool"},
			clouds: "('lxd', ",
		},
		"occupied": {
			reason: "Something lies where the pool is to be.",
			change: pool(cloudinit.StoragePool{Driver: cloudinit.Dir, Source: "/srv/data"}),
			before: []func(*testing.T, machine){func(t *testing.T, m machine) { m.writeFile(t, "/srv/data/precious", "bytes", "0600") }},
			want:   []string{"connection refused", "no storage pool default of the driver dir", "/srv/data", "empty"},
			clouds: "('lxd', ",
		},
		"tools": {
			reason: "ZFS is not in the image, nor in the kernel. cloud-init's module for LXD takes that for success.",
			change: pool(cloudinit.StoragePool{}),
			want:   []string{"connection refused", "no storage pool default of the driver zfs", "zfsutils-linux"},
			clouds: "('scripts-user', ",
		},
		"lxd": {
			reason: "There is neither LXD nor snapd.",
			change: pool(cloudinit.StoragePool{Driver: cloudinit.Dir}),
			before: []func(*testing.T, machine){func(t *testing.T, m machine) { m.removeFile(t, "/usr/bin/lxd") }},
			want:   []string{"connection refused", "neither snapd nor LXD"},
			clouds: "('scripts-user', ",
		},
		"bridge": {
			reason: "VMs are to join a bridge that nobody made.",
			change: func(s *engine.HostSpec) {
				pool(cloudinit.StoragePool{Driver: cloudinit.Dir})(s)
				s.LXD.Networks = map[string]cloudinit.Network{"br9": {}}
			},
			want:   []string{"does not trust", "no interface br9"},
			clouds: "('scripts-user', ",
		},
		"port": {
			reason: "Something else listens where LXD is to.",
			change: pool(cloudinit.StoragePool{Driver: cloudinit.Dir}),
			before: []func(*testing.T, machine){occupyPort},
			want:   []string{"10.99.", "the preseed was not applied", "address already in use"},
			clouds: "('lxd', ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hostname := "no-" + name
			w := newWorld(t, hostname)
			t.Log(tc.reason)
			step, m := w.beginHost(t, w.hostSpec(hostname, tc.change), tc.before...)
			if said := m.waitForCloudInit(t); !strings.Contains(said, tc.clouds) {
				t.Errorf("cloud-init says %s, want %s", said, tc.clouds)
			}
			var res engine.Result[engine.Host]
			for began := time.Now(); time.Since(began) < shortTimeout; time.Sleep(time.Second) {
				var err error
				if res, err = step(t.Context()); err != nil || res.Done {
					t.Fatalf("want the engine to wait, got %+v, %v", res, err)
				}
				if containsAll(res.Message, tc.want) {
					t.Log(res.Message)
					return
				}
			}
			t.Errorf("the engine says %s: %s; want %q in it", res.Reason, res.Message, tc.want)
		})
	}
}

func containsAll(message string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(message, word) {
			return false
		}
	}
	return true
}

// occupyPort makes another program listen on LXD's port from the start.
func occupyPort(t *testing.T, m machine) {
	t.Helper()
	m.writeFile(t, "/etc/systemd/system/squatter.socket",
		"[Socket]\nListenStream=8443\nAccept=yes\n", "0644")
	m.writeFile(t, "/etc/systemd/system/squatter@.service", "[Service]\nExecStart=/bin/cat\nStandardInput=socket\n", "0644")
	m.writeFile(t, "/etc/systemd/system/sockets.target.d/squatter.conf", "[Unit]\nWants=squatter.socket\n", "0644")
}

package cloudinit_test

import (
	"os"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestSetupWithoutFirstBoot lists what an LXD needs that gets no first boot.
func TestSetupWithoutFirstBoot(t *testing.T) {
	t.Parallel()
	certificate, err := os.ReadFile("testdata/current.crt")
	if err != nil {
		t.Fatal(err)
	}
	root := map[string]string{"type": "disk", "path": "/", "pool": "default"}
	nic := map[string]string{"type": "nic", "name": "eth0", "nictype": "bridged", "parent": "br0"}
	plain := cloudinit.Setup{
		Listen:       "[::]:8443",
		StoragePools: []api.StoragePoolsPost{{Name: "default", Driver: "zfs", StoragePoolPut: api.StoragePoolPut{Config: map[string]string{"size": "50GB"}}}},
		Interfaces:   []cloudinit.Interface{{Name: "br0", Kind: cloudinit.Bridge}},
		Project:      api.ProjectsPost{Name: "maas", ProjectPut: api.ProjectPut{Config: map[string]string{"features.profiles": "true"}}},
		Profile: api.ProfilesPost{Name: "default", ProfilePut: api.ProfilePut{
			Devices: map[string]map[string]string{"root": root, "eth0": nic},
		}},
		ProfileProject: "maas",
	}
	cases := map[string]struct {
		reason string
		host   cloudinit.Host
		want   func(*cloudinit.Setup)
	}{
		"Nobody": {reason: "An LXD that runs already may trust whom it should.", want: func(*cloudinit.Setup) {}},
		"Shared": {
			reason: "A project without profiles of its own has those of LXD's default project.",
			host:   cloudinit.Host{Project: cloudinit.Project{Features: map[string]bool{"profiles": false}}},
			want: func(s *cloudinit.Setup) {
				s.Project.Config, s.ProfileProject = map[string]string{"features.profiles": "false"}, "default"
			},
		},
		"Macvlan": {
			reason: "What VMs are put beside must be there.",
			host:   cloudinit.Host{Networks: map[string]cloudinit.Network{"lan": {Kind: cloudinit.Macvlan, Parent: "eno1"}}},
			want: func(s *cloudinit.Setup) {
				s.Interfaces = []cloudinit.Interface{{Name: "eno1", Kind: cloudinit.Macvlan}}
				s.Profile.Devices["eth0"] = map[string]string{"type": "nic", "name": "eth0", "nictype": "macvlan", "parent": "eno1"}
			},
		},
		"Managed": {
			reason: "LXD makes it.",
			host:   cloudinit.Host{Networks: map[string]cloudinit.Network{"lan": {Kind: cloudinit.Managed, IPv4Address: "10.9.0.1/24"}}},
			want: func(s *cloudinit.Setup) {
				s.Interfaces = nil
				s.Networks = []api.NetworksPost{{Name: "lan", Type: "bridge", NetworkPut: api.NetworkPut{
					Config: map[string]string{"ipv4.address": "10.9.0.1/24", "ipv4.nat": "false", "ipv6.address": "none"},
				}}}
				s.Profile.Devices["eth0"] = map[string]string{"type": "nic", "name": "eth0", "network": "lan"}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := plain
			want.Profile.Devices = map[string]map[string]string{"root": root, "eth0": nic}
			tc.want(&want)
			got, err := tc.host.Setup()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	got, err := cloudinit.Host{TrustedCertificates: []string{string(certificate)}}.Setup()
	if err != nil || len(got.Certificates) != 1 || len(got.Certificates[0].Fingerprint) != 64 || got.Certificates[0].PEM == "" {
		t.Errorf("got %+v, %v", got.Certificates, err)
	}
	_, err = cloudinit.Host{ListenPort: -1}.Setup()
	if fields := cloudinit.FieldErrors(err); len(fields) != 1 || fields[0].Field.String() != "listen_port" {
		t.Errorf("got %v", err)
	}
	if _, err = (cloudinit.Host{TrustedCertificates: []string{"x"}}).Setup(); err == nil {
		t.Error("what is no certificate passes")
	}
}

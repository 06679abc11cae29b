package cloudinit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestValidateTakes: every host with a golden file is valid, and so is a host with only a
// certificate.
func TestValidateTakes(t *testing.T) {
	t.Parallel()
	for name, h := range goldenHosts(t) {
		if err := h.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestValidateRefuses breaks one setting at a time: the only error is about that field, and
// has a way out.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	type (
		host     = cloudinit.Host
		pool     = cloudinit.StoragePool
		pools    = map[string]cloudinit.StoragePool
		network  = cloudinit.Network
		networks = map[string]cloudinit.Network
	)
	oldCertificate, _ := keyPair(t, testTime().AddDate(0, 0, -1))
	certificate, key := keyPair(t, testTime().AddDate(1, 0, 0))
	onePool := func(p pool) host { return host{StoragePools: pools{"default": p}} }
	oneNetwork := func(n network) host { return host{Networks: networks{"net0": n}} }
	trusting := func(all ...string) host { return host{TrustedCertificates: all} }
	project := func(p cloudinit.Project) host { return host{Project: p} }
	profile := func(p cloudinit.Profile) host { return host{Profile: p} }
	cases := map[string]struct {
		reason string
		host   host
		field  string
	}{
		"ChannelWord":        {"A risk alone is ambiguous.", host{Channel: "stable"}, "channel"},
		"ChannelTrack":       {"So is a track.", host{Channel: "5.21"}, "channel"},
		"ChannelRisk":        {"There is no such risk.", host{Channel: "5.21/stabel"}, "channel"},
		"ChannelShell":       {"Nothing gets into the script.", host{Channel: "5.21/stable;reboot"}, "channel"},
		"ListenName":         {"LXD wants an address.", host{ListenAddress: "node01"}, "listen_address"},
		"ListenPorted":       {"The port is another field.", host{ListenAddress: "10.0.0.5:8443"}, "listen_address"},
		"ListenLoop":         {"Nobody else could reach it.", host{ListenAddress: "127.0.0.1"}, "listen_address"},
		"Port":               {"No such port.", host{ListenPort: 70000}, "listen_port"},
		"PoolName":           {"A name for LXD.", host{StoragePools: pools{"my pool": {}}}, "storage_pools"},
		"Driver":             {"No such driver.", onePool(pool{Driver: "zpool"}), "storage_pools.default.driver"},
		"Cephfs":             {"A driver of LXD on which VMs cannot be.", onePool(pool{Driver: "cephfs"}), "storage_pools.default.driver"},
		"SizeSmall":          {"Too small for VMs.", onePool(pool{SizeGB: 4}), "storage_pools.default.size_gb"},
		"SizeNegative":       {"No size.", onePool(pool{SizeGB: -1}), "storage_pools.default.size_gb"},
		"SizeAndSource":      {"A disk has its own size.", onePool(pool{SizeGB: 50, Source: "/dev/sdb"}), "storage_pools.default.size_gb"},
		"SizeOfDir":          {"A directory has none.", onePool(pool{Driver: cloudinit.Dir, SizeGB: 50}), "storage_pools.default.size_gb"},
		"SourceDir":          {"ZFS takes disks, pools and datasets.", onePool(pool{Source: "/srv/lxd"}), "storage_pools.default.source"},
		"SourceDevice":       {"A directory is no device.", onePool(pool{Driver: cloudinit.Dir, Source: "/dev/sdb"}), "storage_pools.default.source"},
		"SourceWord":         {"Btrfs takes paths.", onePool(pool{Driver: cloudinit.Btrfs, Source: "sdb"}), "storage_pools.default.source"},
		"SourceDataset":      {"No name of a dataset.", onePool(pool{Source: "tank//lxd"}), "storage_pools.default.source"},
		"SourceVG":           {"No name of a volume group.", onePool(pool{Driver: cloudinit.LVM, Source: "vg0/lv"}), "storage_pools.default.source"},
		"SourceUnclean":      {"Out of /dev by a detour.", onePool(pool{Source: "/dev/../srv"}), "storage_pools.default.source"},
		"SourceTwice":        {"Two pools on a disk.", host{StoragePools: pools{"default": {Source: "/dev/sdb"}, "zweit": {Source: "/dev/sdb"}}}, "storage_pools.zweit.source"},
		"Wipe":               {"Nothing to wipe.", onePool(pool{Wipe: true}), "storage_pools.default.wipe"},
		"ChannelTooOld":      {"MAAS refuses it.", host{Channel: "4.0/stable"}, "channel"},
		"WipeOld":            {"LXD 5.0 does not know it.", host{Channel: "5.0/stable", StoragePools: pools{"default": {Source: "/dev/sdb", Wipe: true}}}, "storage_pools.default.wipe"},
		"CephBare":           {"It needs a cluster.", onePool(pool{Driver: cloudinit.Ceph, Ceph: &cloudinit.CephPool{Pool: "lxd"}}), "storage_pools.default.ceph.cluster"},
		"CephNoPool":         {"And a pool.", onePool(pool{Driver: cloudinit.Ceph, Ceph: &cloudinit.CephPool{Cluster: "ceph"}}), "storage_pools.default.ceph.pool"},
		"CephUser":           {"No such user.", onePool(pool{Driver: cloudinit.Ceph, Ceph: &cloudinit.CephPool{Cluster: "ceph", Pool: "lxd", User: "a b"}}), "storage_pools.default.ceph.user"},
		"CephElsewhere":      {"ZFS has no cluster.", onePool(pool{Ceph: &cloudinit.CephPool{}}), "storage_pools.default.ceph"},
		"CephSource":         {"Not on a disk here.", onePool(pool{Driver: cloudinit.Ceph, Source: "/dev/sdb", Ceph: &cloudinit.CephPool{Cluster: "ceph", Pool: "lxd"}}), "storage_pools.default.source"},
		"NetworkName":        {"Linux has 15 characters.", host{Networks: networks{"a-very-long-bridge": {}}}, "networks"},
		"Kind":               {"No such kind.", oneNetwork(network{Kind: "ovn"}), "networks.net0.kind"},
		"BridgeParent":       {"MAAS makes it.", oneNetwork(network{Parent: "eno1"}), "networks.net0.parent"},
		"BridgeAddress":      {"MAAS gives addresses.", oneNetwork(network{IPv4Address: "10.0.0.1/24"}), "networks.net0.ipv4_address"},
		"BridgeNAT":          {"Not of a bridge of MAAS.", oneNetwork(network{NAT: true}), "networks.net0.nat"},
		"MacvlanBare":        {"Beside which NIC?", oneNetwork(network{Kind: cloudinit.Macvlan}), "networks.net0.parent"},
		"MacvlanIPv6":        {"MAAS gives addresses.", oneNetwork(network{Kind: cloudinit.Macvlan, Parent: "eno1", IPv6Address: "none"}), "networks.net0.ipv6_address"},
		"ManagedBare":        {"LXD's own choice takes 98 s, and fails.", oneNetwork(network{Kind: cloudinit.Managed}), "networks.net0.ipv4_address"},
		"ManagedAuto":        {"The same.", oneNetwork(network{Kind: cloudinit.Managed, IPv4Address: "auto"}), "networks.net0.ipv4_address"},
		"ManagedNet":         {"The address of the net is not one of the bridge.", oneNetwork(network{Kind: cloudinit.Managed, IPv4Address: "10.0.0.0/24"}), "networks.net0.ipv4_address"},
		"ManagedIPv6":        {"The other family.", oneNetwork(network{Kind: cloudinit.Managed, IPv4Address: "10.0.0.1/24", IPv6Address: "10.0.1.1/24"}), "networks.net0.ipv6_address"},
		"ManagedNone":        {"No address at all.", oneNetwork(network{Kind: cloudinit.Managed, IPv4Address: "none"}), "networks.net0.ipv4_address"},
		"ManagedParent":      {"LXD makes it.", oneNetwork(network{Kind: cloudinit.Managed, IPv4Address: "10.0.0.1/24", Parent: "eno1"}), "networks.net0.parent"},
		"ManagedUnseen":      {"The project would not see it.", host{Networks: networks{"net0": {Kind: cloudinit.Managed, IPv4Address: "10.0.0.1/24"}}, Project: cloudinit.Project{Features: map[string]bool{"networks": true}}}, "networks.net0.kind"},
		"ProjectName":        {"No name for LXD.", project(cloudinit.Project{Name: "a/b"}), "project.name"},
		"ProjectFixed":       {"LXD refuses it.", project(cloudinit.Project{Name: "default", Features: map[string]bool{"images": false}}), "project.features"},
		"Feature":            {"No such feature.", project(cloudinit.Project{Features: map[string]bool{"image": true}}), "project.features.image"},
		"Limit":              {"No such limit.", project(cloudinit.Project{Limits: map[string]string{"cores": "4"}}), "project.limits.cores"},
		"LimitEmpty":         {"A limit of nothing.", project(cloudinit.Project{Limits: map[string]string{"cpu": ""}}), "project.limits.cpu"},
		"ProfileName":        {"No name for LXD.", profile(cloudinit.Profile{Name: "-"}), "profile.name"},
		"ProfilePool":        {"LXD would take it, and no instance could be made.", profile(cloudinit.Profile{Pool: "fast"}), "profile.pool"},
		"ProfileNIC":         {"The same for its bridge.", profile(cloudinit.Profile{Network: "br1"}), "profile.network"},
		"ProfileWhich":       {"Several pools, none named default.", host{StoragePools: pools{"a": {}, "b": {}}}, "profile.pool"},
		"ProfileUserData":    {"It would be in the host's user-data, and in state.", profile(cloudinit.Profile{Config: map[string]string{"user.user-data": "c"}}), "profile.config"},
		"ProfileVendorData":  {"The same.", profile(cloudinit.Profile{Config: map[string]string{"user.vendor-data": "c"}}), "profile.config"},
		"ProfileNetworkData": {"The same.", profile(cloudinit.Profile{Config: map[string]string{"user.network-config": "c"}}), "profile.config"},
		"ProfileMetaData":    {"The same.", profile(cloudinit.Profile{Config: map[string]string{"user.meta-data": "c"}}), "profile.config"},
		"ProfileCloudInit":   {"The newer names of the same.", profile(cloudinit.Profile{Config: map[string]string{"cloud-init.user-data": "c"}}), "profile.config"},
		"ProfileSSHKeys":     {"And what is beside them.", profile(cloudinit.Profile{Config: map[string]string{"cloud-init.ssh-keys.me": "c"}}), "profile.config"},
		"ProfileConfig":      {"No key of LXD.", profile(cloudinit.Profile{Config: map[string]string{"a b": "c"}}), "profile.config"},
		"NoTrust":            {"Nobody could use the host.", host{TrustedCertificates: []string{}}, "trusted_certificates"},
		"PrivateKey":         {"A key never reaches a host.", trusting(key), "trusted_certificates[0]"},
		"KeyBeside":          {"Not beside a certificate, either.", trusting(certificate + key), "trusted_certificates[0]"},
		"Chain":              {"One each.", trusting(certificate + certificate), "trusted_certificates[0]"},
		"NoPEM":              {"No certificate at all.", trusting("hello"), "trusted_certificates[0]"},
		"NoX509":             {"PEM of nothing.", trusting("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "trusted_certificates[0]"},
		"PublicKey":          {"PEM of something else.", trusting("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), "trusted_certificates[0]"},
		"Expired":            {"LXD would refuse its holder.", trusting(certificate, oldCertificate), "trusted_certificates[1]"},
		"Twice":              {"The same one.", trusting(certificate, certificate), "trusted_certificates[1]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := tc.host
			h.Now = testTime
			if h.TrustedCertificates == nil {
				h = withTestCertificate(t, h)
			}
			err := h.Validate()
			found := cloudinit.FieldErrors(err)
			if len(found) != 1 || found[0].Field.String() != tc.field {
				t.Fatalf("%s\ngot %v, want one error of %s", tc.reason, err, tc.field)
			}
			if found[0].Message == "" || found[0].Hint == "" {
				t.Errorf("%s\nno message or no way out: %v", tc.reason, err)
			}
			if _, rendered := h.Render(); rendered == nil {
				t.Errorf("%s\nit was rendered", tc.reason)
			}
		})
	}
}

// TestErrorsHoldNoKey: a refused key is not printed.
func TestErrorsHoldNoKey(t *testing.T) {
	t.Parallel()
	_, key := keyPair(t, testTime().AddDate(1, 0, 0))
	secret := strings.Split(key, "\n")[1]
	err := cloudinit.Host{TrustedCertificates: []string{key}, Now: testTime}.Validate()
	if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, cloudinit.FieldErrors(err)), secret) {
		t.Errorf("the error is missing, or prints the key: %v", err)
	}
}

// TestValidateSaysAll: each problem is a separate error, in the order of the fields.
func TestValidateSaysAll(t *testing.T) {
	t.Parallel()
	err := cloudinit.Host{
		Channel:      "latest",
		StoragePools: map[string]cloudinit.StoragePool{"b": {Driver: "x"}, "a": {SizeGB: 1}},
		Profile:      cloudinit.Profile{Pool: "a"},
	}.Validate()
	var fields []string
	for _, each := range cloudinit.FieldErrors(fmt.Errorf("cannot render: %w", errors.Join(err))) {
		fields = append(fields, each.Field.String())
	}
	const want = "channel storage_pools.a.size_gb storage_pools.b.driver trusted_certificates"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package setup

import (
	"errors"
	"slices"
	"strings"
	"testing"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// TestApplyRefuses: an object with other settings is not changed, and neither is anything
// else.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	runOnEachLXD(t, func(t *testing.T, f freshLXD) {
		conn := f.connect(t)
		for name, tc := range refusalCases(t, f, conn) {
			t.Run(name, func(t *testing.T) { // one after the other: they share the LXD
				if tc.prepare != nil {
					if err := tc.prepare(); err != nil {
						t.Fatal(err)
					}
				}
				before := readState(t, conn)
				report, err := Apply(t.Context(), conn, f.newHost(t, tc.want), Options{})
				refusal := (*engine.Refusal)(nil)
				if !errors.As(err, &refusal) || !strings.Contains(refusal.Message, tc.says) || refusal.Hint == "" {
					t.Errorf("%s\nwant a refusal with %q and a way out, got %v\n%+v", tc.reason, tc.says, err, report.Steps)
				}
				if report.ChangedCount() != 0 {
					t.Errorf("something was done: %v", verdictsByObject(report))
				}
				if diff := cmp.Diff(before, readState(t, conn), ignoreOrder); diff != "" {
					t.Errorf("-before +after:\n%s", diff)
				}
			})
		}
	})
}

// driversOf returns the storage drivers that an LXD can use. btrfs is one of them only if
// its tools are installed.
func driversOf(t *testing.T, conn client.InstanceServer) []string {
	t.Helper()
	server, _, err := conn.GetServer()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range server.Environment.StorageSupportedDrivers {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names
}

type refusalCase struct {
	reason  string
	prepare func() error
	want    func(h *cloudinit.Host)
	says    string
}

// withProjectName uses another project, so that the cases do not affect each other.
func withProjectName(name string) func(*cloudinit.Host) {
	return func(h *cloudinit.Host) { h.Project.Name = name }
}

// withPool adds a pool.
func withPool(name string, pool cloudinit.StoragePool) func(*cloudinit.Host) {
	return func(h *cloudinit.Host) { h.StoragePools = map[string]cloudinit.StoragePool{name: pool} }
}

// withNetwork adds a network.
func withNetwork(name string, network cloudinit.Network) func(*cloudinit.Host) {
	return func(h *cloudinit.Host) { h.Networks = map[string]cloudinit.Network{name: network} }
}

func refusalCases(t *testing.T, f freshLXD, conn client.InstanceServer) map[string]refusalCase {
	t.Helper()
	metrics := makeKey(t)
	cases := map[string]refusalCase{
		"PoolDriver": {
			reason: "LXD has no way to change the driver of a pool.",
			prepare: func() error {
				return conn.CreateStoragePool(api.StoragePoolsPost{Name: "taken", Driver: "dir"})
			},
			want: withPool("taken", cloudinit.StoragePool{Driver: cloudinit.Btrfs}),
			says: "storage pool taken: it exists with the driver dir instead of btrfs",
		},
		"PoolSource": {
			reason: "A pool on something else is not the one that is meant.",
			prepare: func() error {
				return conn.CreateStoragePool(api.StoragePoolsPost{Name: "elsewhere", Driver: "dir"})
			},
			want: withPool("elsewhere", cloudinit.StoragePool{Driver: cloudinit.Dir, Source: "/srv/lxd"}),
			says: "instead of /srv/lxd",
		},
		"NoBridge": {
			reason: "LXD takes a profile whose bridge does not exist, and fails on later.",
			want:   withNetwork("nobr0", cloudinit.Network{}),
			says:   "interface nobr0: the machine has no interface of that name",
		},
		"NoParent": {
			reason: "The same is true of a NIC.",
			want:   withNetwork("lan", cloudinit.Network{Kind: cloudinit.Macvlan, Parent: "noeth0"}),
			says:   "interface noeth0: the machine has no interface of that name",
		},
		"NetworkIsInterface": {
			reason: "LXD cannot make a network of the name of an interface.",
			want:   withNetwork(f.bridges[1], cloudinit.Network{Kind: cloudinit.Managed, IPv4Address: "10.99.1.1/24"}),
			says:   "which is not LXD's",
		},
		"ProjectFeatures": {
			reason: "Features decide where everything of a project goes.",
			prepare: func() error {
				return conn.CreateProject(api.ProjectsPost{Name: "sharing", ProjectPut: api.ProjectPut{Config: map[string]string{"features.profiles": "false"}}})
			},
			want: withProjectName("sharing"),
			says: "project sharing: it exists with features.profiles",
		},
		"ProfileOfOthers": {
			reason:  "A profile with other devices was written by somebody.",
			prepare: func() error { return f.makeProjectWithProfile(conn, "written", f.bridges[1], "") },
			want:    withProjectName("written"),
			says:    "no instance uses it",
		},
		"ProfileInUse": {
			reason:  "Instances get what changes in their profile at once.",
			prepare: func() error { return f.makeProjectWithProfile(conn, "running", f.bridges[1], "vm1") },
			want:    withProjectName("running"),
			says:    "one instance uses it",
		},
		"EmptyProfileInUse": {
			reason:  "So they do of a profile that has nothing yet.",
			prepare: func() error { return f.makeProjectWithProfile(conn, "bare", "", "vm1") },
			want:    withProjectName("bare"),
			says:    "would reach running instances: one instance uses it",
		},
		"CertificateOfMetrics": {
			reason: "A certificate of another type cannot be changed into a client's.",
			prepare: func() error {
				a := applier{}
				post := a.certificateRequest(cloudinit.PublicCertificate{Fingerprint: metrics.Fingerprint, PEM: metrics.Certificate})
				post.Type, post.Restricted, post.Projects = "metrics", false, nil
				return conn.CreateCertificate(post)
			},
			want: func(h *cloudinit.Host) { h.TrustedCertificates = []string{metrics.Certificate} },
			says: "as a certificate of the type metrics",
		},
	}
	if f.sim == nil {
		cases["DriverMissing"] = refusalCase{
			reason: "What this LXD cannot use is said before anything is made.",
			want:   withPool("zfs", cloudinit.StoragePool{Driver: cloudinit.Ceph, Ceph: &cloudinit.CephPool{Cluster: "ceph", Pool: "lxd"}}),
			says:   "LXD cannot use the driver ceph on this machine; it can use " + strings.Join(driversOf(t, conn), ", "),
		}
		cases["Loopback"] = refusalCase{
			reason: "Not every interface can carry VMs.",
			want:   withNetwork("lo", cloudinit.Network{}),
			says:   "interface lo: it is of the type loopback, not a bridge",
		}
	} else {
		cases["ListensElsewhere"] = refusalCase{
			reason: "Others know LXD where it listens.",
			want:   func(h *cloudinit.Host) { h.ListenPort = 9443 },
			says:   "instead of " + f.address + ":9443",
		}
		delete(cases, "CertificateOfMetrics") // it keeps no types
	}
	return cases
}

// makeProjectWithProfile makes a project with a profile. If a bridge is named, the profile
// has a NIC on it. If an instance is named, it uses the profile.
func (f freshLXD) makeProjectWithProfile(conn client.InstanceServer, project, bridge, instance string) error {
	if err := conn.CreateProject(api.ProjectsPost{Name: project, ProjectPut: api.ProjectPut{Config: map[string]string{}}}); err != nil {
		return err
	}
	in := conn.UseProject(project)
	if bridge != "" {
		put := api.ProfilePut{Devices: map[string]map[string]string{"eth0": {"type": "nic", "nictype": "bridged", "parent": bridge}}}
		if err := in.UpdateProfile("default", put, ""); err != nil {
			return err
		}
	}
	if instance == "" {
		return nil
	}
	if err := conn.CreateStoragePool(api.StoragePoolsPost{Name: project, Driver: "dir"}); err != nil {
		return err
	}
	kind := api.InstanceTypeContainer // a real LXD makes no VMs where there is no KVM
	if f.sim != nil {
		kind = api.InstanceTypeVM // and the simulator nothing else
	}
	op, err := in.CreateInstance(api.InstancesPost{
		Name: instance, Type: kind, Source: api.InstanceSource{Type: "none"},
		InstancePut: api.InstancePut{
			Profiles: []string{"default"},
			Devices:  map[string]map[string]string{"root": {"type": "disk", "path": "/", "pool": project}},
		},
	})
	if err != nil {
		return err
	}
	return op.Wait()
}

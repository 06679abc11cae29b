package acctest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	lxdclient "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// connectLXDAsAdministrator connects to the LXD of a machine with a key that no
// project restricts. Other clients do not see the configuration of pools.
func (x *metalTarget) connectLXDAsAdministrator(t *testing.T, name string) lxdclient.InstanceServer {
	t.Helper()
	key, err := fleetkey.New(time.Now())
	if err == nil {
		err = x.simulatorOrSkip().TrustCertificate(name, key.Certificate)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := &lxdclient.ConnectionArgs{TLSClientCert: key.Certificate, TLSClientKey: key.Key, InsecureSkipVerify: true}
	if !isLXDColumn() {
		args.TransportWrapper = func(transport *http.Transport) lxdclient.HTTPTransporter {
			return x.simulatorOrSkip().LXDTransport(transport)
		}
	}
	s, err := lxdclient.ConnectLXD("https://"+x.findLXD(t, name).Address, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Disconnect)
	return s
}

// readLXDSetup is what the LXD of node1 holds of its setup, by object.
func (x *metalTarget) readLXDSetup(t *testing.T, pools, networks []string) map[string]any {
	t.Helper()
	s := x.connectLXDAsAdministrator(t, "node1")
	all := map[string]any{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	project, _, err := s.GetProject("maas")
	must(err)
	all["project"] = project.Config
	profile, _, err := s.UseProject("maas").GetProfile("default")
	must(err)
	all["profile"] = map[string]any{"config": profile.Config, "devices": profile.Devices}
	for _, name := range pools {
		pool, _, err := s.GetStoragePool(name)
		must(err)
		delete(pool.Config, "source") // LXD's own file
		all["pool "+name] = map[string]any{"driver": pool.Driver, "config": pool.Config}
	}
	for _, name := range networks {
		network, _, err := s.GetNetwork(name)
		must(err)
		all["network "+name] = map[string]any{"type": network.Type, "managed": network.Managed, "config": network.Config}
	}
	return all
}

// wantReplacedBy checks that each of these edits of the configuration replaces
// the host.
func (w workspace) wantReplacedBy(t *testing.T, config string, edits map[string]string) {
	t.Helper()
	for old, replacement := range edits {
		edited := strings.Replace(config, old, replacement, 1)
		if edited == config {
			t.Fatalf("there is no %s in:\n%s", old, config)
		}
		w.configure(t, edited)
		if got := joinActions(w.planActionsOn(t, hostAddress)); got != "delete,create" {
			t.Errorf("%s instead of %s is %s, and not a replacement", replacement, old, got)
		}
	}
}

// TestAccWorkflowHostLXD sets every part of LXD's setup, and reads it in LXD. A
// change of a part replaces the host. Without the lines the host stays.
func TestAccWorkflowHostLXD(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	address := x.addressInLAN(t, 30)
	network := fmt.Sprintf(`network = { bridges = { br0 = { parent = "eth0", links = [{ mode = "static", subnet = "lan", ip = %q }] } } }`, address)
	config := x.config(hostOnNode1(network, fmt.Sprintf(`lxd = {
    listen_address   = %q
    listen_port      = 9443
    project_limits   = { cpu = "16", memory = "32GiB" }
    project_features = { images = false }
    storage_pools    = { default = { driver = "dir" }, bulk = { driver = "btrfs", size_gb = 20 } }
    networks = {
      br0  = { kind = "bridge" }
      nat0 = { kind = "managed", ipv4_address = "10.10.0.1/24", ipv6_address = "fd42:10::1/64", nat = true }
      side = { kind = "macvlan", parent = "eth1" }
    }
    profile = { config = { "limits.cpu" = "2" }, network = "nat0", pool = "bulk" }
  }`, address)))
	w := newWorkspace(t, config)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := x.findLXD(t, "node1").Address; got != address+":9443" {
		t.Errorf("the LXD listens at %s, not at %s:9443", got, address)
	}
	want := map[string]any{
		"project": map[string]string{
			"features.images": "false", "features.profiles": "true", "features.storage.volumes": "true", "features.storage.buckets": "true",
			"limits.cpu": "16", "limits.memory": "32GiB",
		},
		"profile": map[string]any{
			"config": map[string]string{"limits.cpu": "2"},
			"devices": map[string]map[string]string{
				"root": {"type": "disk", "path": "/", "pool": "bulk"}, "eth0": {"type": "nic", "name": "eth0", "network": "nat0"},
			},
		},
		"pool bulk": map[string]any{"driver": "btrfs", "config": map[string]string{"size": "20GB"}},
		"network nat0": map[string]any{"type": "bridge", "managed": true, "config": map[string]string{
			"ipv4.address": "10.10.0.1/24", "ipv4.nat": "true", "ipv6.address": "fd42:10::1/64", "ipv6.nat": "true",
		}},
	}
	if diff := cmp.Diff(want, x.readLXDSetup(t, []string{"bulk"}, []string{"nat0"})); diff != "" {
		t.Errorf("the setup in LXD (-want +got):\n%s", diff)
	}
	w.wantReplacedBy(t, config, map[string]string{
		"listen_port      = 9443": "listen_port = 9444", `cpu = "16"`: `cpu = "8"`, "images = false": "images = true", "nat = true": "nat = false",
		"10.10.0.1": "10.11.0.1", "fd42:10::1": "fd42:11::1", `"limits.cpu" = "2"`: `"limits.cpu" = "3"`, `network = "nat0"`: `network = "br0"`, `pool = "bulk"`: `pool = "default"`,
	})
	w.configure(t, x.config(hostOnNode1(network)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if n, counted := x.countDeployments(); counted && n != 1 {
		t.Errorf("it was deployed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowHostProject limits a host's project, and gives it a feature and
// a profile. A destroy removes them with the host.
func TestAccWorkflowHostProject(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	config := x.config(hostOnNode1(`lxd = {
    project_limits   = { instances = "5" }
    project_features = { images = false }
    storage_pools    = { default = { driver = "dir" }, bulk = { driver = "dir" } }
    profile          = { config = { "limits.cpu" = "2" }, network = "br0", pool = "bulk" }
  }`))
	w := newWorkspace(t, config)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	s := x.connectLXDAsAdministrator(t, "node1")
	project, _, err := s.GetProject("maas")
	if err != nil {
		t.Fatal(err)
	}
	profile, _, err := s.UseProject("maas").GetProfile("default")
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]string{
		"limits.instances of the project":  {"5", project.Config["limits.instances"]},
		"features.images of the project":   {"false", project.Config["features.images"]},
		"features.profiles of the project": {"true", project.Config["features.profiles"]},
		"limits.cpu of the profile":        {"2", profile.Config["limits.cpu"]},
		"the pool of the profile":          {"bulk", profile.Devices["root"]["pool"]},
		"the network of the profile":       {"br0", profile.Devices["eth0"]["parent"]},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, not %q", what, pair[1], pair[0])
		}
	}
	w.wantReplacedBy(t, config, map[string]string{`instances = "5"`: `instances = "6"`, "images = false": "images = true", `"limits.cpu" = "2"`: `"limits.cpu" = "3"`})
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowHostMacvlan makes the NIC of instances a macvlan beside a NIC
// of the machine.
func TestAccWorkflowHostMacvlan(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	w := newWorkspace(t, x.config(hostOnNode1(`lxd = {
    networks = { br0 = {}, side = { kind = "macvlan", parent = "eth1" } }
    profile  = { network = "side" }
  }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	profile, _, err := x.connectLXDAsAdministrator(t, "node1").UseProject("maas").GetProfile("default")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"type": "nic", "name": "eth0", "nictype": "macvlan", "parent": "eth1"}, profile.Devices["eth0"]); diff != "" {
		t.Errorf("the NIC of instances (-want +got):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowHostPools gives LXD a whole disk, which it overwrites, and a
// pool on Ceph. A change replaces the host. Without the lines the host stays.
func TestAccWorkflowHostPools(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondDisk)
	config := x.config(hostOnNode1(`lxd = { storage_pools = {
    default = { driver = "dir" }
    disk    = { driver = "zfs", source = "/dev/sdb", wipe = true }
    far     = { driver = "ceph", ceph = { cluster = "site", pool = "vms", user = "lxd" } }
  } }`))
	w := newWorkspace(t, config)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	s := x.connectLXDAsAdministrator(t, "node1")
	for name, want := range map[string]api.StoragePool{
		"disk": {Driver: "zfs", Config: map[string]string{"source": "/dev/sdb", "source.wipe": "true"}},
		"far":  {Driver: "ceph", Config: map[string]string{"source": "vms", "ceph.cluster_name": "site", "ceph.user.name": "lxd"}},
	} {
		got, _, err := s.GetStoragePool(name)
		if err != nil {
			t.Fatal(err)
		}
		delete(got.Config, "size") // as LXD sees it
		if diff := cmp.Diff(want.Config, got.Config); diff != "" || got.Driver != want.Driver {
			t.Errorf("pool %s is on %s (-want +got):\n%s", name, got.Driver, diff)
		}
	}
	w.wantReplacedBy(t, config, map[string]string{
		"wipe = true": "wipe = false", `cluster = "site"`: `cluster = "other"`, `pool = "vms"`: `pool = "vms2"`, `, user = "lxd"`: "",
	})
	w.configure(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

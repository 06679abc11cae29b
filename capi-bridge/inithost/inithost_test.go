package inithost_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/capi-bridge/inithost"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd/lxdtest"
)

// node is a node whose LXD nobody has set up, with the settings that fit it.
type node struct {
	env  map[string]string
	sim  *sim.Sim        // nil for a real one
	real *lxdtest.Server // nil for a simulated one
}

// nodes are the kinds of nodes.
var nodes = map[string]func(t *testing.T) node{"Real": realNode, "Simulated": simulatedNode}

func realNode(t *testing.T) node {
	t.Helper()
	s := lxdtest.StartForTest(t, "br0")
	return node{real: s, env: map[string]string{
		"NODE_NAME": "node1", "LXD_SOCKET": s.Socket, "STORAGE_BACKEND": "dir", "TRUSTED_CERTIFICATE": writeCertificateFile(t),
	}}
}

func simulatedNode(t *testing.T) node {
	t.Helper()
	admin := newKeyPair(t)
	world, err := sim.New(sim.Model{
		Subnets: []sim.SubnetModel{{CIDR: "10.77.0.0/24"}},
		Hosts:   []sim.HostModel{{Name: "node1", Cores: 8, MemoryMiB: 16384, Unregistered: true, TrustedCertificates: []string{admin.Certificate}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(world.Close)
	address := world.LXDs()[0].Address
	cert, err := tls.X509KeyPair([]byte(admin.Certificate), []byte(admin.Key))
	if err != nil {
		t.Fatal(err)
	}
	transport := world.LXDTransport(&http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true, // of the same process
	}})
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return node{sim: world, env: map[string]string{
		"NODE_NAME": "node1", "LXD_SOCKET": lxdtest.ServeSocket(t, address, transport), "STORAGE_BACKEND": "dir", "STORAGE_POOL": "vms",
		"NETWORK_BRIDGE": "maasbr0", "LISTEN_ADDRESS": host, "TRUSTED_CERTIFICATE": writeCertificateFile(t),
	}}
}

func newKeyPair(t *testing.T) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// writeCertificateFile is the path of a certificate.
func writeCertificateFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.crt")
	if err := os.WriteFile(path, []byte(newKeyPair(t).Certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runInitHost runs the command with the node's environment, and returns what it said
// and the status that it ends with.
func (n node) runInitHost(ctx context.Context, change map[string]string, args ...string) (said string, status int) {
	env := maps.Clone(n.env)
	maps.Copy(env, change)
	var out bytes.Buffer
	err := inithost.Run(ctx, setting.Program{
		Name: "capi-bridge init-host", Args: args, Getenv: func(key string) string { return env[key] }, Stdout: &out, Stderr: &out, Version: "test",
	})
	status = setting.ExitCode(err, &out)
	return out.String(), status
}

// wantWords fails unless the words are in the text.
func wantWords(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("want %q in:\n%s", word, said)
		}
	}
}

// TestInitHost looks, sets up, and finds nothing to do.
func TestInitHost(t *testing.T) {
	t.Parallel()
	for name, start := range nodes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t)
			said, status := n.runInitHost(t.Context(), nil, "--dry-run")
			wantWords(t, said, "would make   storage pool", "would make   project maas: features.profiles=true", "would make   certificate", "did nothing")
			if status != 0 {
				t.Errorf("status %d", status)
			}
			said, status = n.runInitHost(t.Context(), map[string]string{"MAAS_API_KEY": "a:b:secret"})
			wantWords(t, said, "node1: LXD ", "kept         interface", "made         storage pool", " profile default of project maas: eth0 on", "node1: done; ", "MAAS_API_KEY is not used")
			if status != 0 || strings.Contains(said, "secret") {
				t.Errorf("status %d:\n%s", status, said)
			}
			said, status = n.runInitHost(t.Context(), nil)
			wantWords(t, said, "node1: nothing to do")
			if status != 0 || strings.Contains(said, "made  ") {
				t.Errorf("status %d:\n%s", status, said)
			}
		})
	}
}

// TestInitHostRefuses names what is in the way, does nothing, and ends with 3.
func TestInitHostRefuses(t *testing.T) {
	t.Parallel()
	n := simulatedNode(t)
	before := n.sim.LXDs()[0]
	said, status := n.runInitHost(t.Context(), nil, "--storage-pool", "default", "--network-bridge", "nobr")
	wantWords(t, said, "refused      interface nobr: the machine has no interface of that name", "Make it first",
		"refused      storage pool default: it exists with the driver zfs instead of dir", "not made     project maas", "node1: refused; nothing was changed")
	if status != setting.CodeRefused {
		t.Errorf("status %d", status)
	}
	if after := n.sim.LXDs()[0]; len(after.Projects) != len(before.Projects) || len(after.Trusted) != len(before.Trusted) {
		t.Errorf("it has changed: %+v", after)
	}
}

// TestInitHostGoesOn finishes what was cut off.
func TestInitHostGoesOn(t *testing.T) {
	t.Parallel()
	n := simulatedNode(t)
	id := n.sim.AddFault(sim.Fault{Method: "POST", Path: "lxd/node1/1.0/certificates", Kind: sim.FaultStatus, Status: 500, Body: "disk full"})
	said, status := n.runInitHost(t.Context(), nil)
	wantWords(t, said, "made         project maas", "not made     certificate", "disk full", "not finished; 3 made or changed, run it again")
	if status != setting.CodeFailed {
		t.Errorf("status %d:\n%s", status, said)
	}
	n.sim.RemoveFault(id)
	said, status = n.runInitHost(t.Context(), nil)
	wantWords(t, said, "kept         project maas", "made         certificate", "done; 1 made or changed")
	if status != 0 {
		t.Errorf("status %d:\n%s", status, said)
	}
}

// TestInitHostStays looks again and again until it is told to end, and is quiet
// about what has not changed.
func TestInitHostStays(t *testing.T) {
	t.Parallel()
	n := simulatedNode(t)
	if said, status := n.runInitHost(t.Context(), nil); status != 0 {
		t.Fatal(said)
	}
	n.sim.ResetJournal()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		for n.sim.Journal().LXD.Count("GET 1.0/projects/{name}") < 3 && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
	}()
	said, status := n.runInitHost(ctx, map[string]string{"INTERVAL": "10ms"})
	if status != 0 || strings.Count(said, "nothing to do") != 1 || n.sim.Journal().LXD.Count("GET 1.0/projects/{name}") < 3 {
		t.Errorf("status %d:\n%s", status, said)
	}
}

// TestInitHostBadSettings: one clear sentence each, by the name that was used.
func TestInitHostBadSettings(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		env    map[string]string
		args   []string
		says   []string
	}{
		"NoCertificate":  {reason: "A host that trusts nobody is of no use.", env: map[string]string{"TRUSTED_CERTIFICATE": ""}, says: []string{"--trusted-certificate: it is missing"}},
		"PrivateKey":     {reason: "A key must not reach a node, nor a log.", env: map[string]string{"TRUSTED_CERTIFICATE": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"}, says: []string{"--trusted-certificate: this is, or contains, a private key"}},
		"NoFile":         {reason: "The path is not repeated: it may be a key.", env: map[string]string{"TRUSTED_CERTIFICATE": "c2VjcmV0"}, says: []string{"TRUSTED_CERTIFICATE: it is neither PEM text nor the path of a file"}},
		"Size":           {reason: "Sizes are numbers of GB.", env: map[string]string{"STORAGE_SIZE": "50GB"}, says: []string{`STORAGE_SIZE: "50GB" is not a whole number`, "in GB of 10⁹ bytes"}},
		"SizeOfDir":      {reason: "A folder has no size.", args: []string{"--storage-size", "50"}, says: []string{"--storage-size: a pool of the driver dir has no size of its own", "Leave it out."}},
		"Small":          {reason: "A VM does not fit.", args: []string{"--storage-backend=zfs", "--storage-size=1"}, says: []string{"--storage-size: 1 GB is too small"}},
		"Backend":        {reason: "No such driver.", env: map[string]string{"STORAGE_BACKEND": "xfs"}, says: []string{"--storage-backend: there is no storage driver"}},
		"Ceph":           {reason: "It takes a cluster.", env: map[string]string{"STORAGE_BACKEND": "ceph"}, says: []string{"--storage-backend: a ceph pool", "lxc storage create"}},
		"Bridge":         {reason: "Linux has no such name.", args: []string{"--network-bridge", "a b"}, says: []string{"--network-bridge: "}},
		"NIC":            {reason: "There are two ways.", args: []string{"--nic-type", "sriov"}, says: []string{`--nic-type: there is no NIC type "sriov"`}},
		"ParentOfBridge": {reason: "It has none.", args: []string{"--nic-parent", "eno1"}, says: []string{"--nic-parent: only macvlan has it"}},
		"NoParent":       {reason: "A macvlan needs one.", args: []string{"--nic-type", "macvlan"}, says: []string{"--nic-parent: "}},
		"Listen":         {reason: "MAAS could not reach it.", args: []string{"--listen-address", "127.0.0.1"}, says: []string{"--listen-address: MAAS cannot reach LXD at 127.0.0.1"}},
		"Project":        {reason: "LXD has no such name.", args: []string{"--project", "a/b"}, says: []string{"--project: "}},
		"Two":            {reason: "All of it is said at once.", args: []string{"--project", "a/b", "--listen-port", "0", "--listen-port", "99999"}, says: []string{"--project: ", "--listen-port: 99999 is not a port"}},
		"Flag":           {reason: "A slip of the pen.", args: []string{"--storage-sise", "5"}, says: []string{"storage-sise", "capi-bridge init-host -h lists the flags"}},
		"Argument":       {reason: "Nothing else is taken.", args: []string{"node1"}, says: []string{`"node1" is not a flag`}},
		"DryRun":         {reason: "A switch is true or false.", env: map[string]string{"DRY_RUN": "maybe"}, says: []string{`DRY_RUN: "maybe" is neither true nor false`}},
		"Interval":       {reason: "A time has a unit.", args: []string{"--interval", "10"}, says: []string{`--interval: "10" is not a time such as 30s`}},
	}
	n := node{env: map[string]string{"LXD_SOCKET": "/nonexistent", "STORAGE_BACKEND": "dir", "TRUSTED_CERTIFICATE": writeCertificateFile(t)}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, status := n.runInitHost(t.Context(), tc.env, tc.args...)
			if status != setting.CodeUsage || strings.Contains(said, "c2VjcmV0") {
				t.Errorf("%s\nstatus %d:\n%s", tc.reason, status, said)
			}
			wantWords(t, said, tc.says...)
		})
	}
	said, status := n.runInitHost(t.Context(), nil)
	wantWords(t, said, "there is no LXD at /nonexistent", "snap install lxd")
	if status != setting.CodeFailed {
		t.Errorf("no LXD: status %d", status)
	}
	said, status = n.runInitHost(t.Context(), nil, "-h")
	wantWords(t, said, "--storage-backend, STORAGE_BACKEND", "(default zfs)", "installs nothing")
	if status != 0 {
		t.Errorf("help: status %d", status)
	}
}

// TestInitHostMacvlan puts VMs beside a NIC of the node.
func TestInitHostMacvlan(t *testing.T) {
	t.Parallel()
	n := simulatedNode(t)
	said, status := n.runInitHost(t.Context(), nil, "--nic-type", "macvlan", "--nic-parent", "eth0")
	wantWords(t, said, "kept         interface eth0: a physical of the machine", "eth0 on eth0, root on vms")
	if status != 0 {
		t.Errorf("status %d:\n%s", status, said)
	}
}

// TestInitHostTwoCertificates: a file may hold that of the next pair, too.
func TestInitHostTwoCertificates(t *testing.T) {
	t.Parallel()
	n := simulatedNode(t)
	said, status := n.runInitHost(t.Context(), map[string]string{"TRUSTED_CERTIFICATE": newKeyPair(t).Certificate + newKeyPair(t).Certificate})
	if status != 0 || strings.Count(said, "made         certificate") != 2 {
		t.Errorf("status %d:\n%s", status, said)
	}
}

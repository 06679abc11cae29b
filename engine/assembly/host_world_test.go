package assembly_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// fleetPair is the key pair of a fleet, operatorPair that of another one.
var (
	fleetPair    = sync.OnceValue(newPair)
	operatorPair = sync.OnceValue(newPair)
)

func newPair() engine.Credentials {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return engine.Credentials{
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		Key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
}

// bootScript makes an LXD as an operator would, with a plain script.
func bootScript(h engine.HostSpec) []byte {
	return fmt.Appendf(nil, `#!/bin/sh
snap refresh lxd --channel=5.21/stable
lxd init --preseed <<'EOF'
config:
  core.https_address: "[::]:8443"
storage_pools:
- {name: local, driver: dir}
- {name: fast, driver: btrfs, config: {size: 20GiB}}
EOF
lxc project create %[1]s
cat >/run/fleet.crt <<'EOF'
%[2]sEOF
lxc config trust add /run/fleet.crt --restricted --projects %[1]s
`, h.Project, h.Credentials.Certificate)
}

// simProbe asks the simulator's LXDs, as one who reaches them would.
type simProbe struct{ sim *sim.Sim }

// Server implements engine.Probe.
func (n simProbe) Server(_ context.Context, e engine.Endpoint, c engine.Credentials, pinned string) (engine.LXDServer, error) {
	address := strings.TrimPrefix(e.Address, "https://")
	if !strings.Contains(address, ":") {
		address += ":8443"
	}
	lxds := n.sim.LXDs()
	host, _, _ := strings.Cut(address, ":")
	listens := func(l sim.LXD) bool { // at all addresses of its machine
		return l.Address == address || strings.HasSuffix(address, ":8443") && slices.ContainsFunc(n.sim.Machines(), func(m sim.Machine) bool {
			return m.Hostname == l.Name && slices.Contains(m.IPAddresses, host)
		})
	}
	i := slices.IndexFunc(lxds, func(l sim.LXD) bool { return listens(l) && l.Condition == sim.ConditionOK })
	if i < 0 {
		return engine.LXDServer{}, fmt.Errorf("dial tcp %s: connection refused: %w", address, engine.ErrUnavailable)
	}
	shown := engine.Credentials{Certificate: lxds[i].Certificate}.Fingerprint()
	if pinned != "" && pinned != shown {
		return engine.LXDServer{}, &engine.Error{
			Type: engine.HostUnavailable, Message: fmt.Sprintf("%s shows %s, but is known by %s", address, shown, pinned), Hint: "accept it", Err: engine.ErrOtherServer,
		}
	}
	trusted := slices.ContainsFunc(lxds[i].Trusted, func(t sim.TrustedCertificate) bool {
		return strings.TrimSpace(t.Certificate) == strings.TrimSpace(c.Certificate)
	})
	if !trusted {
		return engine.LXDServer{}, fmt.Errorf("not authorized: %w", engine.ErrForbidden)
	}
	server := engine.LXDServer{Version: lxds[i].Version, Fingerprint: shown}
	for _, v := range n.sim.Instances() {
		if v.Host == lxds[i].Name && v.Project == e.Project {
			server.Instances = append(server.Instances, v.Name)
		}
	}
	for _, p := range lxds[i].StoragePools {
		server.StoragePools = append(server.StoragePools, p.Name)
	}
	return server, nil
}

// hostWorld is a MAAS with bare metal to make hosts of, an LXD that it does not
// know, and one that it does.
func hostWorld() sim.Model {
	m := world()
	m.Zones, m.Pools = []string{"az1", "az2"}, []string{"fleet"}
	m.Subnets = append(m.Subnets, sim.SubnetModel{Name: "dark", CIDR: "10.88.0.0/24"})
	m.Hosts[1] = sim.HostModel{
		Name: "known-lxd", Cores: 16, MemoryMiB: 65536, Unregistered: true, Address: "10.200.0.9:8443",
		TrustedCertificates: []string{fleetPair().Certificate},
		StoragePools:        []sim.StoragePoolModel{{Name: "local", SizeGB: 500}, {Name: "fast", SizeGB: 500}},
	}
	m.Machines = []sim.MachineModel{
		{Hostname: "m1", Cores: 8, MemoryMiB: 32768, DiskGB: 500},
		{Hostname: "m2", Cores: 16, MemoryMiB: 65536, DiskGB: 500},
		{Hostname: "run", Cores: 8, MemoryMiB: 32768, DiskGB: 500},
	}
	m.Latency.FirstBoot, m.Latency.Inventory, m.Latency.Refresh = 20*time.Second, 3*time.Second, 500*time.Millisecond
	return m
}

const hostKey = engine.Key("default/hv-1")

var newHostRef = engine.Ref{Key: hostKey}

// metalHost is a host to be made of bare metal.
func metalHost() engine.HostSpec {
	return engine.HostSpec{
		Machine: engine.MachineSpec{Machine: "m1", Deploy: noble()},
		Project: "fleet", Credentials: fleetPair(), Bridge: &engine.BridgeSpec{Name: "br0"},
		Zone: "az1", Pool: "fleet", Tags: []string{"blue"}, CPUOvercommit: 4, MemoryOvercommit: 1.5, DefaultStoragePool: "fast",
		LXD: cloudinit.Host{
			StoragePools: map[string]cloudinit.StoragePool{"local": {Driver: cloudinit.Dir}, "fast": {Driver: cloudinit.Btrfs, SizeGB: 20}},
			Profile:      cloudinit.Profile{Pool: "local"},
		},
	}
}

// serverHost is a host that runs already, and is only registered.
func serverHost() engine.HostSpec {
	return engine.HostSpec{Address: "10.200.0.9", Name: "hv9", Project: "fleet", Credentials: fleetPair(), DefaultStoragePool: "fast"}
}

// adoptedHost is a machine that an operator has made an LXD host of.
func adoptedHost() engine.HostSpec {
	h := metalHost()
	h.Machine, h.Bridge = engine.MachineSpec{Machine: "run", Adopt: true}, nil
	return h
}

// deployByOperator deploys the machine "run" as an operator would, with an LXD.
func (r testMAAS) deployByOperator(t *testing.T) {
	t.Helper()
	data := bootScript(metalHost())
	id := r.machine(t, "run").SystemID
	r.call(t, "POST", "machines/"+id+"/?op=deploy", url.Values{"user_data": {base64Text(data)}, "distro_series": {"noble"}})
	r.sim.Settle()
	r.sim.ResetJournal()
}

func hostRegion(t *testing.T, r testMAAS) testMAAS {
	t.Helper()
	r.probe = simProbe{r.sim}
	r.processTimeout = 2 * time.Hour
	return r
}

// inHosts runs a test in virtual time, with a process that nothing breaks.
func inHosts(t *testing.T, f func(t *testing.T, r testMAAS, p process)) {
	t.Helper()
	inHostsOf(t, hostWorld(), f)
}

func inHostsOf(t *testing.T, m sim.Model, f func(t *testing.T, r testMAAS, p process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := hostRegion(t, inMemoryOf(t, m))
		f(t, r, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
	})
}

func (p process) applyHost(ref engine.Ref, want engine.HostSpec) (engine.Host, error) {
	return engine.WaitUntilDone(p.ctx, p.engine.Hosts.Steps(ref, want))
}

func (p process) deleteHost(ref engine.Ref) error {
	_, err := engine.WaitUntilDone(p.ctx, func(ctx context.Context) (engine.Result[engine.Host], error) {
		return p.engine.Hosts.Delete(ctx, ref)
	})
	return err
}

// record is a VM host as MAAS lists it.
type record struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Tags    []string `json:"tags"`
	Zone    struct {
		Name string `json:"name"`
	} `json:"zone"`
	Pool struct {
		Name string `json:"name"`
	} `json:"pool"`
	CPU    float64 `json:"cpu_over_commit_ratio"`
	Memory float64 `json:"memory_over_commit_ratio"`
	Host   struct {
		SystemID string `json:"system_id"`
	} `json:"host"`
	StoragePools []struct {
		Name    string `json:"name"`
		Default bool   `json:"default"`
	} `json:"storage_pools"`
	Total struct {
		Cores int `json:"cores"`
	} `json:"total"`
}

// records are MAAS's VM hosts but lxd1, which was there before.
func (r testMAAS) records(t *testing.T) (list []record) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.call(t, "GET", "vm-hosts/", nil)), &list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(h record) bool { return h.Name == "lxd1" })
}

func (h record) defaultPool() string {
	for _, p := range h.StoragePools {
		if p.Default {
			return p.Name
		}
	}
	return ""
}

// wantRecord checks that there is one VM host besides lxd1, on the machine, and
// that it does not carry the mark of its birth any more.
func (r testMAAS) wantRecord(t *testing.T, hostname string) record {
	t.Helper()
	list := r.records(t)
	if len(list) != 1 {
		t.Fatalf("want exactly one VM host, got %+v", list)
	}
	if m := r.machine(t, hostname); list[0].Host.SystemID != m.SystemID || m.StatusName != "Deployed" || list[0].Total.Cores == 0 {
		t.Errorf("want a VM host with cores on %s, Deployed, got %+v on %+v", hostname, list[0], m)
	}
	if i := slices.IndexFunc(list[0].Tags, func(tag string) bool { return strings.HasPrefix(tag, "maaslxd-") }); i >= 0 {
		t.Errorf("it carries the tag %s", list[0].Tags[i])
	}
	return list[0]
}

// wantNoRecord checks that no VM host is left but lxd1.
func (r testMAAS) wantNoRecord(t *testing.T) {
	t.Helper()
	if list := r.records(t); len(list) != 0 {
		t.Errorf("want no VM host left, got %+v", list)
	}
}

// wantNoProject checks that no update of a VM host names a project: MAAS
// deletes the VMs of another one.
func (r testMAAS) wantNoProject(t *testing.T) {
	t.Helper()
	for _, c := range r.sim.Journal().Calls {
		if c.Route == "PUT vm-hosts/{id}/" && len(c.Form["project"])+len(c.Query["project"]) > 0 {
			t.Errorf("%s was sent with a project", c.Path)
		}
	}
}

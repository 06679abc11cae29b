package lxd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// composeWorld is a simulated MAAS without VM hosts, with simulated LXDs and a Composer.
type composeWorld struct {
	t        *testing.T
	sim      *sim.Sim
	maas     *maas.Client
	pair     engine.Credentials
	servers  []Server
	composer *Composer
}

// fleetSubnet is the subnet of all VMs.
const fleetSubnet = "10.77.0.0/24"

// newWorld starts a world with hosts. change may alter the model.
func newWorld(t *testing.T, hosts int, change ...func(*sim.Model)) *composeWorld {
	t.Helper()
	w := &composeWorld{t: t, pair: makeKey(t).Credentials}
	m := sim.Model{MAASVersion: sim.VersionGone, LXDListen: sim.LXDListenPorts, Zones: []string{"az1"}}
	for n := range hosts {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("h%d", n+1), Cores: 8, MemoryMiB: 16384, Project: "maas", TrustedCertificates: []string{w.pair.Certificate},
			StoragePools: []sim.StoragePoolModel{{Name: "fast", SizeGB: 100}, {Name: "default", SizeGB: 500}},
		})
	}
	for _, c := range change {
		c(&m)
	}
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w.sim = s
	w.maas, err = maas.New(maas.Config{URL: "http://maas.test:5240/MAAS", APIKey: s.APIKey(), Transport: s.RoundTripper()})
	if err != nil {
		t.Fatal(err)
	}
	for n, l := range s.LXDs() {
		w.servers = append(w.servers, Server{
			MachineID: fmt.Sprintf("host%02d", n+1), Name: l.Name, Zone: "az1", Pool: "default", Tags: []string{"b", "a"},
			Endpoint: engine.Endpoint{Address: l.Listening[0], Project: m.Hosts[n].Project}, Fingerprint: fingerprintOf(t, l.Certificate),
			Bridges: []Bridge{{Name: "maasbr0", Subnets: []engine.Subnet{{CIDR: fleetSubnet, DHCP: true}}}},
		})
	}
	w.composer = w.newComposer()
	return w
}

// newComposer returns the Composer of another process. It has long timeouts, because a busy
// machine may be slow. Only tests with hanging servers shorten them.
func (w *composeWorld) newComposer(change ...func(*ComposerConfig)) *Composer {
	config := ComposerConfig{
		Servers:     func(context.Context) ([]Server, error) { return slices.Clone(w.servers), nil },
		Credentials: func(context.Context) (engine.Credentials, error) { return w.pair, nil },
		Machines:    w.maas.Machines, Enlister: w.maas.Enlister, Timeout: time.Minute, ChangeTimeout: time.Minute,
	}
	for _, c := range change {
		c(&config)
	}
	return NewComposer(config)
}

// newComposition returns a VM with a volume besides its root disk.
func newComposition(name string) engine.Composition {
	return engine.Composition{
		Hostname: name, Cores: 2, MemoryMiB: 2048, Architecture: "amd64/generic",
		Disks:      []engine.Disk{{Name: "root", SizeGB: 8}, {Name: "data", SizeGB: 5, Pool: "fast"}},
		Interfaces: []engine.NIC{{Subnet: engine.Subnet{CIDR: fleetSubnet}}},
		Zone:       "az1", Marker: "maaslxd-" + name, Key: engine.Key("test/" + name), Description: "maaslxd-" + name + " test/" + name + " (in progress)",
	}
}

// composeVM makes a VM on the first host. The test fails if that fails.
func (w *composeWorld) composeVM(c *Composer, comp engine.Composition) string {
	w.t.Helper()
	id, err := c.Compose(w.t.Context(), engine.VMHost{MachineID: w.servers[0].MachineID}, comp)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// listObjects lists the instances and machines by name, one per line.
func (w *composeWorld) listObjects() []string {
	w.t.Helper()
	var all []string
	for _, i := range w.sim.Instances() {
		all = append(all, fmt.Sprintf("instance %s on %s", i.Name, i.Host))
	}
	for _, m := range w.sim.Machines() {
		if !strings.HasPrefix(m.Hostname, "h") {
			all = append(all, "machine "+m.Hostname)
		}
	}
	slices.Sort(all)
	return all
}

// errorKinds returns the sentinels and the type of an error, sorted.
func errorKinds(err error) string {
	var names []string
	for name, sentinel := range map[string]error{
		"ErrUnavailable": engine.ErrUnavailable, "ErrForbidden": engine.ErrForbidden, "ErrInvalid": engine.ErrInvalid,
		"ErrNotFound": engine.ErrNotFound, "ErrConflict": engine.ErrConflict, "ErrBusy": engine.ErrBusy,
		"ErrUnclear": engine.ErrUnclear, "ErrOtherServer": engine.ErrOtherServer,
	} {
		if errors.Is(err, sentinel) {
			names = append(names, name)
		}
	}
	if e, ok := errors.AsType[*engine.Error](err); ok {
		names = append(names, string(e.Type))
	}
	if e, ok := errors.AsType[*engine.SpecError](err); ok {
		names = append(names, "SpecError "+e.Field.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// setRunning starts or stops the VM web1 on the first host, as LXD records it.
func (w *composeWorld) setRunning(t *testing.T, on bool) {
	t.Helper()
	s, done, err := w.composer.openSession(t.Context(), w.servers[0], w.composer.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	state := api.InstanceStatePut{Action: "start"}
	if !on {
		state = api.InstanceStatePut{Action: "stop", Force: true}
	}
	if err := s.send(http.MethodPut, s.projectPath("instances", "web1", "state"), state, ""); err != nil {
		t.Fatal(err)
	}
}

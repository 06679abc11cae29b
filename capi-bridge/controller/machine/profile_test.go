package machine_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	lxdclient "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// lxdWorld is a cluster on a MAAS that has no VM hosts any more: VMs are made in
// the LXDs, which listen, and so in real time.
type lxdWorld struct {
	*machineWorld
	credentials engine.Credentials
}

const lxdProject = "fleet"

func newLXDWorld(t *testing.T) lxdWorld {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), "key"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	model := machineModel()
	model.MAASVersion, model.LXDListen, model.Latency = sim.VersionGone, sim.LXDListenPorts, sim.Latency{}
	for n := range model.Hosts {
		model.Hosts[n].Project, model.Hosts[n].TrustedCertificates = lxdProject, []string{key.Certificate}
	}
	w := lxdWorld{newMachineWorld(t, model), key.Credentials}
	w.composeInLXD()
	return w
}

// composeInLXD turns the site into one whose VMs are made in LXD itself.
func (w lxdWorld) composeInLXD() {
	w.t.Helper()
	var servers []lxd.Server
	for _, l := range w.sim.LXDs() {
		servers = append(servers, lxd.Server{
			MachineID: "on" + l.Name, Name: l.Name, Endpoint: engine.Endpoint{Address: l.Listening[0], Project: lxdProject},
			Bridges: []lxd.Bridge{{Name: "maasbr0", Subnets: []engine.Subnet{{CIDR: "10.77.0.0/24", DHCP: true}}}},
		})
	}
	m, err := maas.New(maas.Config{URL: "http://maas.example/MAAS", APIKey: w.sim.APIKey(), Transport: w.sim.RoundTripper(), Ledger: w.ledger, Interval: 20 * time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(m.Close)
	c := lxd.NewComposer(lxd.ComposerConfig{
		Servers:     func(context.Context) ([]lxd.Server, error) { return servers, nil },
		Credentials: func(context.Context) (engine.Credentials, error) { return w.credentials, nil },
		Machines:    m.Machines, Enlister: m.Enlister, Ledger: w.ledger,
	})
	names := c.WrapNames(m.Names)
	e, err := assembly.New(engine.Config{Machines: m.Machines, Composer: c, Names: names, Catalog: m.Catalog, Metal: m.Machines, Registrar: m.Hosts, Reports: m.Events, Ledger: w.ledger})
	if err != nil {
		w.t.Fatal(err)
	}
	w.site.VMs, w.site.Names, w.site.Inventory, w.site.Projects = e.VMs, names, c, e
}

// connectLXD reaches the project of an LXD, by its number.
func (w lxdWorld) connectLXD(number int) lxdclient.InstanceServer {
	w.t.Helper()
	conn, err := lxdclient.ConnectLXD("https://"+w.sim.LXDs()[number].Listening[0], &lxdclient.ConnectionArgs{
		TLSClientCert: w.credentials.Certificate, TLSClientKey: w.credentials.Key, InsecureSkipVerify: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(conn.Disconnect)
	return conn.UseProject(lxdProject)
}

// TestProfile makes a VM with the profile that it asks for, once a host has it.
func TestProfile(t *testing.T) {
	t.Parallel()
	w := newLXDWorld(t)
	spec := controllertest.VMMachineSpec()
	spec.LXDConfig = &infrav1.LXDConfig{Profile: ptr.To("fast")}
	w.addMachine("web", spec, nil)
	m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.ProfileNotFoundReason)
	w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ProfileNotFoundReason,
		`no host has a profile "fast"`, `host host1, project "fleet": default`, "lxc profile create fast")
	if len(w.sim.Instances()) != 0 {
		t.Errorf("a VM was made without it: %v", w.sim.Instances())
	}
	conn := w.connectLXD(1)
	if err := conn.CreateProfile(api.ProfilesPost{Name: "fast"}); err != nil {
		t.Fatal(err)
	}
	w.reconcileUntilReady("web")
	w.reconcileOnce("web") // the project is told after that
	m = w.getMachine("web")
	if ptr.Deref(m.Status.LXDHost, "") != "host2" || ptr.Deref(m.Status.LXDProject, "") != lxdProject {
		t.Errorf("it is on %q in %q", ptr.Deref(m.Status.LXDHost, ""), ptr.Deref(m.Status.LXDProject, ""))
	}
	made, err := conn.GetInstances(api.InstanceTypeAny)
	if err != nil || len(made) != 1 || len(made[0].Profiles) != 1 || made[0].Profiles[0] != "fast" {
		t.Errorf("the instances are %+v, %v", made, err)
	}
	w.removeMachine("web")
	if len(w.sim.Instances()) != 0 {
		t.Errorf("left: %v", w.sim.Instances())
	}
}

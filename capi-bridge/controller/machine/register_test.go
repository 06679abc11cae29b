package machine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// neighbour asks the simulator's LXDs, as one who reaches them would.
type neighbour struct{ sim *sim.Sim }

// Server implements engine.Probe.
func (n neighbour) Server(_ context.Context, e engine.Endpoint, c engine.Credentials, _ string) (engine.LXDServer, error) {
	lxds := n.sim.LXDs()
	i := slices.IndexFunc(lxds, func(l sim.LXD) bool { return "https://"+l.Address == e.Address && l.Condition == sim.OK })
	if i < 0 {
		return engine.LXDServer{}, fmt.Errorf("dial tcp %s: connection refused: %w", e.Address, engine.ErrUnavailable)
	}
	if !slices.ContainsFunc(lxds[i].Trusted, func(t sim.TrustedCertificate) bool {
		return strings.TrimSpace(t.Certificate) == strings.TrimSpace(c.Certificate)
	}) {
		return engine.LXDServer{}, fmt.Errorf("not authorized: %w", engine.ErrForbidden)
	}
	server := engine.LXDServer{Version: lxds[i].Version, Fingerprint: engine.Credentials{Certificate: lxds[i].Certificate}.Fingerprint()}
	for _, v := range n.sim.Instances() {
		if v.Host == lxds[i].Name && v.Project == e.Project {
			server.Instances = append(server.Instances, v.Name)
		}
	}
	return server, nil
}

// initHost is what init-host makes of a node's LXD. In the simulator it is the
// machine's user-data, which run when the test lets them.
func initHost(trust bool) []byte {
	script := `#!/bin/sh
snap refresh lxd --channel=5.21/stable
lxd init --preseed <<'EOF'
config:
  core.https_address: "[::]:8443"
storage_pools:
- {name: default, driver: dir}
EOF
lxc project create maas
`
	if trust {
		script += "cat >/run/fleet.crt <<'EOF'\n" + fleetKey().Certificate + "EOF\nlxc config trust add /run/fleet.crt --restricted --projects maas\n"
	}
	return []byte(script)
}

// inNodes runs a test in a world whose cluster gets LXD hosts, once the node "db"
// runs already, as the test made it.
func inNodes(t *testing.T, trust bool, f func(t *testing.T, w *machineWorld, id string)) {
	t.Helper()
	model := machineModel()
	model.Latency.Inventory = 10 * time.Second
	for n := range model.Machines {
		model.Machines[n].FirstBoot = sim.BootNever
	}
	inFleet(t, model, func(t *testing.T, w *machineWorld) {
		w.bridges()
		f(t, w, w.node("db", trust))
	})
}

// bridges gives each machine a bridge, as whoever deploys it would.
func (w *machineWorld) bridges() {
	w.t.Helper()
	m, ctx := w.person(), w.t.Context()
	for _, name := range []string{"small", "metal"} {
		id := w.known(name).SystemID
		before, err := m.Machines.Machine(ctx, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := m.Machines.CreateBridge(ctx, id, before.Interfaces[0].ID, "br0"); err != nil {
			w.t.Fatal(err)
		}
		after, err := m.Machines.Machine(ctx, id)
		if err != nil || len(after.Bridges) != 1 {
			w.t.Fatalf("bridges %+v, %v", after.Bridges, err)
		}
		subnets, err := m.Names.Subnets(ctx)
		if err != nil || len(subnets) == 0 {
			w.t.Fatalf("subnets %+v, %v", subnets, err)
		}
		if err := m.Machines.Link(ctx, id, after.Bridges[0].ID, subnets[0], ""); err != nil {
			w.t.Fatal(err)
		}
	}
}

// person uses MAAS as people do.
func (w *machineWorld) person() *maas.Client { return w.maas }

// node makes a machine of a cluster that asks for no hosts, which it does from
// then on. It returns its system id.
func (w *machineWorld) node(name string, trust bool) string {
	w.t.Helper()
	w.add(name, controllertest.MetalMachine(), nil)
	s := &corev1.Secret{}
	if err := w.client.Get(w.t.Context(), fleetKeyOf(name+"-boot"), s); err != nil {
		w.t.Fatal(err)
	}
	s.Data["value"], s.Data["format"] = initHost(trust), nil
	if err := w.client.Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	m := w.ready(name)
	if conditions.Has(m, infrav1.LXDReadyCondition) {
		w.t.Fatalf("nobody asks for hosts: %s", summaryOf(m))
	}
	w.wantHosts(true)
	return *m.Spec.SystemID
}

func (w *machineWorld) wantHosts(want bool) {
	w.t.Helper()
	w.changeCluster(func(c *infrav1.MaasCluster) {
		c.Spec.LXDConfig = &infrav1.LXDHostConfig{Enabled: ptr.To(want), ResourcePool: "vms", StorageBackend: "dir"}
	})
}

// initHost sets the LXD of a node up.
func (w *machineWorld) initHost(id string) {
	w.t.Helper()
	if err := w.sim.SetFirstBoot(id, sim.BootOK, ""); err != nil {
		w.t.Fatal(err)
	}
	w.sim.Settle()
}

// hostsOn are the VM hosts that MAAS has on a machine.
func (w *machineWorld) hostsOn(id string) []engine.VMHost {
	w.t.Helper()
	w.site.Names.Refresh()
	all, err := w.site.Inventory.Hosts(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(h engine.VMHost) bool { return h.MachineID != id })
}

// untouchedMachines checks that nothing was done to machines since the journal was
// reset.
func (w *machineWorld) untouchedMachines() {
	w.t.Helper()
	for _, c := range w.sim.Journal().Calls {
		for _, op := range []string{"deploy", "release", "power_off", "power_on", "power_cycle", "allocate", "abort"} {
			if strings.HasPrefix(c.Route, "POST machines/") && strings.HasSuffix(c.Route, " "+op) {
				w.t.Errorf("MAAS was asked for %s", c.Route)
			}
		}
		if strings.HasPrefix(c.Route, "DELETE ") {
			w.t.Errorf("MAAS was asked for %s", c.Route)
		}
	}
}

// TestRegisterNode: a node that ran before its cluster asked for hosts becomes one
// once its LXD is set up, and stays what it is besides.
func TestRegisterNode(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		before := w.known(id)
		w.sim.ResetJournal()
		m := w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.want(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLXDReason, "not there yet", "init-host")
		w.want(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		if n := w.sim.Journal().Count("POST vm-hosts/"); n != 0 {
			t.Fatal("it was registered before its LXD answers")
		}
		w.initHost(id)
		m = w.until("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		w.want(m, infrav1.LXDReadyCondition, metav1.ConditionTrue, infrav1.LXDReadyReason, before.Hostname)
		w.want(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		w.untouchedMachines()
		if got := w.hostsOn(id); len(got) != 1 || got[0].Zone != "az1" || got[0].Pool != "vms" || strings.Contains(fmt.Sprint(got[0].Tags), "maaslxd") {
			t.Errorf("the VM hosts are %+v", got)
		}
		if got := w.known(id); got.StatusName != "Deployed" || got.OwnerData["maaslxd-key"] != fleetManagement+"/fleet/prod/db" || got.OwnerData["maaslxd-state"] != "finished" {
			t.Errorf("the machine is %+v", got)
		}
		w.restart()
		w.sim.ResetJournal()
		for range 3 {
			time.Sleep(w.once("db").RequeueAfter)
		}
		w.onlyLooked()
	})
}

// TestUnregisterNode: what was registered is unregistered when the machine goes,
// and not before its VMs have, nor what MAAS does not know of.
func TestUnregisterNode(t *testing.T) {
	for name, known := range map[string]bool{"VM": true, "UnknownInstance": false} {
		t.Run(name, func(t *testing.T) {
			inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
				w.initHost(id)
				w.until("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
				host := w.known(id).Hostname
				if err := w.sim.AddInstance(sim.Instance{Host: host, Project: cloudinit.DefaultProject, Name: "guest"}); err != nil {
					t.Fatal(err)
				}
				if known {
					if err := w.sim.RefreshHost(host); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				w.wantHosts(false) // that it was asked for once is enough
				w.sim.ResetJournal()
				w.markDeleted("db")
				m := w.until("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
				w.want(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "guest")
				w.untouchedMachines()
				if got := w.hostsOn(id); len(got) != 1 {
					t.Errorf("the VM hosts are %+v", got)
				}
				var err error
				if known {
					err = w.sim.DeleteMachine(w.sim.Instances()[0].MachineID)
				} else {
					err = w.sim.RemoveInstance(host, cloudinit.DefaultProject, "guest")
				}
				if err != nil {
					t.Fatal(err)
				}
				w.untilGone("db")
				if got := w.known(id); got.StatusName != "Ready" || got.Owner != "" || got.HostedHosts != "" {
					t.Errorf("given back as %+v", got)
				}
			})
		})
	}
}

// TestNodeDeletedEarly: a machine whose LXD never came goes as it would otherwise.
func TestNodeDeletedEarly(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.remove("db")
		if got := w.known(id); got.StatusName != "Ready" || got.Owner != "" {
			t.Errorf("given back as %+v", got)
		}
	})
}

// TestNodeDoesNotTrust: an LXD that answers and lets nobody in is not registered
// before it does.
func TestNodeDoesNotTrust(t *testing.T) {
	inNodes(t, false, func(t *testing.T, w *machineWorld, id string) {
		w.initHost(id)
		w.sim.ResetJournal()
		m := w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.want(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLXDReason,
			"does not trust the client certificate "+fleetKey().Fingerprint(), "init-host")
		for range 5 {
			time.Sleep(w.once("db").RequeueAfter)
		}
		if got := w.hostsOn(id); len(got) != 0 || w.sim.Journal().Count("POST vm-hosts/") != 0 {
			t.Errorf("registered: %+v", got)
		}
		if err := w.sim.TrustCertificate(w.known(id).Hostname, fleetKey().Certificate); err != nil {
			t.Fatal(err)
		}
		w.until("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		w.untouchedMachines()
	})
}

// TestNodeHoldsVMs: MAAS would take over, and power-cycle, what runs in the
// project.
func TestNodeHoldsVMs(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.initHost(id)
		old := sim.Instance{Host: w.known(id).Hostname, Project: cloudinit.DefaultProject, Name: "old-db", Running: true}
		if err := w.sim.AddInstance(old); err != nil {
			t.Fatal(err)
		}
		m := w.until("db", infrav1.LXDReadyCondition, infrav1.LXDFailedReason)
		w.want(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, "old-db", "power-cycle")
		w.want(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		if got := w.hostsOn(id); len(got) != 0 {
			t.Errorf("registered: %+v", got)
		}
	})
}

// registerByHand makes a VM host of a machine's LXD, as a person would in MAAS.
func (w *machineWorld) registerByHand(id, project string) {
	w.t.Helper()
	if err := w.sim.TrustCertificate(w.known(id).Hostname, personKey().Certificate); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.person().Hosts.Register(w.t.Context(), engine.Registration{
		Name: "by-hand", Credentials: personKey(),
		Endpoint: engine.Endpoint{Address: "https://" + w.known(id).IPAddresses[0] + ":8443", Project: project},
	}); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Minute)
}

// TestNodeOfOthers: a VM host that somebody else registered will do, is changed in
// nothing, and is not ours to unregister.
func TestNodeOfOthers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		waited  bool
		project string
	}{
		"Before":    {"It was there when hosts were asked for.", false, "maas"},
		"Meanwhile": {"It came while its LXD was waited for, in the same project.", true, "maas"},
		"ElseWhere": {"It is of another project; the machine is a host all the same.", false, "default"},
		"ElseWhile": {"Both.", true, "default"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
				if tc.waited {
					w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
				}
				w.initHost(id)
				w.registerByHand(id, tc.project)
				before := w.hostsOn(id)
				w.sim.ResetJournal()
				m := w.until("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
				w.want(m, infrav1.LXDReadyCondition, metav1.ConditionTrue, infrav1.LXDReadyReason, "by-hand", "somebody else")
				for range 3 {
					time.Sleep(w.once("db").RequeueAfter)
				}
				w.onlyLooked()
				after := w.hostsOn(id)
				if len(before) != 1 || len(after) != 1 || after[0].Pool != before[0].Pool {
					t.Errorf("%s\nbefore %+v, after %+v", tc.reason, before, after)
				}
				w.markDeleted("db")
				m = w.until("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
				w.want(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "by-hand")
				if got := w.known(id); got.StatusName != "Deployed" || len(w.hostsOn(id)) != 1 {
					t.Errorf("%s\nit is %+v", tc.reason, got)
				}
			})
		})
	}
}

// TestNodeOfOthersDeleted: nor where the deletion is the first that is seen of it.
func TestNodeOfOthersDeleted(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.initHost(id)
		w.registerByHand(id, cloudinit.DefaultProject)
		w.markDeleted("db")
		w.sim.ResetJournal()
		m := w.until("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
		w.want(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "by-hand")
		if n := w.sim.Journal().Count("DELETE vm-hosts/{id}/"); n != 0 || len(w.hostsOn(id)) != 1 {
			t.Errorf("somebody else's VM host was removed")
		}
	})
}

// TestNodeNoLongerAsked: nothing is said of hosts where nobody wants any.
func TestNodeNoLongerAsked(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.wantHosts(false)
		w.initHost(id)
		for range 5 {
			time.Sleep(w.once("db").RequeueAfter)
		}
		if m := w.get("db"); conditions.Has(m, infrav1.LXDReadyCondition) || len(w.hostsOn(id)) != 0 {
			t.Errorf("still: %s", summaryOf(m))
		}
	})
}

// TestInheritedNode: so does a node that another provider deployed, and it is
// released with its object, as ever.
func TestInheritedNode(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		m := w.get("db")
		m.Finalizers = nil
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.edit(id, sim.MachineEdit{OwnerData: &map[string]string{}})
		w.add("old", controllertest.MetalMachine(), func(c *clusterv1.Machine, m *infrav1.MaasMachine) { older(id, true)(c, m) })
		w.until("old", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.initHost(id)
		w.until("old", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		if got := w.hostsOn(id); len(got) != 1 {
			t.Errorf("the VM hosts are %+v", got)
		}
		w.remove("old")
		if got := w.known(id); got.StatusName != "Ready" || got.HostedHosts != "" {
			t.Errorf("given back as %+v", got)
		}
	})
}

// TestNodeReleasedByHand: what runs there is nobody's of us any more.
func TestNodeReleasedByHand(t *testing.T) {
	inNodes(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.until("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.edit(id, sim.MachineEdit{StatusName: ptr.To("Ready")})
		w.sim.ResetJournal()
		m := w.until("db", infrav1.ReadyCondition, infrav1.MachineReleasedReason)
		w.want(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, "released")
		for range 5 {
			time.Sleep(w.once("db").RequeueAfter)
		}
		w.onlyLooked()
	})
}

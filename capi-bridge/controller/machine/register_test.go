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

// lxdProbe asks the simulator's LXDs, as one who reaches them would.
type lxdProbe struct{ sim *sim.Sim }

// Server implements engine.Probe.
func (n lxdProbe) Server(_ context.Context, e engine.Endpoint, c engine.Credentials, _ string) (engine.LXDServer, error) {
	lxds := n.sim.LXDs()
	i := slices.IndexFunc(lxds, func(l sim.LXD) bool { return "https://"+l.Address == e.Address && l.Condition == sim.ConditionOK })
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

// runWithNode runs a test in a world whose cluster gets LXD hosts, once the node "db"
// runs already, as the test made it.
func runWithNode(t *testing.T, trust bool, f func(t *testing.T, w *machineWorld, id string)) {
	t.Helper()
	model := machineModel()
	model.Latency.Inventory = 10 * time.Second
	for n := range model.Machines {
		model.Machines[n].FirstBoot = sim.BootNever
	}
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		w.addBridges()
		f(t, w, w.makeNode("db", trust))
	})
}

// addBridges gives each machine a bridge, as whoever deploys it would.
func (w *machineWorld) addBridges() {
	w.t.Helper()
	m, ctx := w.operator(), w.t.Context()
	for _, name := range []string{"small", "metal"} {
		id := w.maasMachine(name).SystemID
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
		if err := m.Machines.SetInterfaceAddress(ctx, id, after.Bridges[0].ID, subnets[0], ""); err != nil {
			w.t.Fatal(err)
		}
	}
}

// operator uses MAAS as people do.
func (w *machineWorld) operator() *maas.Client { return w.maas }

// makeNode makes a machine of a cluster that asks for no hosts, which it does from
// then on. It returns its system id.
func (w *machineWorld) makeNode(name string, trust bool) string {
	w.t.Helper()
	w.addMachine(name, controllertest.MetalMachineSpec(), nil)
	s := &corev1.Secret{}
	if err := w.client.Get(w.t.Context(), fleetKeyOf(name+"-boot"), s); err != nil {
		w.t.Fatal(err)
	}
	s.Data["value"], s.Data["format"] = initHost(trust), nil
	if err := w.client.Update(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	m := w.reconcileUntilReady(name)
	if conditions.Has(m, infrav1.LXDReadyCondition) {
		w.t.Fatalf("nobody asks for hosts: %s", conditionSummary(m))
	}
	w.setHostsWanted(true)
	return *m.Spec.SystemID
}

func (w *machineWorld) setHostsWanted(want bool) {
	w.t.Helper()
	w.changeCluster(func(c *infrav1.MaasCluster) {
		c.Spec.LXDConfig = &infrav1.LXDHostConfig{Enabled: ptr.To(want), ResourcePool: "vms", StorageBackend: "dir"}
	})
}

// runInitHost sets the LXD of a node up.
func (w *machineWorld) runInitHost(id string) {
	w.t.Helper()
	if err := w.sim.SetFirstBoot(id, sim.BootOK, ""); err != nil {
		w.t.Fatal(err)
	}
	w.sim.Settle()
}

// vmHostsOn are the VM hosts that MAAS has on a machine.
func (w *machineWorld) vmHostsOn(id string) []engine.VMHost {
	w.t.Helper()
	w.site.Names.Refresh()
	all, err := w.site.Inventory.Hosts(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(h engine.VMHost) bool { return h.MachineID != id })
}

// wantMachinesUntouched checks that nothing was done to machines since the journal was
// reset.
func (w *machineWorld) wantMachinesUntouched() {
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
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		before := w.maasMachine(id)
		w.sim.ResetJournal()
		m := w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLXDReason, "not there yet", "init-host")
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		if n := w.sim.Journal().Count("POST vm-hosts/"); n != 0 {
			t.Fatal("it was registered before its LXD answers")
		}
		w.runInitHost(id)
		m = w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionTrue, infrav1.LXDReadyReason, before.Hostname)
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		w.wantMachinesUntouched()
		if got := w.vmHostsOn(id); len(got) != 1 || got[0].Zone != "az1" || got[0].Pool != "vms" || strings.Contains(fmt.Sprint(got[0].Tags), "maaslxd") {
			t.Errorf("the VM hosts are %+v", got)
		}
		if got := w.maasMachine(id); got.StatusName != "Deployed" || got.OwnerData["maaslxd-key"] != fleetManagement+"/fleet/prod/db" || got.OwnerData["maaslxd-state"] != "finished" {
			t.Errorf("the machine is %+v", got)
		}
		w.restartManager()
		w.sim.ResetJournal()
		for range 3 {
			time.Sleep(w.reconcileOnce("db").RequeueAfter)
		}
		w.wantOnlyReads()
	})
}

// TestUnregisterNode: what was registered is unregistered when the machine goes,
// and not before its VMs have, nor what MAAS does not know of.
func TestUnregisterNode(t *testing.T) {
	for name, known := range map[string]bool{"VM": true, "UnknownInstance": false} {
		t.Run(name, func(t *testing.T) {
			runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
				w.runInitHost(id)
				w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
				host := w.maasMachine(id).Hostname
				if err := w.sim.AddInstance(sim.Instance{Host: host, Project: cloudinit.DefaultProject, Name: "guest"}); err != nil {
					t.Fatal(err)
				}
				if known {
					if err := w.sim.RefreshHost(host); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				w.setHostsWanted(false) // that it was asked for once is enough
				w.sim.ResetJournal()
				w.markDeleted("db")
				m := w.reconcileUntil("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
				w.wantCondition(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "guest")
				w.wantMachinesUntouched()
				if got := w.vmHostsOn(id); len(got) != 1 {
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
				w.reconcileUntilGone("db")
				if got := w.maasMachine(id); got.StatusName != "Ready" || got.Owner != "" || got.HostedHosts != "" {
					t.Errorf("given back as %+v", got)
				}
			})
		})
	}
}

// TestNodeDeletedEarly: a machine whose LXD never came goes as it would otherwise.
func TestNodeDeletedEarly(t *testing.T) {
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.removeMachine("db")
		if got := w.maasMachine(id); got.StatusName != "Ready" || got.Owner != "" {
			t.Errorf("given back as %+v", got)
		}
	})
}

// TestNodeDoesNotTrust: an LXD that answers and lets nobody in is not registered
// before it does.
func TestNodeDoesNotTrust(t *testing.T) {
	runWithNode(t, false, func(t *testing.T, w *machineWorld, id string) {
		w.runInitHost(id)
		w.sim.ResetJournal()
		m := w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.WaitingForLXDReason,
			"does not trust the client certificate "+fleetKey().Fingerprint(), "init-host")
		for range 5 {
			time.Sleep(w.reconcileOnce("db").RequeueAfter)
		}
		if got := w.vmHostsOn(id); len(got) != 0 || w.sim.Journal().Count("POST vm-hosts/") != 0 {
			t.Errorf("registered: %+v", got)
		}
		if err := w.sim.TrustCertificate(w.maasMachine(id).Hostname, fleetKey().Certificate); err != nil {
			t.Fatal(err)
		}
		w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		w.wantMachinesUntouched()
	})
}

// TestNodeHoldsVMs: MAAS would take over, and power-cycle, what runs in the
// project.
func TestNodeHoldsVMs(t *testing.T) {
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.runInitHost(id)
		old := sim.Instance{Host: w.maasMachine(id).Hostname, Project: cloudinit.DefaultProject, Name: "old-db", Running: true}
		if err := w.sim.AddInstance(old); err != nil {
			t.Fatal(err)
		}
		m := w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDFailedReason)
		w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, "old-db", "power-cycle")
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		if got := w.vmHostsOn(id); len(got) != 0 {
			t.Errorf("registered: %+v", got)
		}
	})
}

// registerByHand makes a VM host of a machine's LXD, as a person would in MAAS.
func (w *machineWorld) registerByHand(id, project string) {
	w.t.Helper()
	if err := w.sim.TrustCertificate(w.maasMachine(id).Hostname, personKey().Certificate); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.operator().Hosts.Register(w.t.Context(), engine.Registration{
		Name: "by-hand", Credentials: personKey(),
		Endpoint: engine.Endpoint{Address: "https://" + w.maasMachine(id).IPAddresses[0] + ":8443", Project: project},
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
		"Before":    {"The VM host was there when hosts were listed.", false, "maas"},
		"Meanwhile": {"The VM host came while the manager waited for its LXD, in the same project.", true, "maas"},
		"ElseWhere": {"The VM host is in another project. Its machine is a host all the same.", false, "default"},
		"ElseWhile": {"The VM host came while the manager waited for its LXD, in another project.", true, "default"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
				if tc.waited {
					w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
				}
				w.runInitHost(id)
				w.registerByHand(id, tc.project)
				before := w.vmHostsOn(id)
				w.sim.ResetJournal()
				m := w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
				w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionTrue, infrav1.LXDReadyReason, "by-hand", "somebody else")
				for range 3 {
					time.Sleep(w.reconcileOnce("db").RequeueAfter)
				}
				w.wantOnlyReads()
				after := w.vmHostsOn(id)
				if len(before) != 1 || len(after) != 1 || after[0].Pool != before[0].Pool {
					t.Errorf("%s\nbefore %+v, after %+v", tc.reason, before, after)
				}
				w.markDeleted("db")
				m = w.reconcileUntil("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
				w.wantCondition(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "by-hand")
				if got := w.maasMachine(id); got.StatusName != "Deployed" || len(w.vmHostsOn(id)) != 1 {
					t.Errorf("%s\nit is %+v", tc.reason, got)
				}
			})
		})
	}
}

// TestNodeOfOthersDeleted: nor where the deletion is the first that is seen of it.
func TestNodeOfOthersDeleted(t *testing.T) {
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.runInitHost(id)
		w.registerByHand(id, cloudinit.DefaultProject)
		w.markDeleted("db")
		w.sim.ResetJournal()
		m := w.reconcileUntil("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
		w.wantCondition(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "by-hand")
		if n := w.sim.Journal().Count("DELETE vm-hosts/{id}/"); n != 0 || len(w.vmHostsOn(id)) != 1 {
			t.Errorf("somebody else's VM host was removed")
		}
	})
}

// TestNodeNoLongerAsked: nothing is said of hosts where nobody wants any.
func TestNodeNoLongerAsked(t *testing.T) {
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.setHostsWanted(false)
		w.runInitHost(id)
		for range 5 {
			time.Sleep(w.reconcileOnce("db").RequeueAfter)
		}
		if m := w.getMachine("db"); conditions.Has(m, infrav1.LXDReadyCondition) || len(w.vmHostsOn(id)) != 0 {
			t.Errorf("still: %s", conditionSummary(m))
		}
	})
}

// TestInheritedNode: so does a node that another provider deployed, and it is
// released with its object, as ever.
func TestInheritedNode(t *testing.T) {
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		m := w.getMachine("db")
		m.Finalizers = nil
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.editMaasMachine(id, sim.MachineEdit{OwnerData: &map[string]string{}})
		w.addMachine("old", controllertest.MetalMachineSpec(), func(c *clusterv1.Machine, m *infrav1.MaasMachine) { withIncumbentIDs(id, true)(c, m) })
		w.reconcileUntil("old", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.runInitHost(id)
		w.reconcileUntil("old", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		if got := w.vmHostsOn(id); len(got) != 1 {
			t.Errorf("the VM hosts are %+v", got)
		}
		w.removeMachine("old")
		if got := w.maasMachine(id); got.StatusName != "Ready" || got.HostedHosts != "" {
			t.Errorf("given back as %+v", got)
		}
	})
}

// TestNodeReleasedByHand: what runs there is nobody's of us any more.
func TestNodeReleasedByHand(t *testing.T) {
	runWithNode(t, true, func(t *testing.T, w *machineWorld, id string) {
		w.reconcileUntil("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
		w.editMaasMachine(id, sim.MachineEdit{StatusName: ptr.To("Ready")})
		w.sim.ResetJournal()
		m := w.reconcileUntil("db", infrav1.ReadyCondition, infrav1.MachineReleasedReason)
		w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, "released")
		for range 5 {
			time.Sleep(w.reconcileOnce("db").RequeueAfter)
		}
		w.wantOnlyReads()
	})
}

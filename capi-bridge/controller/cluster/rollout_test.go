package cluster_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/failuredomains"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// fakeKCP does what KubeadmControlPlane 1.14.2 does about failure domains
// (controlplane/kubeadm/pkg/control_plane.go), over the status that the bridge writes.
type fakeKCP struct {
	t          *testing.T
	world      *clusterWorld
	machines   collections.Machines
	updated    collections.Machines
	hostnames  map[string]string // MAAS's machine of each
	lastNumber int
}

func (k *fakeKCP) offeredDomains() []clusterv1.FailureDomain {
	var res []clusterv1.FailureDomain
	for _, d := range k.world.findMaasCluster().Status.FailureDomains {
		if ptr.Deref(d.ControlPlane, false) {
			res = append(res, d)
		}
	}
	return res
}

func (k *fakeKCP) offeredDomainNames() []string {
	var names []string
	for _, d := range k.offeredDomains() {
		names = append(names, d.Name)
	}
	return names
}

// findReadyMachine finds a Ready machine of MAAS in a zone.
func (k *fakeKCP) findReadyMachine(zone string, hosts []string) string {
	for _, h := range hosts {
		if m, _ := k.world.maas.Machine(h); m.StatusName == "Ready" && m.Zone == zone {
			return h
		}
	}
	return ""
}

func (k *fakeKCP) setMachineStatus(host, status string) {
	m, _ := k.world.maas.Machine(host)
	if err := k.world.maas.EditMachine(m.SystemID, sim.MachineEdit{StatusName: &status}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *fakeKCP) addMachine(zone, host string, old bool) {
	k.lastNumber++
	name := fmt.Sprintf("cp-%d", k.lastNumber)
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(k.world.now)}, Spec: clusterv1.MachineSpec{FailureDomain: zone}}
	k.machines.Insert(m)
	if !old {
		k.updated.Insert(m)
	}
	k.hostnames[name] = host
	k.setMachineStatus(host, "Deployed")
	k.world.addMachine(name, clusterMachine{zone: zone, bareMetal: true, addresses: []string{fmt.Sprintf("10.77.1.%d", k.lastNumber)}})
}

// runRollout rolls a control plane out. Things take their time, and KubeadmControlPlane
// goes on after a pause.
func runRollout(t *testing.T, model sim.Model, hosts []string, step, pause time.Duration) map[string]int {
	w := newClusterWorld(t, model, withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(), machineTemplate(controllertest.MetalMachineSpec()))
	k := &fakeKCP{t: t, world: w, machines: collections.New(), updated: collections.New(), hostnames: map[string]string{}}
	for n, zone := range []string{"az1", "az2", "az3"} {
		k.addMachine(zone, hosts[n], true)
		w.now = w.now.Add(time.Minute)
	}
	w.reconcileUntilSteady()
	t.Logf("before the rollout a control plane is offered %v", k.offeredDomainNames())
	for k.updated.Len() < 3 {
		// scale up
		zone := failuredomains.PickFewest(t.Context(), k.offeredDomains(), k.machines, k.updated)
		host := k.findReadyMachine(zone, hosts)
		t.Logf("KCP makes a machine in %s, of %v that are offered", zone, k.offeredDomainNames())
		if host == "" {
			t.Fatalf("the rollout stands: the new Machine waits for a Ready machine in %s, and there is none", zone)
		}
		k.addMachine(zone, host, false)
		for range 6 { // it deploys
			w.now = w.now.Add(step)
			w.reconcileUntilSteady()
		}
		// scale down: outdated ones in domains that are not offered first
		old := k.machines.Filter(func(m *clusterv1.Machine) bool { return k.updated[m.Name] == nil })
		var ids []string
		ids = append(ids, k.offeredDomainNames()...)
		victim := old.Filter(collections.Not(collections.InFailureDomains(ids...))).Oldest()
		if victim == nil {
			fd := failuredomains.PickMost(t.Context(), k.offeredDomains(), k.machines, old)
			victim = old.Filter(collections.InFailureDomains(fd)).Oldest()
		}
		t.Logf("KCP deletes %s in %s", victim.Name, victim.Spec.FailureDomain)
		w.deleteObject(w.getMachine(victim.Name)) // its finalizer holds it
		k.setMachineStatus(k.hostnames[victim.Name], "Releasing")
		for range 3 {
			w.reconcileUntilSteady()
			w.now = w.now.Add(step / 3)
		}
		k.setMachineStatus(k.hostnames[victim.Name], "Ready")
		w.removeMachineFinalizers(victim.Name)
		delete(k.machines, victim.Name)
		// Its going wakes KubeadmControlPlane and the MaasCluster: either may be first.
		if w.now = w.now.Add(pause); pause > 0 {
			w.reconcileUntilSteady()
		}
	}
	in := map[string]int{}
	for _, m := range k.machines {
		in[m.Spec.FailureDomain]++
	}
	w.now = w.now.Add(2 * time.Minute)
	if c := conditions.Get(w.reconcileUntilSteady(), infrav1.ControlPlaneSpreadCondition); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the spread of %v is told as %v", in, c)
	}
	return in
}

// TestRolloutOfBareMetalControlPlane rolls out a bare-metal control plane with
// a machine in each of three zones. Only az1 has spare Ready machines. In the
// end each zone has one machine again, and the rollout never stops.
func TestRolloutOfBareMetalControlPlane(t *testing.T) {
	for name, spares := range map[string]int{"OneSpare": 1, "ThreeSpares": 3} {
		for _, pace := range []struct{ step, pause time.Duration }{{time.Minute, 0}, {time.Minute, 5 * time.Second}, {time.Minute, 3 * time.Minute}, {time.Second, 0}, {time.Second, time.Second}} {
			t.Run(fmt.Sprintf("%s/%s/%s", name, pace.step, pace.pause), func(t *testing.T) {
				model := sim.Model{Zones: []string{"az1", "az2", "az3"}, Hosts: []sim.HostModel{{Name: "h", Cores: 1, MemoryMiB: 1024, Zone: "az1"}}}
				hosts := []string{"m1", "m2", "m3"}
				for n, h := range hosts {
					model.Machines = append(model.Machines, sim.MachineModel{Hostname: h, Cores: 4, MemoryMiB: 8192, DiskGB: 100, Zone: fmt.Sprintf("az%d", n+1)})
				}
				for n := range spares {
					h := fmt.Sprintf("spare%d", n)
					hosts = append(hosts, h)
					model.Machines = append(model.Machines, sim.MachineModel{Hostname: h, Cores: 4, MemoryMiB: 8192, DiskGB: 100, Zone: "az1"})
				}
				in := runRollout(t, model, hosts, pace.step, pace.pause)
				if len(in) != 3 {
					t.Errorf("after the rollout the control plane is in %v; it was in three zones, and each had a machine for it", in)
				}
			})
		}
	}
}

// TestSpreadOfControlPlane: who looks at the MaasCluster sees that a zone would be
// lost with two machines where another one has room.
func TestSpreadOfControlPlane(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		zones  []string // of the machines; az2 has room for one more
		status metav1.ConditionStatus
	}{
		"Uneven": {"Zone az2 has room, and no machine.", []string{"az1", "az1", "az3"}, metav1.ConditionFalse},
		"Even":   {"One more machine in one zone is the best possible spread.", []string{"az1", "az2", "az2", "az3"}, metav1.ConditionTrue},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := sim.Model{Zones: []string{"az1", "az2", "az3"}, Hosts: []sim.HostModel{{Name: "h", Cores: 1, MemoryMiB: 1024, Zone: "az1"}}, Machines: []sim.MachineModel{{Hostname: "spare", Cores: 4, MemoryMiB: 8192, DiskGB: 100, Zone: "az2"}}}
			w := newClusterWorld(t, model, withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(), machineTemplate(controllertest.MetalMachineSpec()))
			for n, zone := range tc.zones {
				w.addMachine(fmt.Sprintf("cp-%d", n), clusterMachine{zone: zone, bareMetal: true, addresses: []string{fmt.Sprintf("10.77.1.%d", n+1)}})
			}
			if c := conditions.Get(w.reconcileUntilSteady(), infrav1.ControlPlaneSpreadCondition); c == nil || c.Status != tc.status {
				t.Errorf("%s\nthe condition is %v", tc.reason, c)
			}
		})
	}
}

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// slowHost is the machine with a slow LXD: its first boot ends only when the
// test ends it.
const slowHost = "host-az3"

// testLXDHosts is a cluster whose machines become LXD hosts, and one whose machine
// is a VM on one of them.
func (w *world) testLXDHosts(t *testing.T) {
	if err := w.maas.SetFirstBoot(slowHost, sim.BootNever, ""); err != nil {
		t.Fatal(err)
	}
	c := w.newCluster(t, "hosts", "lxd-hosts", 1, 2, map[string]string{
		"CONTROL_PLANE_MACHINE_RESOURCEPOOL": hostPool, "WORKER_MACHINE_RESOURCEPOOL": hostPool,
	})
	c.awaitHosts(2, 3)
	c.checkProvisioned(3)
	if err := w.maas.SetFirstBoot(slowHost, sim.BootOK, ""); err != nil {
		t.Fatal(err)
	}
	c.awaitHosts(3, 3)
	c.awaitRunning(3, version)
	c.checkNodes(3, version)
	guest := w.newCluster(t, "guest", "lxd", 1, 0, map[string]string{"CONTROL_PLANE_MACHINE_RESOURCEPOOL": hostPool})
	guest.awaitRunning(1, version)
	guest.checkNodes(1, version)
	for _, m := range guest.controlPlaneMachines() {
		if !strings.HasPrefix(m.Host, "host-") {
			t.Errorf("the VM is on %q, want one of the hosts of the other cluster", m.Host)
		}
	}
	guest.deleteCluster()
	c.deleteCluster()
	left := slices.DeleteFunc(w.maas.Instances(), func(i sim.Instance) bool { return !strings.HasPrefix(i.Host, "host-") })
	if len(left) > 0 {
		t.Errorf("instances are left on hosts that were released: %+v", left)
	}
}

// awaitHosts waits until the cluster says that VMs can be made on that many of
// its machines.
func (c cluster) awaitHosts(ready, all int) {
	c.t.Helper()
	want := fmt.Sprintf("%d of %d machines are LXD hosts", ready, all)
	waitFor(c.t, want, c.polling, func(ctx context.Context) string {
		maas := &infrav1.MaasCluster{}
		c.getObject(ctx, c.name, maas)
		found := conditions.Get(maas, infrav1.LXDReadyCondition)
		switch {
		case found == nil:
			return "nothing is said"
		case !strings.HasPrefix(found.Message, want):
			return found.Message
		case (found.Status == metav1.ConditionTrue) != (ready == all):
			return fmt.Sprintf("LXDReady is %s: %s", found.Status, found.Message)
		}
		return ""
	}, c.describe)
}

// checkProvisioned checks that machines are provisioned whatever their LXD
// does. Otherwise the control plane would wait for itself.
func (c cluster) checkProvisioned(machines int) {
	c.t.Helper()
	waitFor(c.t, "all machines are provisioned", c.polling, func(ctx context.Context) string {
		provisioned := 0
		for _, m := range c.listMaasMachines(ctx) {
			if p := m.Status.Initialization.Provisioned; p != nil && *p {
				provisioned++
			}
		}
		if provisioned != machines {
			return fmt.Sprintf("%d of %d", provisioned, machines)
		}
		return ""
	}, c.describe)
}

package manager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeDNSFollows: the API's name points to the machines of the control plane that
// there are, and goes with the cluster.
func TestKubeDNSFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "dns", fastModel())
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "cp-0", newVMSpec(), makeControlPlane)
	w.createMachine("c", "w-0", newVMSpec(), nil)
	first := w.awaitReady("cp-0")
	w.awaitRecord(c, first)
	time.Sleep(time.Until(time.Now().Truncate(dnsCheckInterval).Add(dnsCheckInterval))) // the next look is far off then
	w.createMachine("c", "cp-1", newMetalSpec(), makeControlPlane)
	second := w.awaitReady("cp-1")
	w.awaitRecord(c, first, second)
	w.wantAttachedAtOnce("cp-1")
	w.deleteMachines("cp-0")
	w.awaitRecord(c, second)
	w.wantRecordNeverEmpty()
	w.awaitReady("w-0")
	w.deleteCluster(c, before, "cp-1", "w-0")
}

// TestKubeLostMachineLeavesTheName: a machine of the control plane that somebody
// releases is taken out of the API's name, and is in it again once he has put it
// right.
func TestKubeLostMachineLeavesTheName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "lost", fastModel())
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "cp-0", newVMSpec(), makeControlPlane)
	w.createMachine("c", "cp-1", newMetalSpec(), makeControlPlane)
	first, second := w.awaitReady("cp-0"), w.awaitReady("cp-1")
	w.awaitRecord(c, first, second)
	w.editMachine(*first.Spec.SystemID, sim.MachineEdit{StatusName: ptr.To("Ready")})
	w.touchUntilReason("cp-0", infrav1.MachineDeployedCondition, infrav1.MachineReleasedReason, "somebody released it")
	w.awaitRecord(c, second)
	w.touchUntilReason("cp-0", infrav1.DNSAttachedCondition, infrav1.DNSDetachedReason, "")
	w.editMachine(*first.Spec.SystemID, sim.MachineEdit{StatusName: ptr.To("Deployed")})
	w.touchUntilReason("cp-0", infrav1.ReadyCondition, infrav1.ReadyReason, "")
	w.awaitRecord(c, first, second)
	w.touchUntilReason("cp-0", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason, "")
	w.wantRecordNeverEmpty()
	w.deleteCluster(c, before, "cp-0", "cp-1")
}

// TestKubeOffOnceDoesNotEmptyTheRecord: when the only machine of the control plane
// looked switched off once, the record of the API was emptied, and the cluster was
// lost.
func TestKubeOffOnceDoesNotEmptyTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "off", fastModel())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "cp-0", newVMSpec(), makeControlPlane)
	m := w.awaitReady("cp-0")
	w.awaitRecord(c, m)
	w.maas.ResetJournal()
	for state, reason := range map[string]string{"off": infrav1.MachinePoweredOffReason, "unknown": infrav1.MachineDeployedReason} {
		w.editMachine(*m.Spec.SystemID, sim.MachineEdit{PowerState: ptr.To(state)})
		w.touchUntilReason("cp-0", infrav1.MachineDeployedCondition, reason, "")
		w.touchObject(c)
		w.awaitTwoLooks("cp-0")
		w.awaitRecord(c, m)
	}
	for _, call := range w.maas.Journal().Calls {
		if strings.Contains(call.Route, "dnsresources") && !strings.HasPrefix(call.Route, "GET ") {
			t.Errorf("the record was written: %s %v", call.Route, call.Form)
		}
	}
}

// awaitRecord waits until the API's name has the addresses of these machines, and no
// other.
func (w *world) awaitRecord(c *infrav1.MaasCluster, machines ...*infrav1.MaasMachine) {
	w.t.Helper()
	var want []string
	for _, m := range machines {
		want = append(want, machineIPs(m)...)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	w.waitFor("the API's name", func() string {
		if got := w.maas.Resolve(c.Spec.ControlPlaneEndpoint.Host); !slices.Equal(got, want) {
			return fmt.Sprintf("%s points to %v, want %v", c.Spec.ControlPlaneEndpoint.Host, got, want)
		}
		return ""
	})
	w.awaitObject(c, "says so", func() string {
		for _, condition := range c.Status.Conditions {
			if condition.Type == infrav1.DNSReadyCondition && condition.Status == metav1.ConditionTrue && strings.Contains(condition.Message, want[0]) {
				return ""
			}
		}
		return describeConditions(c)
	})
}

// dnsCheckInterval is how often machines look for their address in the record: all of them in
// the same moments.
const dnsCheckInterval = 10 * time.Second

// wantAttachedAtOnce: a machine sees that the record has its address when it was written,
// and not at its next look. On a busy machine it may see that late.
func (w *world) wantAttachedAtOnce(name string) {
	w.t.Helper()
	said := time.Now()
	w.awaitReason(name, infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
	seen := time.Now()
	looked := !said.Truncate(dnsCheckInterval).Equal(seen.Truncate(dnsCheckInterval))
	if took := seen.Sub(said); looked && took > 2*time.Second {
		w.t.Errorf("%s was not woken by the record: it took %s", name, took)
	}
}

// wantRecordNeverEmpty: no call wrote a record without an address.
func (w *world) wantRecordNeverEmpty() {
	w.t.Helper()
	for _, call := range w.maas.Journal().Calls {
		written := strings.HasPrefix(call.Route, "POST dnsresources/") || strings.HasPrefix(call.Route, "PUT dnsresources/")
		if ips := call.Form["ip_addresses"]; written && (len(ips) == 0 || ips[0] == "") {
			w.t.Errorf("%s wrote %v", call.Route, call.Form)
		}
	}
}

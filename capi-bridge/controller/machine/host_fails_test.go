package machine_test

import (
	"path"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestAnotherHost: a host dies while MAAS composes a VM on it. At the end there is one VM, on
// another host. If MAAS does not know an instance that LXD made, a condition says so.
func TestAnotherHost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		into   time.Duration // into the compose, which waits 200 ms and then takes a second
		waits  bool          // the machine waits until the host is back
		left   bool          // an instance that MAAS does not know stays on the dead host
	}{
		"Unasked": {reason: "MAAS cannot reach LXD, so LXD makes no instance.", into: 100 * time.Millisecond},
		"Making": {
			reason: "LXD makes the instance. MAAS cannot read it, and so makes no machine for it.",
			into:   500 * time.Millisecond, left: true,
		},
		"Made": {
			reason: "MAAS has a machine and cannot turn it on. A delete would leave its instance in LXD.",
			into:   900 * time.Millisecond, waits: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, quickModel(), func(t *testing.T, w *machineWorld) {
				died := w.stopHostDuringCompose(tc.into)
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				reason := infrav1.ReadyReason
				if tc.waits {
					reason = infrav1.HostUnavailableReason
				}
				w.reconcileUntil("web", infrav1.ReadyCondition, reason)
				dead := <-died
				if tc.waits {
					w.setLXDCondition(dead, sim.ConditionOK)
				}
				m := w.reconcileUntilReady("web")
				if host := *m.Status.LXDHost; host == dead || w.maasMachine(*m.Spec.SystemID).Host != host {
					t.Errorf("%s\nthe VM is on %s, and %s died", tc.reason, host, dead)
				}
				if tc.left {
					w.wantCondition(m, infrav1.LXDVMCreatedCondition, metav1.ConditionTrue, infrav1.LXDVMCreatedReason, "more than once", dead)
				}
				w.setLXDCondition(dead, sim.ConditionOK)
				w.removeMachine("web")
				w.wantOnlyInstanceLeft(tc.left, dead)
			})
		})
	}
}

// stopHostDuringCompose stops the host of the first compose, some time after the compose began.
// Then it sends the name of the host.
func (w *machineWorld) stopHostDuringCompose(into time.Duration) <-chan string {
	w.sim.AddFault(sim.Fault{Op: "compose", Nth: 1, Kind: sim.FaultDelay, Delay: 200 * time.Millisecond})
	died := make(chan string, 1)
	go func() {
		for {
			time.Sleep(10 * time.Millisecond)
			calls := w.sim.Journal().Calls
			i := slices.IndexFunc(calls, func(c sim.Call) bool { return c.Route == "POST vm-hosts/{id}/ compose" })
			if i < 0 {
				continue
			}
			time.Sleep(into)
			host := "host" + path.Base(calls[i].Path) // its id is its place in the model
			w.setLXDCondition(host, sim.ConditionUnreachable)
			died <- host
			return
		}
	}()
	return died
}

func (w *machineWorld) setLXDCondition(host string, c sim.Condition) {
	w.t.Helper()
	if err := w.sim.SetLXDCondition(host, c); err != nil {
		w.t.Error(err)
	}
}

// wantOnlyInstanceLeft checks that only the instance on the dead host is left, or nothing.
func (w *machineWorld) wantOnlyInstanceLeft(left bool, host string) {
	w.t.Helper()
	all := w.sim.Instances()
	if left != (len(all) == 1) || left && all[0].Host != host {
		w.t.Errorf("LXD has %+v", all)
	}
	if vms := slices.DeleteFunc(w.sim.Machines(), func(m sim.Machine) bool { return m.Host == "" }); len(vms) > 0 {
		w.t.Errorf("MAAS has %+v", vms)
	}
	if rows, err := w.ledger.Rows(w.t.Context()); err != nil || len(rows) > 0 {
		w.t.Errorf("the ledger has %v, %v", rows, err)
	}
}

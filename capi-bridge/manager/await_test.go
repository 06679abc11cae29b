package manager_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// waitFor waits until holds says nothing; it says last what does not hold.
func (w *world) waitFor(what string, holds func() string) {
	w.t.Helper()
	why := ""
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if why = holds(); why == "" {
			return
		}
	}
	w.t.Fatalf("%s: %s\n%s", what, why, w.log.lastLinesAbout(w.namespace))
}

// awaitObject waits until what is read of an object holds.
func (w *world) awaitObject(o client.Object, what string, holds func() string) {
	w.t.Helper()
	w.waitFor(fmt.Sprintf("%T %s %s", o, o.GetName(), what), func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		return holds()
	})
}

// awaitReason waits until a condition of a machine has a reason.
func (w *world) awaitReason(name, condition, reason string) *infrav1.MaasMachine {
	w.t.Helper()
	m := w.machineObject(name)
	w.awaitObject(m, condition+" "+reason, func() string {
		if conditions.GetReason(m, condition) != reason {
			return describeConditions(m)
		}
		return ""
	})
	return m
}

// awaitReady waits until a machine is. Its conditions are written before the rest of
// its status.
func (w *world) awaitReady(name string) *infrav1.MaasMachine {
	w.t.Helper()
	m := w.machineObject(name)
	w.awaitObject(m, "Ready", func() string {
		if !m.Status.Ready || !conditions.IsTrue(m, infrav1.ReadyCondition) {
			return describeConditions(m)
		}
		return ""
	})
	return m
}

// awaitSystemID waits until it is noted by which id MAAS knows a machine.
func (w *world) awaitSystemID(name string) string {
	w.t.Helper()
	m := w.machineObject(name)
	w.awaitObject(m, "is known", func() string {
		if m.Annotations[ownership.SystemIDAnnotation] == "" {
			return describeConditions(m)
		}
		return ""
	})
	return m.Annotations[ownership.SystemIDAnnotation]
}

// awaitGone waits until an object is not there.
func (w *world) awaitGone(o client.Object) {
	w.t.Helper()
	w.waitFor(fmt.Sprintf("%T %s is gone", o, o.GetName()), func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) == nil && err != nil {
			return ""
		}
		return fmt.Sprintf("it is still there: %+v", o)
	})
}

func (w *world) machineObject(name string) *infrav1.MaasMachine {
	return &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}

func (w *world) getMachine(name string) *infrav1.MaasMachine {
	w.t.Helper()
	m := w.machineObject(name)
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// deleteObject deletes an object.
func (w *world) deleteObject(o client.Object) {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// deleteMachines deletes machines, and waits until they are gone.
func (w *world) deleteMachines(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.deleteObject(w.machineObject(name))
	}
	for _, name := range names {
		w.awaitGone(w.machineObject(name))
	}
}

// deleteCluster deletes the machines and the cluster, and sees that MAAS has no more than
// before.
func (w *world) deleteCluster(c *infrav1.MaasCluster, before int, names ...string) {
	w.t.Helper()
	w.deleteMachines(names...)
	w.deleteObject(c)
	w.awaitGone(c)
	w.wantNothingLeft(before)
}

// wantNothingLeft sees that MAAS has as many machines as before, none of them taken,
// and no name.
func (w *world) wantNothingLeft(before int) {
	w.t.Helper()
	if vms, machines := w.maas.Instances(), w.maas.Machines(); len(vms) > 0 || len(machines) != before {
		w.t.Errorf("left in MAAS: instances %+v, %d machines where %d were", vms, len(machines), before)
	}
	for _, m := range w.maas.Machines() {
		if m.HostedHosts == "" && !slices.Contains(m.Tags, engine.HostTag) && (m.StatusName != "Ready" || m.Owner != "") {
			w.t.Errorf("%s is not given back: %s of %s", m.Hostname, m.StatusName, m.Owner)
		}
	}
	if left := leftDNSNames(w.t, w.maas); left != "" {
		w.t.Errorf("left in MAAS's DNS: %s", left)
	}
}

// touchObject has an object looked at now. At rest that is done every minute, which the
// test does not wait for.
func (w *world) touchObject(o client.Object) {
	w.t.Helper()
	w.annotate(o, "test/nudge", time.Now().String())
}

// annotate sets an annotation of an object that is there; an empty value takes it
// away.
func (w *world) annotate(o client.Object, name, value string) {
	w.t.Helper()
	w.patchObject(o, func(o client.Object) {
		all := o.GetAnnotations()
		if all == nil {
			all = map[string]string{}
		}
		if all[name] = value; value == "" {
			delete(all, name)
		}
		o.SetAnnotations(all)
	})
}

// touchUntilReason waits, with nudges, until a condition of a machine has a reason and says
// something: what was read a moment ago serves for a while.
func (w *world) touchUntilReason(name, condition, reason, says string) *infrav1.MaasMachine {
	w.t.Helper()
	m, n := w.machineObject(name), 0
	w.awaitObject(m, condition+" "+reason, func() string {
		if conditions.GetReason(m, condition) == reason && strings.Contains(conditions.GetMessage(m, condition), says) {
			return ""
		}
		if n++; n%10 == 1 {
			w.touchObject(w.machineObject(name))
		}
		return describeConditions(m)
	})
	return m
}

// awaitTwoLooks has machines looked at twice.
func (w *world) awaitTwoLooks(names ...string) {
	w.t.Helper()
	for range 2 {
		before, n := w.maas.Journal().Total(), 0
		w.waitFor("a look at "+strings.Join(names, ", "), func() string {
			if w.maas.Journal().Total() > before {
				return ""
			}
			if n++; n%10 == 1 {
				for _, name := range names {
					w.touchObject(w.machineObject(name))
				}
			}
			return "MAAS was not asked"
		})
	}
}

// wantCondition checks a condition, and that its message says all of the parts.
func (w *world) wantCondition(o conditions.Getter, kind string, status metav1.ConditionStatus, reason string, parts ...string) {
	w.t.Helper()
	c := conditions.Get(o, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		w.t.Fatalf("want %s=%s (%s), got\n%s", kind, status, reason, describeConditions(o))
	}
	for _, part := range parts {
		if !strings.Contains(c.Message, part) {
			w.t.Errorf("the message of %s does not say %q: %s", kind, part, c.Message)
		}
	}
}

// awaitEvent waits for an event about an object that says something.
func (w *world) awaitEvent(name, reason, says string) {
	w.t.Helper()
	w.waitFor("an event "+reason+" about "+name, func() string {
		list := &eventsv1.EventList{}
		if err := w.List(context.WithoutCancel(w.t.Context()), list, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		var all []string
		for _, e := range list.Items {
			if e.Regarding.Name != name {
				continue
			}
			if e.Reason == reason && strings.Contains(e.Note, says) {
				return ""
			}
			all = append(all, e.Reason+": "+e.Note)
		}
		return fmt.Sprintf("told was %q", all)
	})
}

// wantOnlyReads sees that nothing was asked of MAAS but looks since its journal was
// emptied.
func (w *world) wantOnlyReads() {
	w.t.Helper()
	for _, c := range w.maas.Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") {
			w.t.Errorf("MAAS was asked for %s", c.Route)
		}
	}
}

// describeConditions are the conditions in words.
func describeConditions(o conditions.Getter) string {
	all := []string{"its conditions:"}
	for _, c := range o.GetConditions() {
		all = append(all, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "\n")
}

// mustFindMachine is what MAAS has of a machine, by hostname or system id.
func (w *world) mustFindMachine(name string) sim.Machine {
	w.t.Helper()
	m, ok := w.maas.Machine(name)
	if !ok {
		w.t.Fatalf("MAAS has no machine %s", name)
	}
	return m
}

func (w *world) editMachine(systemID string, e sim.MachineEdit) {
	w.t.Helper()
	if err := w.maas.EditMachine(systemID, e); err != nil {
		w.t.Fatal(err)
	}
}

// machineIPs are the addresses of a machine that are no names.
func machineIPs(m *infrav1.MaasMachine) []string {
	var all []string
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineExternalIP || a.Type == clusterv1.MachineInternalIP {
			all = append(all, a.Address)
		}
	}
	return all
}

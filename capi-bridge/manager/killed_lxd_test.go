package manager_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestKubeManagerKilledOnLXD kills the manager's process at each call of an LXD
// in the life of a VM, where MAAS has no VM hosts. It also does so at the calls
// that make and remove the machine in MAAS. It kills once before the call's
// effect, and once after it. It tries each route of a read once. The other
// calls of MAAS are the same as with VM hosts, and tried there.
func TestKubeManagerKilledOnLXD(t *testing.T) {
	t.Parallel()
	calm := runLXDLifecycle(t, "lxd-calm")
	for _, route := range []string{createInstanceRoute, deleteInstanceRoute, enlistRoute, "DELETE machines/{id}/"} {
		if calm.LXD.Count(route)+calm.Count(route) == 0 || t.Failed() {
			t.Fatalf("the life that nobody cut short lacks %s", route)
		}
	}
	seen, looked := map[string]int{}, map[string]bool{} // the latter by route: each host is asked the same
	for nth, c := range append(calm.LXD.Calls, calm.Calls...) {
		seen[c.Host+c.Route]++
		times := []string{sim.FaultBeforeEffect, sim.FaultAfterEffect}
		if isLook := strings.HasPrefix(c.Route, "GET "); isLook {
			times = times[1:]
			if looked[c.Route] {
				continue
			}
			looked[c.Route] = true
		}
		if c.Host == "" && c.Route != enlistRoute && c.Route != "DELETE machines/{id}/" {
			continue
		}
		for _, when := range times {
			fatal := faultAt(c, seen[c.Host+c.Route], when)
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s %s %d %s", cmp.Or(c.Host, "MAAS"), c.Route, fatal.Nth, when), "/", " "), func(t *testing.T) {
				t.Parallel()
				runLXDLifecycle(t, fmt.Sprintf("lxd-%d-%s", nth, when), fatal)
			})
		}
	}
}

// The calls that make the machine of a VM in MAAS, and those that make and
// delete the VM itself in an LXD.
const (
	enlistRoute         = "POST machines/"
	createInstanceRoute = "POST 1.0/instances"
	deleteInstanceRoute = "DELETE 1.0/instances/{name}"
)

// faultAt keeps a call that was seen before from being answered.
func faultAt(c sim.Call, nth int, when string) sim.Fault {
	method, path, _ := strings.Cut(c.Route, " ")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "*"
		}
	}
	f := sim.Fault{Method: method, Path: strings.Join(parts, "/"), Op: "-", Nth: nth, When: when, Kind: sim.FaultHang}
	if c.Host != "" {
		f.Op, f.Path = "", "lxd/"+c.Host+"/"+f.Path
	}
	return f
}

// runLXDLifecycle makes a cluster of one VM and deletes it. It returns what was asked.
func runLXDLifecycle(t *testing.T, space string, fatal ...sim.Fault) sim.Journal {
	t.Helper()
	w := newProcesses(t, space, fatal...)
	before := w.maas.DescribeState()
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "m", newVMSpec(), nil)
	m := w.awaitReady("m")
	if got, made := w.mustFindMachine(*m.Spec.SystemID), w.maas.Instances(); len(made) != 1 || made[0].MachineID != got.SystemID || got.StatusName != "Deployed" {
		t.Errorf("MAAS has %+v, and LXD %+v", got, made)
	}
	w.deleteMachines("m")
	w.deleteObject(c)
	w.awaitGone(c)
	if after := w.maas.DescribeState(); !slices.Equal(after, before) {
		t.Errorf("there is %q, and there was %q", after, before)
	}
	for _, f := range w.maas.Faults() {
		if f.Struck == 0 && f.Method != http.MethodGet {
			t.Errorf("no manager was killed at %+v", f)
		}
	}
	w.wantEnlistedOnce(fatal...)
	w.endAll()
	return w.maas.Journal()
}

// wantEnlistedOnce sees that no second machine was made, which is not seen any more once
// it is deleted again. A call that had no effect does not count. An instance may be
// made twice: what an attempt on the other host has left is removed.
func (w *processes) wantEnlistedOnce(fatal ...sim.Fault) {
	w.t.Helper()
	want := 1
	for _, f := range fatal {
		if f.Method+" "+f.Path == enlistRoute && f.When == sim.FaultBeforeEffect {
			want++
		}
	}
	if n := w.maas.Journal().Count(enlistRoute); n != want {
		w.t.Errorf("MAAS was asked for a machine %d times, want %d", n, want)
	}
}

// TestKubeManagerKilledOnTheSameLXD kills a leader when it has made the
// instance. The next leader begins again on the same host. It is killed at each
// write to that LXD until it has made its own instance. The first instance is
// deleted or continued.
func TestKubeManagerKilledOnTheSameLXD(t *testing.T) {
	t.Parallel()
	first := faultAt(sim.Call{Host: "h1", Route: createInstanceRoute}, 1, sim.FaultAfterEffect)
	next := map[string]struct {
		route string
		nth   int
	}{"Clear": {deleteInstanceRoute, 1}, "Make": {createInstanceRoute, 2}}
	for name, tc := range next {
		for _, when := range []string{sim.FaultBeforeEffect, sim.FaultAfterEffect} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				runLXDLifecycle(t, strings.ToLower("lxd-next-"+name+"-"+when), first, faultAt(sim.Call{Host: "h1", Route: tc.route}, tc.nth, when))
			})
		}
	}
}

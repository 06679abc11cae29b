package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// ScheduleSync lets somebody refresh a VM host at a random moment, and then
// again and again.
func ScheduleSync(w *world.World) {
	w.NextSync.Cancel()
	every := w.Nasty.SyncEvery
	if every <= 0 {
		return
	}
	wait := time.Duration(2 * w.Nasty.Draw("sync_every") * float64(every))
	w.NextSync = &world.Job{W: w, Run: func() {
		strangersSync(w)
		ScheduleSync(w)
	}}
	w.NextSync.Timer = w.After(max(wait, time.Millisecond), w.NextSync.Finish)
}

// strangersSync is one such refresh, half of them through the UI. It runs
// beside the calls, as theirs do.
func strangersSync(w *world.World) {
	hosts := world.SortedHosts(w.Hosts)
	if len(hosts) == 0 {
		return
	}
	h := hosts[int(w.Nasty.Draw("host of sync_every")*float64(len(hosts)))]
	ui := w.Nasty.Draw("kind of sync_every") < 0.5
	w.Nasty.Struck["sync_every"]++
	w.Keeper.Begin()
	go func() {
		w.Keeper.Lock()
		defer w.Keeper.Unlock()
		defer w.Keeper.Ended()
		defer func() {
			if bug := recover(); bug != nil {
				world.LogBug("a refresh", bug)
			}
		}()
		if ui {
			_ = PressRefresh(w, h) // an operator sees the error, nobody else
			return
		}
		refreshVMHost(&request.Call{World: w}, h)
	}()
}

// PressRefresh is the Refresh button of MAAS's UI: see Sim.RefreshHost.
func PressRefresh(w *world.World, h *world.VMHost) error {
	if w.Rack != world.OK {
		return fmt.Errorf("cannot refresh %s: no rack controller is connected", h.Name)
	}
	l, problem := driver.Reach(w, h.BMC, fmt.Sprintf("VM Host %d: ", h.ID))
	if problem != "" {
		return fmt.Errorf("cannot refresh %s: %s", h.Name, problem)
	}
	listed := l.Listed(h.BMC.Project)
	w.Sleep(w.Latency.Refresh)
	if w.Ended || w.Hosts[h.ID] != h {
		return fmt.Errorf("no VM host %q any more", h.Name)
	}
	syncWith(w, h, l, listed)
	return nil
}

// syncWith is the end of a refresh.
func syncWith(w *world.World, h *world.VMHost, l *world.LXD, listed []*world.Instance) {
	Discover(w, h, l)
	syncInstances(w, h, l, listed)
	FindHost(w, h, l)
	startInventory(h, l)
}

// afterLXD is what strikes a compose between LXD's part and MAAS's: the answer
// without a machine, if any.
func afterLXD(w *world.World, v *WantedVM, i *world.Instance) *rest.Reply {
	n, h := w.Nasty, v.Host
	if n.Strikes("sync_in_compose", v.hostname) && w.Hosts[h.ID] == h {
		syncWith(w, h, i.Server, i.Server.Listed(i.Project))
	}
	clear, lost := n.Strikes("leak_compose", v.hostname), n.Strikes("leak_compose_lost", v.hostname)
	if !clear && !lost {
		return nil
	}
	bad := rest.Unavailable("Unable to compose machine because: Failed talking to pod: timed out")
	bad.Lost = lost
	return &bad
}

// overCompose is a refresh in the UI that listed the host's instances before
// the newborn was there, and ends now.
func overCompose(w *world.World, h *world.VMHost, newborn *world.Machine) {
	i := newborn.LXDInstance()
	if i == nil || w.Hosts[h.ID] != h || !w.Nasty.Strikes("sync_over_compose", newborn.Hostname) {
		return
	}
	listed := slices.DeleteFunc(i.Server.Listed(i.Project), func(other *world.Instance) bool { return other == i })
	syncWith(w, h, i.Server, listed)
}

// lateBy is how much longer LXD takes for a compose.
func lateBy(w *world.World, v *WantedVM) time.Duration {
	if !w.Nasty.Strikes("late_compose", v.hostname) {
		return 0
	}
	most := cmp.Or(w.Nasty.MaxLate, driver.RegionTimeout-w.Latency.Compose)
	return time.Duration(w.Nasty.Draw("late_compose of "+v.hostname) * float64(max(most, 0)))
}

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

// ScheduleRandomRefresh refreshes VM hosts at random times, again and again.
func ScheduleRandomRefresh(w *world.World) {
	w.NextSync.Cancel()
	every := w.FaultSource.SyncEvery
	if every <= 0 {
		return
	}
	wait := time.Duration(2 * w.FaultSource.Draw("sync_every") * float64(every))
	w.NextSync = &world.Job{World: w, Run: func() {
		refreshRandomHost(w)
		ScheduleRandomRefresh(w)
	}}
	w.NextSync.Timer = w.AfterFunc(max(wait, time.Millisecond), w.NextSync.Finish)
}

// refreshRandomHost refreshes one VM host, in half of all cases through the UI. It runs
// concurrently with the calls.
func refreshRandomHost(w *world.World) {
	hosts := world.SortedHosts(w.Hosts)
	if len(hosts) == 0 {
		return
	}
	h := hosts[int(w.FaultSource.Draw("host of sync_every")*float64(len(hosts)))]
	ui := w.FaultSource.Draw("kind of sync_every") < 0.5
	w.FaultSource.Struck["sync_every"]++
	w.Keeper.BeginHandler()
	go func() {
		w.Keeper.Lock()
		defer w.Keeper.Unlock()
		defer w.Keeper.EndHandler()
		defer func() {
			if bug := recover(); bug != nil {
				world.LogBug("a refresh", bug)
			}
		}()
		if ui {
			_ = RefreshFromUI(w, h) // only an operator would see the error
			return
		}
		refreshVMHost(&request.Call{World: w}, h)
	}()
}

// RefreshFromUI is the Refresh button of MAAS's UI: see Sim.RefreshHost.
func RefreshFromUI(w *world.World, h *world.VMHost) error {
	if w.RackCondition != world.ConditionOK {
		return fmt.Errorf("cannot refresh %s: no rack controller is connected", h.Name)
	}
	l, problem := driver.ReachLXD(w, h.BMC, fmt.Sprintf("VM Host %d: ", h.ID))
	if problem != "" {
		return fmt.Errorf("cannot refresh %s: %s", h.Name, problem)
	}
	listed := l.ListedInstances(h.BMC.Project)
	w.Sleep(w.Latency.Refresh)
	if w.Ended || w.Hosts[h.ID] != h {
		return fmt.Errorf("no VM host %q any more", h.Name)
	}
	syncHost(w, h, l, listed)
	return nil
}

// syncHost ends a refresh.
func syncHost(w *world.World, h *world.VMHost, l *world.LXD, listed []*world.Instance) {
	DiscoverHost(w, h, l)
	syncInstances(w, h, l, listed)
	FindHostMachine(w, h, l)
	startInventory(h, l)
}

// applyComposeFaults applies the random faults between LXD's part of a compose and MAAS's.
// It returns the answer if the compose ends without a machine.
func applyComposeFaults(w *world.World, v *ComposeRequest, i *world.Instance) *rest.Reply {
	n, h := w.FaultSource, v.Host
	if n.DrawFault("sync_in_compose", v.hostname) && w.Hosts[h.ID] == h {
		syncHost(w, h, i.Server, i.Server.ListedInstances(i.Project))
	}
	clear, lost := n.DrawFault("leak_compose", v.hostname), n.DrawFault("leak_compose_lost", v.hostname)
	if !clear && !lost {
		return nil
	}
	bad := rest.UnavailableReply("Unable to compose machine because: Failed talking to pod: timed out")
	bad.Lost = lost
	return &bad
}

// syncOverCompose ends a UI refresh that listed the host's instances before the new one
// existed.
func syncOverCompose(w *world.World, h *world.VMHost, newborn *world.Machine) {
	i := newborn.LXDInstance()
	if i == nil || w.Hosts[h.ID] != h || !w.FaultSource.DrawFault("sync_over_compose", newborn.Hostname) {
		return
	}
	listed := slices.DeleteFunc(i.Server.ListedInstances(i.Project), func(other *world.Instance) bool { return other == i })
	syncHost(w, h, i.Server, listed)
}

// composeDelay is the extra time that LXD takes for a compose.
func composeDelay(w *world.World, v *ComposeRequest) time.Duration {
	if !w.FaultSource.DrawFault("late_compose", v.hostname) {
		return 0
	}
	most := cmp.Or(w.FaultSource.MaxLate, driver.RegionTimeout-w.Latency.Compose)
	return time.Duration(w.FaultSource.Draw("late_compose of "+v.hostname) * float64(max(most, 0)))
}

package sim

import (
	"fmt"
	"slices"
	"time"
)

// scheduleSync lets somebody refresh a VM host at a random moment, and then
// again and again.
func (w *world) scheduleSync() {
	w.nextSync.cancel()
	every := w.nasty.SyncEvery
	if every <= 0 {
		return
	}
	wait := time.Duration(2 * w.nasty.draw("sync_every") * float64(every))
	w.nextSync = &job{w: w, run: func() {
		w.strangersSync()
		w.scheduleSync()
	}}
	w.nextSync.timer = w.after(max(wait, time.Millisecond), w.nextSync.finish)
}

// strangersSync is one such refresh, half of them through the UI. It runs
// beside the calls, as theirs do.
func (w *world) strangersSync() {
	hosts := sortedHosts(w.hosts)
	if len(hosts) == 0 {
		return
	}
	h := hosts[int(w.nasty.draw("host of sync_every")*float64(len(hosts)))]
	ui := w.nasty.draw("kind of sync_every") < 0.5
	w.nasty.struck["sync_every"]++
	w.sim.running++
	go func() {
		w.sim.mu.Lock()
		defer w.sim.mu.Unlock()
		defer w.sim.ended()
		defer func() {
			if bug := recover(); bug != nil {
				logBug("a refresh", bug)
			}
		}()
		if ui {
			_ = w.pressRefresh(h) // an operator sees the error, nobody else
			return
		}
		refreshVMHost(&call{w: w}, h)
	}()
}

// pressRefresh is the Refresh button of MAAS's UI: see Sim.RefreshHost.
func (w *world) pressRefresh(h *vmHost) error {
	if w.rack != OK {
		return fmt.Errorf("cannot refresh %s: no rack controller is connected", h.name)
	}
	l, problem := w.reach(h.bmc, fmt.Sprintf("VM Host %d: ", h.id))
	if problem != "" {
		return fmt.Errorf("cannot refresh %s: %s", h.name, problem)
	}
	listed := l.listed(h.bmc.project)
	w.sleep(w.model.Latency.Refresh)
	if w.ended || w.hosts[h.id] != h {
		return fmt.Errorf("no VM host %q any more", h.name)
	}
	w.syncWith(h, l, listed)
	return nil
}

// syncWith is the end of a refresh.
func (w *world) syncWith(h *vmHost, l *lxdServer, listed []*instance) {
	w.discover(h, l)
	w.sync(h, l, listed)
	w.findHost(h, l)
	h.startInventory(l)
}

// afterLXD is what strikes a compose between LXD's part and MAAS's: the answer
// without a machine, if any.
func (w *world) afterLXD(v *wantedVM, i *instance) *reply {
	n, h := w.nasty, v.host
	if n.strikes("sync_in_compose", v.hostname) && w.hosts[h.id] == h {
		w.syncWith(h, i.server, i.server.listed(i.project))
	}
	clear, lost := n.strikes("leak_compose", v.hostname), n.strikes("leak_compose_lost", v.hostname)
	if !clear && !lost {
		return nil
	}
	bad := unavailable("Unable to compose machine because: Failed talking to pod: timed out")
	bad.lost = lost
	return &bad
}

// overCompose is a refresh in the UI that listed the host's instances before
// the newborn was there, and ends now.
func (w *world) overCompose(h *vmHost, newborn *machine) {
	i := newborn.lxdInstance()
	if i == nil || w.hosts[h.id] != h || !w.nasty.strikes("sync_over_compose", newborn.hostname) {
		return
	}
	listed := slices.DeleteFunc(i.server.listed(i.project), func(other *instance) bool { return other == i })
	w.syncWith(h, i.server, listed)
}

// lateBy is how much longer LXD takes for a compose.
func (w *world) lateBy(v *wantedVM) time.Duration {
	if !w.nasty.strikes("late_compose", v.hostname) {
		return 0
	}
	most := or(w.nasty.MaxLate, regionTimeout-w.model.Latency.Compose)
	return time.Duration(w.nasty.draw("late_compose of "+v.hostname) * float64(max(most, 0)))
}

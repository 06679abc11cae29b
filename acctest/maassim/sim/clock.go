package sim

import (
	"slices"
	"time"
)

// job is something that happens later: after a time, or, where the model says
// that it takes none, once a read has shown what is under way.
type job struct {
	w        *world
	run      func()
	timer    *time.Timer
	onSeen   bool
	finished bool
}

// later starts a job. run is called with Sim.mu held.
func (w *world) later(d time.Duration, run func()) *job {
	j := &job{w: w, run: run, onSeen: d <= 0}
	if d > 0 {
		j.timer = w.after(d, j.finish)
	}
	return j
}

// orphan is a job of an LXD alone, that no machine knows.
func (w *world) orphan(d time.Duration, run func()) {
	if d <= 0 {
		run()
		return
	}
	w.orphans = slices.DeleteFunc(w.orphans, func(j *job) bool { return !j.pending() })
	w.orphans = append(w.orphans, w.later(d, run))
}

// finish runs the job now; it runs once.
func (j *job) finish() {
	if j.finished {
		return
	}
	j.cancel()
	j.run()
}

// cancel makes the job never run. A nil job is done already.
func (j *job) cancel() {
	if j == nil {
		return
	}
	j.finished = true
	if j.timer != nil {
		j.timer.Stop()
		delete(j.w.timers, j.timer)
	}
}

// hold keeps the job from ending by itself; finish still ends it.
func (j *job) hold() {
	j.onSeen = false
	if j.timer != nil {
		j.timer.Stop()
		delete(j.w.timers, j.timer)
	}
}

// pending says that the job will still run.
func (j *job) pending() bool { return j != nil && !j.finished }

// inFlight is a pending job that takes time.
func (j *job) inFlight() bool { return j.pending() && !j.onSeen }

// after calls f with Sim.mu held, unless the world was replaced by then. In a
// world that was, it never does.
func (w *world) after(d time.Duration, f func()) *time.Timer {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		w.sim.mu.Lock()
		defer w.sim.mu.Unlock()
		defer func() {
			if bug := recover(); bug != nil {
				logBug("a timer", bug)
			}
		}()
		if !w.ended && w.timers[t] {
			delete(w.timers, t)
			f()
		}
	})
	if w.ended {
		t.Stop()
		return t
	}
	w.timers[t] = true
	return t
}

// end stops all timers of the world and wakes who sleeps in it.
func (w *world) end() {
	if !w.ended {
		close(w.done)
	}
	w.ended = true
	for t := range w.timers {
		t.Stop()
	}
	clear(w.timers)
	for _, l := range w.lxds {
		l.giveBack()
	}
}

// sleep lets d pass with Sim.mu released, or less where the world ends. What was
// looked up before may have changed meanwhile.
func (w *world) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	w.sim.mu.Unlock()
	defer w.sim.mu.Lock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.done:
	}
}

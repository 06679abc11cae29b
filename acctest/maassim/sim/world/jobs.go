package world

import (
	"slices"
	"time"
)

// Job is a later event. It comes after a time. If the model gives it no time, it comes
// after a read has shown the transition.
type Job struct {
	World        *World
	Run          func()
	Timer        *time.Timer
	EndsWhenSeen bool
	finished     bool
}

// StartJob starts a job. It calls run with the lock held.
func (w *World) StartJob(d time.Duration, run func()) *Job {
	j := &Job{World: w, Run: run, EndsWhenSeen: d <= 0}
	if d > 0 {
		j.Timer = w.AfterFunc(d, j.Finish)
	}
	return j
}

// StartLXDJob starts a job of an LXD that belongs to no machine.
func (w *World) StartLXDJob(d time.Duration, run func()) {
	if d <= 0 {
		run()
		return
	}
	w.LXDJobs = slices.DeleteFunc(w.LXDJobs, func(j *Job) bool { return !j.IsPending() })
	w.LXDJobs = append(w.LXDJobs, w.StartJob(d, run))
}

// Finish runs the job now. A job runs only once.
func (j *Job) Finish() {
	if j.finished {
		return
	}
	j.Cancel()
	j.Run()
}

// Cancel prevents the job from running. A nil job counts as done.
func (j *Job) Cancel() {
	if j == nil {
		return
	}
	j.finished = true
	if j.Timer != nil {
		j.Timer.Stop()
		delete(j.World.Timers, j.Timer)
	}
}

// Hold keeps the job from ending by itself. Finish still ends it.
func (j *Job) Hold() {
	j.EndsWhenSeen = false
	if j.Timer != nil {
		j.Timer.Stop()
		delete(j.World.Timers, j.Timer)
	}
}

// IsPending tells whether the job will still run.
func (j *Job) IsPending() bool { return j != nil && !j.finished }

// IsInFlight tells whether the job is pending and takes time.
func (j *Job) IsInFlight() bool { return j.IsPending() && !j.EndsWhenSeen }

// AfterFunc calls f with the lock held, unless the world was replaced meanwhile.
func (w *World) AfterFunc(d time.Duration, f func()) *time.Timer {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		w.Keeper.Lock()
		defer w.Keeper.Unlock()
		defer func() {
			if bug := recover(); bug != nil {
				LogBug("a timer", bug)
			}
		}()
		if !w.Ended && w.Timers[t] {
			delete(w.Timers, t)
			f()
		}
	})
	if w.Ended {
		t.Stop()
		return t
	}
	w.Timers[t] = true
	return t
}

// End stops all timers of the world and wakes all calls that sleep in it.
func (w *World) End() {
	if !w.Ended {
		close(w.Done)
	}
	w.Ended = true
	for t := range w.Timers {
		t.Stop()
	}
	clear(w.Timers)
	for _, l := range w.LXDs {
		l.GiveBack()
	}
}

// Sleep releases the lock for d, or until the world ends. Objects that were looked up
// before may have changed meanwhile.
func (w *World) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	w.Keeper.Unlock()
	defer w.Keeper.Lock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.Done:
	}
}

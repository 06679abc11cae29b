package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// measurement is what one step used.
type measurement struct {
	step        string
	machines    int
	Calls       int
	Writes      int // of the calls, those other than GET
	VMWrites    int // of the writes, those about a machine or VM host
	Failed      int // calls that were not answered with 2xx
	Polls       int // reads of machines by their ids, shared by all that wait for one
	Objects     int // machine objects in all answers
	Connections int
	Routes      map[string]int
	Updates     int // writes to MaasMachines and MaasClusters
	Events      int // Kubernetes events, new or counted up
	Overcommits int // how often more of a host's resource was reserved than it has
	Wall        time.Duration
	Ideal       time.Duration // what MAAS needs for one machine; zero: there is nothing to compare with
	Used        usage         // CPU in the step; memory at its end
}

// stepStart holds the state where a step began.
type stepStart struct {
	used    usage
	updates int
	events  int
	at      time.Time
}

// beginStep empties the journal and stores the counts so far.
func (w *testBed) beginStep(ctx context.Context) (stepStart, error) {
	used, err := usageOf(w.manager.PID())
	if err != nil {
		return stepStart{}, err
	}
	events, err := w.countEvents(ctx)
	if err != nil {
		return stepStart{}, err
	}
	updates, _ := w.core.countWrites()
	w.maas.ResetJournal()
	return stepStart{used: used, updates: updates, events: events, at: time.Now()}, nil
}

// finishStep measures what happened since the step began.
func (w *testBed) finishStep(ctx context.Context, s stepStart, step string, machines int) (measurement, sim.Journal, error) {
	wall, journal := time.Since(s.at), w.maas.Journal()
	m := sumUp(journal)
	updates, _ := w.core.countWrites()
	m.step, m.machines, m.Wall, m.Updates = step, machines, wall, updates-s.updates
	m.Overcommits = len(w.maas.Overcommits())
	events, err := w.countEvents(ctx)
	if err != nil {
		return m, journal, err
	}
	m.Events = events - s.events
	m.Used, err = usageOf(w.manager.PID())
	m.Used.CPU -= s.used.CPU
	return m, journal, err
}

// countEvents returns how often events were reported.
func (w *testBed) countEvents(ctx context.Context) (int, error) {
	list := &eventsv1.EventList{}
	if err := w.controlPlane.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, fmt.Errorf("cannot list events: %w", err)
	}
	told := len(list.Items)
	for _, e := range list.Items {
		if e.Series != nil {
			told += int(e.Series.Count)
		}
	}
	return told, nil
}

// sumUp sums up a journal.
func sumUp(j sim.Journal) measurement {
	m := measurement{Calls: j.Total(), Objects: j.MachineObjects, Connections: j.Connections, Routes: map[string]int{}}
	for _, c := range j.Calls {
		route := report.RouteOf(c)
		m.Routes[route]++
		if route == report.PollRoute {
			m.Polls++
		}
		if underWay := c.Status == 0 && !c.Lost; !underWay && (c.Status < 200 || c.Status > 299) {
			m.Failed++
		}
		if method, path, _ := strings.Cut(c.Route, " "); method != http.MethodGet {
			m.Writes++
			if strings.HasPrefix(path, "machines/") || strings.HasPrefix(path, "vm-hosts/") {
				m.VMWrites++
			}
		}
	}
	return m
}

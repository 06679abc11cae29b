package manager

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Metrics are the manager's own metrics beside those of controller-runtime.
// Their labels hold no object names and no ids of MAAS.
type Metrics struct {
	requests       *prometheus.CounterVec
	durations      *prometheus.HistogramVec
	placements     *prometheus.CounterVec
	phases         *prometheus.GaugeVec
	phaseDurations *prometheus.HistogramVec
	inventory      *inventoryAge
}

// NewMetrics returns metrics at zero.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capmaas_maas_requests_total", Help: "Requests to MAAS by method, route and result: the HTTP status, or none without an answer.",
		}, []string{"method", "route", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "capmaas_maas_request_duration_seconds", Help: "Time that requests to MAAS took.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 150}, // up to the deadline of slow ones
		}, []string{"method", "route"}),
		placements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capmaas_placements_total", Help: "VMs that were given a host, by result: placed, again, busy, no_room, error.",
		}, []string{"result"}),
		phases: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "capmaas_machines", Help: "MaasMachines by provisioning mode and phase.",
		}, []string{"mode", "phase"}),
		phaseDurations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "capmaas_machine_phase_duration_seconds", Help: "Time that MaasMachines spent in a phase before they left it.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13), // up to 68 minutes
		}, []string{"mode", "phase"}),
		inventory: newInventoryAge(time.Now),
	}
}

// Register adds the metrics to a registry.
func (m *Metrics) Register(to prometheus.Registerer) error {
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.durations, m.placements, m.phases, m.phaseDurations, m.inventory} {
		errs = append(errs, to.Register(c))
	}
	return errors.Join(errs...)
}

// CountRequests returns a function that counts requests to the MAAS at an
// address.
func (m *Metrics) CountRequests(address string) func(api.Call) {
	return func(c api.Call) {
		result := "none"
		if c.Status != 0 {
			result = strconv.Itoa(c.Status)
		}
		m.requests.WithLabelValues(c.Method, c.Route, result).Inc()
		m.durations.WithLabelValues(c.Method, c.Route).Observe(c.Took.Seconds())
	}
}

// NoteHostsListed returns a function that records when the LXD hosts of a MAAS
// were listed.
func (m *Metrics) NoteHostsListed(address string) func() {
	return func() { m.inventory.noteListed(address) }
}

// CountPlacements counts the ledger's answers to requests for a host.
func (m *Metrics) CountPlacements(ledger engine.Ledger) engine.Ledger {
	return countingLedger{ledger, m.placements}
}

type countingLedger struct {
	engine.Ledger
	counted *prometheus.CounterVec
}

// Place implements engine.Ledger.
func (p countingLedger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	row, fresh, err := p.Ledger.Place(ctx, r)
	p.counted.WithLabelValues(placementResult(fresh, err)).Inc()
	return row, fresh, err
}

// Move implements engine.Ledger.
func (p countingLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	row, fresh, err := p.Ledger.Move(ctx, attempt, r)
	p.counted.WithLabelValues(placementResult(fresh, err)).Inc()
	return row, fresh, err
}

func placementResult(fresh bool, err error) string {
	failure, isFailure := errors.AsType[*engine.Error](err)
	switch {
	case isFailure && failure.Type == engine.InsufficientResources:
		return "no_room"
	case errors.Is(err, engine.ErrBusy):
		return "busy"
	case err != nil:
		return "error"
	case fresh:
		return "placed"
	}
	return "again"
}

// inventoryAge is how long ago the LXD hosts of each MAAS were last listed. It
// leaves out a MAAS that nobody asked for an hour.
type inventoryAge struct {
	now  func() time.Time
	desc *prometheus.Desc

	mu   sync.Mutex
	last map[string]time.Time
}

func newInventoryAge(now func() time.Time) *inventoryAge {
	return &inventoryAge{now: now, last: map[string]time.Time{}, desc: prometheus.NewDesc(
		"capmaas_inventory_age_seconds", "Time since the LXD hosts of a MAAS were last listed.", []string{"maas"}, nil)}
}

func (a *inventoryAge) noteListed(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[address] = a.now()
}

// Describe implements prometheus.Collector.
func (a *inventoryAge) Describe(to chan<- *prometheus.Desc) { to <- a.desc }

// Collect implements prometheus.Collector.
func (a *inventoryAge) Collect(to chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for address, at := range a.last {
		age := a.now().Sub(at)
		if age > time.Hour {
			delete(a.last, address)
			continue
		}
		to <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, age.Seconds(), address)
	}
}

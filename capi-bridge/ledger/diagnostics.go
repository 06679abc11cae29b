package ledger

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

// metrics are the metrics of the service. Their labels hold no names of clients
// or objects.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	resent    prometheus.Counter
}

func newMetrics(leads *atomic.Bool) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maaslxd_ledger_requests_total", Help: "Requests to the ledger service by operation and outcome.",
		}, []string{"operation", "outcome"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "maaslxd_ledger_request_duration_seconds", Help: "Time that requests to the ledger service took.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"operation"}),
		resent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "maaslxd_ledger_resent_total", Help: "Writes that clients sent again because they had no answer.",
		}),
	}
	leader := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "maaslxd_ledger_leader", Help: "1 where this node leads its cluster, else 0.",
	}, func() float64 {
		if leads.Load() {
			return 1
		}
		return 0
	})
	m.registry.MustRegister(m.requests, m.durations, m.resent, leader,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// countRequest counts a request.
func (m *metrics) countRequest(r service.AnsweredRequest) {
	m.requests.WithLabelValues(r.Operation, r.Outcome).Inc()
	m.durations.WithLabelValues(r.Operation).Observe(r.Took.Seconds())
	if r.Resent {
		m.resent.Inc()
	}
}

// readyTimeout is how long a test read of the ledger may take.
const readyTimeout = 5 * time.Second

// diagnosticsHandler answers probes, and serves the metrics.
func (r *runningService) diagnosticsHandler(m *metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithTimeout(request.Context(), readyTimeout)
		defer cancel()
		if r.ending.Load() {
			http.Error(w, "ending", http.StatusServiceUnavailable)
			return
		}
		if err := r.gate.checkOpen(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		switch _, err := r.rows.CurrentTag(ctx); {
		case err != nil:
			r.log.Error("the ledger cannot be read", "error", err)
			http.Error(w, r.unreadableText(err), http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, "ok\n")
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// unreadableText says to a probe why the ledger cannot be read. In a cluster without a leader
// a read gets no answer, or the answer that there is none.
func (r *runningService) unreadableText(err error) string {
	if r.node.address != "" && (errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)) {
		return "the cluster has no leader: more than half of the nodes must run"
	}
	return "the ledger cannot be read"
}

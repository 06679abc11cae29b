package manager

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// TestRequestsAreCounted: by method, route and result.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	now := time.Now()
	m.inventory.now = func() time.Time { return now }
	registry := prometheus.NewRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	count := m.CountRequests("http://maas/MAAS")
	count(api.Call{Method: "GET", Route: "vm-hosts/", Status: 200, Took: time.Second})
	count(api.Call{Method: "GET", Route: "machines/", Status: 503})
	count(api.Call{Method: "GET", Route: "machines/"})
	m.NoteHostsListed("http://maas/MAAS")()
	now = now.Add(30 * time.Second)
	want := `
# HELP capmaas_inventory_age_seconds Time since the LXD hosts of a MAAS were last listed.
# TYPE capmaas_inventory_age_seconds gauge
capmaas_inventory_age_seconds{maas="http://maas/MAAS"} 30
# HELP capmaas_maas_requests_total Requests to MAAS by method, route and result: the HTTP status, or none without an answer.
# TYPE capmaas_maas_requests_total counter
capmaas_maas_requests_total{method="GET",result="200",route="vm-hosts/"} 1
capmaas_maas_requests_total{method="GET",result="503",route="machines/"} 1
capmaas_maas_requests_total{method="GET",result="none",route="machines/"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "capmaas_maas_requests_total", "capmaas_inventory_age_seconds"); err != nil {
		t.Error(err)
	}
	now = now.Add(2 * time.Hour)
	if n, err := testutil.GatherAndCount(registry, "capmaas_inventory_age_seconds"); n != 0 || err != nil {
		t.Errorf("a MAAS that nobody asks is still shown: %d, %v", n, err)
	}
}

// TestPlacementsByResult: each answer of the ledger has a name.
func TestPlacementsByResult(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		fresh bool
		err   error
	}{
		"placed":  {fresh: true},
		"again":   {},
		"busy":    {err: engine.ErrBusy},
		"no_room": {err: &engine.Error{Type: engine.InsufficientResources, Err: engine.ErrBusy}},
		"error":   {err: errors.New("the disk is full")},
	} {
		if got := placementResult(tc.fresh, tc.err); got != want {
			t.Errorf("%+v is %s, want %s", tc, got, want)
		}
	}
}

// TestPhaseMetrics: machines are counted where they are, and how long they were there.
func TestPhaseMetrics(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := NewMetrics()
	p := &phaseTracker{Metrics: m, now: func() time.Time { return now }, last: map[types.UID]phaseStay{}}
	machine := func(state string, deleted bool) *infrav1.MaasMachine {
		o := &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{UID: "u1"}, Spec: infrav1.MaasMachineSpec{DynamicLXD: ptr.To(true)}}
		if state != "" {
			o.Status.MachineState = ptr.To(infrav1.MachineState(state))
		}
		if deleted {
			o.DeletionTimestamp = &metav1.Time{Time: now}
		}
		return o
	}
	p.OnAdd(machine("", false), false)
	for _, state := range []string{"Commissioning", "Commissioning", "Deployed"} {
		now = now.Add(10 * time.Second)
		p.OnUpdate(nil, machine(state, false))
	}
	if got := testutil.ToFloat64(m.phases.WithLabelValues("lxd", "Deployed")); got != 1 {
		t.Errorf("%v machines are Deployed", got)
	}
	if got := testutil.ToFloat64(m.phases.WithLabelValues("lxd", "Commissioning")); got != 0 {
		t.Errorf("%v machines are still commissioned", got)
	}
	now = now.Add(time.Minute)
	p.OnUpdate(nil, machine("Releasing", true))
	p.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: machine("Releasing", true)})
	want := map[string]float64{"Pending": 10, "Commissioning": 20, "Deployed": 60, phaseDeleting: 0}
	registry := prometheus.NewRegistry()
	if err := registry.Register(m.phaseDurations); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range families[0].GetMetric() {
		phase := s.GetLabel()[1].GetValue()
		if got := s.GetHistogram().GetSampleSum(); s.GetHistogram().GetSampleCount() != 1 || got != want[phase] {
			t.Errorf("%s took %v s, want %v", phase, got, want[phase])
		}
		delete(want, phase)
	}
	if len(want) > 0 {
		t.Errorf("phases that nobody was in: %v", want)
	}
	if got := testutil.ToFloat64(m.phases.WithLabelValues("lxd", phaseDeleting)); got != 0 {
		t.Errorf("%v machines are still being deleted", got)
	}
}

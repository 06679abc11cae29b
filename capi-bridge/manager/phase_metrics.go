package manager

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// Phases beside MAAS's states.
const (
	phasePending  = "Pending" // MAAS has no machine yet
	phaseDeleting = "Deleting"
)

// phaseStay is a machine's current phase and since when it is in it.
type phaseStay struct {
	mode, phase string
	since       time.Time // zero: since before the manager started
}

// phaseTracker follows the phases of all MaasMachines.
type phaseTracker struct {
	*Metrics
	now func() time.Time

	mu   sync.Mutex
	last map[types.UID]phaseStay
}

// watchPhases counts the MaasMachines by phase as they change in the
// controllers' cache.
func (m *Metrics) watchPhases(in cache.Cache) manager.Runnable {
	p := &phaseTracker{Metrics: m, now: time.Now, last: map[types.UID]phaseStay{}}
	return manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := in.GetInformer(ctx, &infrav1.MaasMachine{})
		if err != nil {
			return fmt.Errorf("cannot watch the phases of MaasMachines: %w", err)
		}
		handle, err := informer.AddEventHandler(p)
		if err != nil {
			return fmt.Errorf("cannot watch the phases of MaasMachines: %w", err)
		}
		<-ctx.Done()
		return informer.RemoveEventHandler(handle)
	})
}

var _ toolscache.ResourceEventHandler = (*phaseTracker)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (p *phaseTracker) OnAdd(obj any, first bool) {
	m, ok := obj.(*infrav1.MaasMachine)
	if !ok {
		return
	}
	since := p.now()
	if first {
		since = time.Time{}
	}
	p.enterPhase(m, since)
}

// OnUpdate implements cache.ResourceEventHandler.
func (p *phaseTracker) OnUpdate(_, obj any) {
	if m, ok := obj.(*infrav1.MaasMachine); ok {
		p.enterPhase(m, p.now())
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (p *phaseTracker) OnDelete(obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	m, ok := obj.(*infrav1.MaasMachine)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, ok := p.last[m.UID]; ok {
		p.leavePhase(was)
		delete(p.last, m.UID)
	}
}

func (p *phaseTracker) enterPhase(m *infrav1.MaasMachine, since time.Time) {
	is := phaseStay{mode: machineMode(m), phase: machinePhase(m), since: since}
	p.mu.Lock()
	defer p.mu.Unlock()
	was, known := p.last[m.UID]
	if known && was.phase == is.phase && was.mode == is.mode {
		return
	}
	if known {
		p.leavePhase(was)
	}
	p.last[m.UID] = is
	p.phases.WithLabelValues(is.mode, is.phase).Inc()
}

// leavePhase records the end of a stay.
func (p *phaseTracker) leavePhase(was phaseStay) {
	p.phases.WithLabelValues(was.mode, was.phase).Dec()
	if !was.since.IsZero() {
		p.phaseDurations.WithLabelValues(was.mode, was.phase).Observe(p.now().Sub(was.since).Seconds())
	}
}

func machineMode(m *infrav1.MaasMachine) string {
	resolved, _ := m.Spec.Resolve(field.NewPath("spec"))
	return string(resolved.Mode)
}

// machinePhase returns the machine's state in MAAS, or the phase before or
// after it.
func machinePhase(m *infrav1.MaasMachine) string {
	state := string(ptr.Deref(m.Status.MachineState, ""))
	switch {
	case !m.DeletionTimestamp.IsZero():
		return phaseDeleting
	case state == "":
		return phasePending
	}
	return state
}

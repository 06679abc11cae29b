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

// Phases that are none of MAAS's states.
const (
	phasePending  = "Pending" // MAAS has no machine yet
	phaseDeleting = "Deleting"
)

// stay is the phase that a machine is in.
type stay struct {
	mode, phase string
	since       time.Time // zero: it was in it when the manager began
}

// phases follows the phases of all MaasMachines.
type phases struct {
	*Metrics
	now func() time.Time

	mu   sync.Mutex
	last map[types.UID]stay
}

// watchPhases counts the MaasMachines by phase as they change, in the cache that
// the controllers use.
func (m *Metrics) watchPhases(in cache.Cache) manager.Runnable {
	p := &phases{Metrics: m, now: time.Now, last: map[types.UID]stay{}}
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

var _ toolscache.ResourceEventHandler = (*phases)(nil)

// OnAdd implements cache.ResourceEventHandler.
func (p *phases) OnAdd(obj any, first bool) {
	m, ok := obj.(*infrav1.MaasMachine)
	if !ok {
		return
	}
	since := p.now()
	if first {
		since = time.Time{}
	}
	p.enter(m, since)
}

// OnUpdate implements cache.ResourceEventHandler.
func (p *phases) OnUpdate(_, obj any) {
	if m, ok := obj.(*infrav1.MaasMachine); ok {
		p.enter(m, p.now())
	}
}

// OnDelete implements cache.ResourceEventHandler.
func (p *phases) OnDelete(obj any) {
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
		p.leave(was)
		delete(p.last, m.UID)
	}
}

func (p *phases) enter(m *infrav1.MaasMachine, since time.Time) {
	is := stay{mode: modeOf(m), phase: phaseOf(m), since: since}
	p.mu.Lock()
	defer p.mu.Unlock()
	was, known := p.last[m.UID]
	if known && was.phase == is.phase && was.mode == is.mode {
		return
	}
	if known {
		p.leave(was)
	}
	p.last[m.UID] = is
	p.phases.WithLabelValues(is.mode, is.phase).Inc()
}

// leave ends a stay.
func (p *phases) leave(was stay) {
	p.phases.WithLabelValues(was.mode, was.phase).Dec()
	if !was.since.IsZero() {
		p.stays.WithLabelValues(was.mode, was.phase).Observe(p.now().Sub(was.since).Seconds())
	}
}

func modeOf(m *infrav1.MaasMachine) string {
	resolved, _ := m.Spec.Resolve(field.NewPath("spec"))
	return string(resolved.Mode)
}

// phaseOf is the state in MAAS, or what comes before and after.
func phaseOf(m *infrav1.MaasMachine) string {
	state := string(ptr.Deref(m.Status.MachineState, ""))
	switch {
	case !m.DeletionTimestamp.IsZero():
		return phaseDeleting
	case state == "":
		return phasePending
	}
	return state
}

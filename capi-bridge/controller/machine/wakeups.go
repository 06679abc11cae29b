package machine

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// stepTimeout limits one step of the engine. The longest step is a compose,
// which MAAS takes up to 120 s for.
const stepTimeout = 4 * time.Minute

// wakeups reconciles machines as soon as the engine's poller sees them change.
// One goroutine waits for each object with a step under way.
//
// The zero value wakes nobody.
type wakeups struct {
	events chan event.GenericEvent

	mu      sync.Mutex
	cancels map[client.ObjectKey]context.CancelFunc
}

// watchSource returns the source that a controller watches before its first
// reconcile.
func (w *wakeups) watchSource() source.Source {
	w.events = make(chan event.GenericEvent)
	return source.Channel(w.events, &handler.EnqueueRequestForObject{})
}

// beginStep begins a step for an object. The step's watches outlive the step,
// so stepCtx ends only when the next step begins. Call returned after the step.
func (w *wakeups) beginStep(ctx context.Context, key client.ObjectKey) (stepCtx context.Context, returned func()) {
	stepCtx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	if end := w.cancels[key]; end != nil {
		end()
	}
	if w.cancels == nil {
		w.cancels = map[client.ObjectKey]context.CancelFunc{}
	}
	w.cancels[key] = cancel
	w.mu.Unlock()
	limit := time.AfterFunc(stepTimeout, cancel)
	return stepCtx, func() { limit.Stop() }
}

// wakeWhenChanged wakes the object once changed is closed, unless another step
// begins first. A nil channel wakes nobody.
func (w *wakeups) wakeWhenChanged(stepCtx context.Context, key client.ObjectKey, changed <-chan struct{}) {
	if changed == nil {
		w.forget(key)
		return
	}
	go func() {
		select {
		case <-stepCtx.Done():
			return
		case <-changed:
		}
		machine := &infrav1.MaasMachine{}
		machine.Namespace, machine.Name = key.Namespace, key.Name
		select {
		case <-stepCtx.Done():
		case w.events <- event.GenericEvent{Object: machine}:
		}
	}()
}

// forget stops waiting for an object.
func (w *wakeups) forget(key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := w.cancels[key]; end != nil {
		end()
		delete(w.cancels, key)
	}
}

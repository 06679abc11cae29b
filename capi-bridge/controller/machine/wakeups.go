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

// stepTimeout bounds one step of the engine, composing included, which MAAS takes
// up to 120 s for.
const stepTimeout = 4 * time.Minute

// wakeups reconciles machines again as soon as the engine's poller saw them
// change. One goroutine waits for each object that is in flight.
//
// The zero value wakes nobody.
type wakeups struct {
	events chan event.GenericEvent

	mu      sync.Mutex
	cancels map[client.ObjectKey]context.CancelFunc
}

// watchSource is what a controller watches, from before its first reconcile on.
func (w *wakeups) watchSource() source.Source {
	w.events = make(chan event.GenericEvent)
	return source.Channel(w.events, &handler.EnqueueRequestForObject{})
}

// beginStep begins a step for an object. Its ctx outlives the step, so that what is
// watched in it is still watched afterwards, and ends when the next one begins.
// returned must be called once the step has.
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

// wakeWhenChanged wakes the object once changed is closed, unless another step begins before.
// A nil channel wakes nobody.
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

// forget waits for an object no longer.
func (w *wakeups) forget(key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := w.cancels[key]; end != nil {
		end()
		delete(w.cancels, key)
	}
}

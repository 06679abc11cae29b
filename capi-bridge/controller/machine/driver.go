package machine

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// observation is a machine as a call of the engine saw it, of whichever kind.
type observation struct {
	engine.Machine
	// host is the LXD host that the machine is, zero unless it is one that is
	// known as such.
	host engine.VMHost
	// ours and finished are what the machine says of itself.
	ours, finished bool
	// registered tells that the host was made known by us, and not by others.
	registered bool
	// leftover is what its making left behind, in a sentence's words.
	leftover string

	done            bool
	moved           bool
	requeueAfter    time.Duration
	reason, message string
	changed         <-chan struct{}
}

// driver takes a machine of one of the engine's kinds through its life.
type driver interface {
	// observe looks, and changes nothing.
	observe(ctx context.Context, ref engine.Ref) (observation, error)
	// step goes one step towards what is wanted. Beside an error, what was seen
	// counts, too.
	step(ctx context.Context, ref engine.Ref) (observation, error)
	// remove goes one step back.
	remove(ctx context.Context, ref engine.Ref) (observation, error)
}

// kindDriver is the driver of a kind.
type kindDriver[Spec, Object any] struct {
	kind    engine.Kind[Spec, Object]
	spec    func(context.Context) (Spec, error)
	convert func(Object) observation
}

func (d kindDriver[Spec, Object]) observe(ctx context.Context, ref engine.Ref) (observation, error) {
	seen, err := d.kind.Observe(ctx, ref)
	if err != nil {
		return observation{}, err
	}
	return d.convert(seen), nil
}

func (d kindDriver[Spec, Object]) step(ctx context.Context, ref engine.Ref) (observation, error) {
	want, err := d.spec(ctx)
	if err != nil {
		return observation{}, err
	}
	return d.convertResult(d.kind.Reconcile(ctx, ref, want))
}

func (d kindDriver[Spec, Object]) remove(ctx context.Context, ref engine.Ref) (observation, error) {
	return d.convertResult(d.kind.Delete(ctx, ref))
}

func (d kindDriver[Spec, Object]) convertResult(res engine.Result[Object], err error) (observation, error) {
	s := d.convert(res.Object)
	s.done, s.moved, s.requeueAfter = res.Done, res.Moved, res.After
	s.reason, s.message, s.changed = res.Reason, res.Message, res.Changed
	return s, err
}

func observationOfVM(vm engine.VM) observation {
	return observation{Machine: vm.Machine, ours: vm.Ours, finished: vm.Finished, leftover: vm.Leftover}
}

func observationOfBareMetal(m engine.BareMetal) observation {
	return observation{Machine: m.Machine, ours: m.Ours, finished: m.Finished}
}

func observationOfHost(h engine.Host) observation {
	return observation{Machine: h.Machine, host: h.VMHost, ours: h.Ours, finished: h.Finished, registered: h.Registered}
}

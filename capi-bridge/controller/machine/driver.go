package machine

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// observation is a machine of any kind, as a call of the engine saw it.
type observation struct {
	engine.Machine
	// host is the LXD host that the machine is. It is zero where MAAS does not
	// know the machine as a host.
	host engine.VMHost
	// ours and finished are what the machine's own marks say.
	ours, finished bool
	// registered is true where we registered the host, and not somebody else.
	registered bool
	// leftover describes what an attempt to make the machine left behind, as
	// part of a sentence.
	leftover string

	done            bool
	moved           bool
	requeueAfter    time.Duration
	reason, message string
	changed         <-chan struct{}
}

// driver drives a machine of one of the engine's kinds.
type driver interface {
	// observe looks at the machine and changes nothing.
	observe(ctx context.Context, ref engine.Ref) (observation, error)
	// step takes one step towards the spec. The observation counts even beside
	// an error.
	step(ctx context.Context, ref engine.Ref) (observation, error)
	// remove takes one step of the removal.
	remove(ctx context.Context, ref engine.Ref) (observation, error)
}

// kindDriver implements driver for one kind of the engine.
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

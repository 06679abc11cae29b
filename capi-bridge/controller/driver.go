package controller

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// sighting is a machine as a call of the engine saw it, of whichever kind.
type sighting struct {
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
	after           time.Duration
	reason, message string
	changed         <-chan struct{}
}

// driver takes a machine of one of the engine's kinds through its life.
type driver interface {
	// observe looks, and changes nothing.
	observe(ctx context.Context, ref engine.Ref) (sighting, error)
	// step goes one step towards what is wanted. Beside an error, what was seen
	// counts, too.
	step(ctx context.Context, ref engine.Ref) (sighting, error)
	// remove goes one step back.
	remove(ctx context.Context, ref engine.Ref) (sighting, error)
}

// driven is the driver of a kind.
type driven[Spec, Object any] struct {
	kind engine.Kind[Spec, Object]
	want func(context.Context) (Spec, error)
	see  func(Object) sighting
}

func (d driven[Spec, Object]) observe(ctx context.Context, ref engine.Ref) (sighting, error) {
	seen, err := d.kind.Observe(ctx, ref)
	if err != nil {
		return sighting{}, err
	}
	return d.see(seen), nil
}

func (d driven[Spec, Object]) step(ctx context.Context, ref engine.Ref) (sighting, error) {
	want, err := d.want(ctx)
	if err != nil {
		return sighting{}, err
	}
	return d.saw(d.kind.Reconcile(ctx, ref, want))
}

func (d driven[Spec, Object]) remove(ctx context.Context, ref engine.Ref) (sighting, error) {
	return d.saw(d.kind.Delete(ctx, ref))
}

func (d driven[Spec, Object]) saw(res engine.Result[Object], err error) (sighting, error) {
	s := d.see(res.Object)
	s.done, s.moved, s.after = res.Done, res.Moved(), res.After
	s.reason, s.message, s.changed = res.Reason, res.Message, res.Changed()
	return s, err
}

func seeVM(vm engine.VM) sighting {
	return sighting{Machine: vm.Machine, ours: vm.Ours, finished: vm.Finished, leftover: vm.Leftover}
}

func seeMetal(m engine.BareMetal) sighting {
	return sighting{Machine: m.Machine, ours: m.Ours, finished: m.Finished}
}

func seeHost(h engine.Host) sighting {
	return sighting{Machine: h.Machine, host: h.VMHost, ours: h.Ours, finished: h.Finished, registered: h.Registered}
}

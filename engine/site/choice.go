package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
)

// maker makes VMs, by MAAS or by LXD: it composes and registers, and holds the engine on these
// ports.
type maker struct {
	composer  engine.Composer
	registrar engine.Registrar
	engine    *assembly.Engine
}

// makerChoice chooses the maker. It asks MAAS when it first needs the answer. The choice is
// made once a step.
type makerChoice struct {
	wanted            Choice
	checkKeyTransport func() error
	// listHosts lists MAAS's VM hosts, and relistHosts lists them anew: ErrGone if MAAS has
	// none any more.
	listHosts   func(context.Context) ([]engine.VMHost, error)
	relistHosts func(context.Context) error

	maas, lxd *maker
	log       *slog.Logger

	mu     sync.Mutex
	chosen *maker // nil until the choice is made
}

// chooseMaker makes the choice. A failed choice is made again.
func (c *makerChoice) chooseMaker(ctx context.Context) (*maker, error) {
	switch c.wanted {
	case MAAS:
		return c.maas, nil
	case LXD:
		return c.lxd, nil
	}
	c.mu.Lock()
	taken := c.chosen
	c.mu.Unlock()
	if taken != nil {
		return taken, nil
	}
	w := c.maas
	_, err := c.listHosts(ctx) // a list that is shared, and often needed next
	switch {
	case errors.Is(err, engine.ErrGone):
		w = c.lxd
	case err != nil:
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chosen == nil { // or another step has learned more meanwhile
		c.chosen = w
	}
	return c.chosen, nil
}

// knownMaker is the known choice, without asking MAAS. Before the first choice it is MAAS. An
// observation often needs no VM hosts.
func (c *makerChoice) knownMaker(context.Context) (*maker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.wanted == LXD:
		return c.lxd, nil
	case c.wanted == MAAS || c.chosen == nil:
		return c.maas, nil
	}
	return c.chosen, nil
}

// canBeOutdated tells whether an upgrade of MAAS can make a choice wrong. A process that runs
// for months lives through upgrades.
func (c *makerChoice) canBeOutdated(w *maker) bool { return c.wanted != MAAS && w == c.maas }

// switchToLXD chooses LXD when MAAS no longer has VM hosts: it never gets them back.
func (c *makerChoice) switchToLXD() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chosen != c.lxd {
		c.log.Info("MAAS has no VM hosts any more: VMs are made in LXD from now on")
	}
	c.chosen = c.lxd
}

// errUpgraded ends a step that began with MAAS when MAAS no longer has VM hosts. No caller sees
// it: the step is repeated with LXD.
var errUpgraded = fmt.Errorf("MAAS has no VM hosts any more: %w", engine.ErrBusy)

// stepObservation is what a step has learned of MAAS. It travels with the context of the step.
type stepObservation struct{ upgraded atomic.Bool }

type stepObservationKey struct{}

// switchIfGone switches the choice if an error says that MAAS no longer has VM hosts. It then
// returns errUpgraded, and the step of ctx is repeated.
func (c *makerChoice) switchIfGone(ctx context.Context, err error) error {
	if !errors.Is(err, engine.ErrGone) {
		return err
	}
	c.switchToLXD()
	if seen, ok := ctx.Value(stepObservationKey{}).(*stepObservation); ok {
		seen.upgraded.Store(true)
	}
	return errUpgraded
}

// runStep takes a step with the maker that by chooses. If the step learns that MAAS no longer
// has VM hosts, it repeats the step with LXD. Any step may be the first of a new process, so an
// upgrade in the middle of a step needs no special case.
func runStep[T any](ctx context.Context, c *makerChoice, by func(context.Context) (*maker, error), take func(context.Context, *maker) (T, error)) (T, error) {
	w, err := by(ctx)
	if err != nil {
		var none T
		return none, err
	}
	seen := &stepObservation{}
	watched := context.WithValue(ctx, stepObservationKey{}, seen)
	got, err := take(watched, w)
	if errors.Is(err, engine.ErrGone) && c.canBeOutdated(w) {
		_ = c.switchIfGone(watched, c.relistHosts(ctx)) // another call may have got the answer 410
	}
	if seen.upgraded.Load() && ctx.Err() == nil {
		return take(ctx, c.lxd)
	}
	return got, err
}

// newChosenKind is a kind that takes each of its steps with the maker of that moment.
func newChosenKind[Spec, Object any](c *makerChoice, of func(*maker) engine.Kind[Spec, Object]) engine.Kind[Spec, Object] {
	return engine.NewKind(engine.Verbs[Spec, Object]{
		Observe: func(ctx context.Context, ref engine.Ref) (Object, error) {
			return runStep(ctx, c, c.knownMaker, func(ctx context.Context, w *maker) (Object, error) { return of(w).Observe(ctx, ref) })
		},
		Reconcile: func(ctx context.Context, ref engine.Ref, want Spec) (engine.Result[Object], error) {
			moved := false
			res, err := runStep(ctx, c, c.chooseMaker, func(ctx context.Context, w *maker) (engine.Result[Object], error) {
				res, err := of(w).Reconcile(ctx, ref, want)
				ref, moved = ref.ForNextStep(res.SystemID, res.Moved), moved || res.Moved // for the repeated step
				return res, err
			})
			res.Moved = res.Moved || moved && res.SystemID == ""
			return res, err
		},
		Delete: func(ctx context.Context, ref engine.Ref) (engine.Result[Object], error) {
			return runStep(ctx, c, c.chooseMaker, func(ctx context.Context, w *maker) (engine.Result[Object], error) { return of(w).Delete(ctx, ref) })
		},
		Check: func(ctx context.Context, ref engine.Ref, want Spec) (o engine.Obstacles) {
			asked := false
			_, err := runStep(ctx, c, c.chooseMaker, func(ctx context.Context, w *maker) (struct{}, error) {
				o, asked = of(w).Check(ctx, ref, want), true
				return struct{}{}, errors.Join(slices.Concat(o.Permanent, o.Temporary, o.Unchecked)...)
			})
			if !asked {
				o.Unchecked = append(o.Unchecked, err)
			}
			return o
		},
	})
}

// Kinds are the kinds of a site.
type Kinds struct {
	VMs      engine.Kind[engine.VMSpec, engine.VM]
	Machines engine.Kind[engine.MachineSpec, engine.BareMetal]
	Hosts    engine.Kind[engine.HostSpec, engine.Host]
}

// newChosenKinds are the kinds of the engine that of returns for each maker.
func (c *makerChoice) newChosenKinds(of func(*maker) *assembly.Engine) Kinds {
	return Kinds{
		VMs:      newChosenKind(c, func(w *maker) engine.Kind[engine.VMSpec, engine.VM] { return of(w).VMs }),
		Machines: of(c.lxd).Machines, // they need no VM hosts
		Hosts:    newChosenKind(c, func(w *maker) engine.Kind[engine.HostSpec, engine.Host] { return of(w).Hosts }),
	}
}

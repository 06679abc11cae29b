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

// maker is who makes VMs, MAAS or LXD: what composes and registers
// with it, and the engine on these ports.
type maker struct {
	composer  engine.Composer
	registrar engine.Registrar
	engine    *assembly.Engine
}

// makerChoice is of the maker: MAAS is asked when it first matters. It is made once a step.
type makerChoice struct {
	wanted            Choice
	checkKeyTransport func() error
	// listHosts lists MAAS's VM hosts, and relist lists them anew: ErrGone where it has none
	// any more.
	listHosts   func(context.Context) ([]engine.VMHost, error)
	relistHosts func(context.Context) error

	maas, lxd *maker
	log       *slog.Logger

	mu     sync.Mutex
	chosen *maker // nil until it is made
}

// chooseMaker makes the choice. One that failed is made again.
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
	if c.chosen == nil { // or another step has learned better meanwhile
		c.chosen = w
	}
	return c.chosen, nil
}

// knownMaker is the choice as far as it is known, without asking MAAS: MAAS, where it was not
// made yet. An observation often needs no VM hosts.
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

// canBeOutdated tells whether an upgrade of MAAS can make a choice wrong. Whoever runs
// for months sees that happen.
func (c *makerChoice) canBeOutdated(w *maker) bool { return c.wanted != MAAS && w == c.maas }

// switchToLXD chooses LXD, once MAAS turns out to have no VM hosts any more: it gets them never
// back.
func (c *makerChoice) switchToLXD() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chosen != c.lxd {
		c.log.Info("MAAS has no VM hosts any more: VMs are made in LXD from now on")
	}
	c.chosen = c.lxd
}

// errUpgraded ends a step that began with MAAS, which has no VM hosts any more. Nobody
// sees it: the step is taken again, with LXD.
var errUpgraded = fmt.Errorf("MAAS has no VM hosts any more: %w", engine.ErrBusy)

// stepObservation is what a step has learned of MAAS. It travels with the context of the step.
type stepObservation struct{ upgraded atomic.Bool }

type stepObservationKey struct{}

// switchIfGone turns the choice, and is errUpgraded, where an error says that MAAS has no VM
// hosts any more. The step of ctx is taken again.
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

// runStep takes a step with the maker that by chooses, and again with LXD if the step learns
// that MAAS has no VM hosts any more. Any step may be the first of a new process, so that
// one which was cut off by an upgrade is nothing special.
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
		_ = c.switchIfGone(watched, c.relistHosts(ctx)) // another call may have been answered by 410
	}
	if seen.upgraded.Load() && ctx.Err() == nil {
		return take(ctx, c.lxd)
	}
	return got, err
}

// newChosenKind is a kind each of whose steps is taken with the maker that is chosen then.
func newChosenKind[Spec, Object any](c *makerChoice, of func(*maker) engine.Kind[Spec, Object]) engine.Kind[Spec, Object] {
	return engine.NewKind(engine.Verbs[Spec, Object]{
		Observe: func(ctx context.Context, ref engine.Ref) (Object, error) {
			return runStep(ctx, c, c.knownMaker, func(ctx context.Context, w *maker) (Object, error) { return of(w).Observe(ctx, ref) })
		},
		Reconcile: func(ctx context.Context, ref engine.Ref, want Spec) (engine.Result[Object], error) {
			moved := false
			res, err := runStep(ctx, c, c.chooseMaker, func(ctx context.Context, w *maker) (engine.Result[Object], error) {
				res, err := of(w).Reconcile(ctx, ref, want)
				ref, moved = ref.ForNextStep(res.SystemID, res.Moved), moved || res.Moved // for the second take
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

// newChosenKinds are those of the engines that of gives for each maker.
func (c *makerChoice) newChosenKinds(of func(*maker) *assembly.Engine) Kinds {
	return Kinds{
		VMs:      newChosenKind(c, func(w *maker) engine.Kind[engine.VMSpec, engine.VM] { return of(w).VMs }),
		Machines: of(c.lxd).Machines, // which need no VM hosts
		Hosts:    newChosenKind(c, func(w *maker) engine.Kind[engine.HostSpec, engine.Host] { return of(w).Hosts }),
	}
}

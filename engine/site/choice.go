package site

import (
	"context"
	"errors"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// maker makes VMs, and knows the hosts that it makes them on.
type maker struct {
	composer  engine.Composer
	registrar engine.Registrar
}

// choice is a maker to be: MAAS is asked when it first matters.
type choice struct {
	wanted    Choice
	mayTravel func() error
	// relist lists MAAS's VM hosts anew: ErrGone where it has none any more.
	relist    func(context.Context) error
	machines  lxd.Machines
	maas, lxd maker

	mu    sync.Mutex
	taken *maker // nil until it is made
}

// made makes the choice. One that failed is made again.
func (c *choice) made(ctx context.Context) (maker, error) {
	switch c.wanted {
	case MAAS:
		return c.maas, nil
	case LXD:
		return c.lxd, nil
	}
	c.mu.Lock()
	taken := c.taken
	c.mu.Unlock()
	if taken != nil {
		return *taken, nil
	}
	m := c.maas
	_, err := m.composer.Hosts(ctx) // a list that is shared, and often needed next
	switch {
	case errors.Is(err, engine.ErrGone):
		m = c.lxd
	case err != nil:
		return maker{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = &m
	return m, nil
}

// passing tells whether an upgrade of MAAS can make a choice wrong. Whoever runs
// for months sees that happen.
func (c *choice) passing(m maker) bool { return c.wanted != MAAS && m != c.lxd }

// outdated tells whether an upgrade of MAAS has made a choice wrong. LXD is
// chosen then: MAAS gets its VM hosts never back.
func (c *choice) outdated(m maker, err error) bool {
	if !errors.Is(err, engine.ErrGone) || !c.passing(m) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = &c.lxd
	return true
}

// confirm is ErrGone where an upgrade of MAAS has made the choice wrong. It is
// for what does not answer 410 then: MAAS still deletes a machine, and leaves its
// instance.
func (c *choice) confirm(ctx context.Context, m maker) error {
	if !c.passing(m) {
		return nil
	}
	return c.relist(ctx)
}

// try lets the chosen one do something, and LXD if MAAS turns out to have no VM
// hosts any more: MAAS has done nothing then.
func try[T any](ctx context.Context, c *choice, do func(maker) (T, error)) (T, error) {
	m, err := c.made(ctx)
	if err != nil {
		var none T
		return none, err
	}
	got, err := do(m)
	if c.outdated(m, err) {
		return do(c.lxd)
	}
	return got, err
}

// act is try for what returns nothing else.
func act(ctx context.Context, c *choice, do func(maker) error) error {
	_, err := try(ctx, c, func(m maker) (struct{}, error) { return struct{}{}, do(m) })
	return err
}

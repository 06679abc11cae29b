package site

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// lateRegistrar is the Registrar of the choice.
type lateRegistrar struct{ *choice }

var _ engine.Registrar = lateRegistrar{}

// TakesOver implements engine.Registrar.
func (l lateRegistrar) TakesOver(ctx context.Context) (bool, error) {
	return try(ctx, l.choice, func(m maker) (bool, error) { return m.registrar.TakesOver(ctx) })
}

// Locate implements engine.Registrar.
func (l lateRegistrar) Locate(ctx context.Context, e engine.Endpoint) error {
	m, err := l.made(ctx)
	if err != nil {
		return err
	}
	return m.registrar.Locate(ctx, e)
}

// Register implements engine.Registrar.
func (l lateRegistrar) Register(ctx context.Context, r engine.Registration) (engine.VMHost, error) {
	if err := l.mayTravel(); err != nil {
		return engine.VMHost{}, err
	}
	return try(ctx, l.choice, func(m maker) (engine.VMHost, error) { return m.registrar.Register(ctx, r) })
}

// Endpoint implements engine.Registrar.
func (l lateRegistrar) Endpoint(ctx context.Context, host engine.VMHost) (engine.Endpoint, error) {
	return try(ctx, l.choice, func(m maker) (engine.Endpoint, error) { return m.registrar.Endpoint(ctx, host) })
}

// UpdateHost implements engine.Registrar.
func (l lateRegistrar) UpdateHost(ctx context.Context, host engine.VMHost, u engine.HostUpdate) error {
	if u.Credentials != nil {
		if err := l.mayTravel(); err != nil {
			return err
		}
	}
	return act(ctx, l.choice, func(m maker) error { return m.registrar.UpdateHost(ctx, host, u) })
}

// TagHost implements engine.Registrar.
func (l lateRegistrar) TagHost(ctx context.Context, host engine.VMHost, tag string) error {
	return act(ctx, l.choice, func(m maker) error { return m.registrar.TagHost(ctx, host, tag) })
}

// UntagHost implements engine.Registrar.
func (l lateRegistrar) UntagHost(ctx context.Context, host engine.VMHost, tag string) error {
	return act(ctx, l.choice, func(m maker) error { return m.registrar.UntagHost(ctx, host, tag) })
}

// Unregister implements engine.Registrar.
func (l lateRegistrar) Unregister(ctx context.Context, host engine.VMHost) error {
	return act(ctx, l.choice, func(m maker) error { return m.registrar.Unregister(ctx, host) })
}

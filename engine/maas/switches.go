package maas

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// switches turn a machine's power, its lock and its rescue mode.
type switches struct{ machines *Machines }

// Lock implements engine.Machines.
func (s switches) Lock(ctx context.Context, systemID string) error {
	return s.turnLock(ctx, systemID, "lock", func(m engine.Machine) bool { return m.Locked })
}

// Unlock implements engine.Machines.
func (s switches) Unlock(ctx context.Context, systemID string) error {
	return s.turnLock(ctx, systemID, "unlock", func(m engine.Machine) bool { return !m.Locked })
}

// turnLock sends one of both operations. MAAS answers 409 to the second one of the same
// (api/machines.py, lock), as to one whose first answer was lost. So a look tells.
func (s switches) turnLock(ctx context.Context, systemID, op string, isDone func(engine.Machine) bool) error {
	err := s.machines.write(ctx, systemID, api.Post(op, machineRoute, systemID), nil)
	if !errors.Is(err, engine.ErrConflict) {
		return err
	}
	if m, lookErr := s.machines.Machine(ctx, systemID); lookErr != nil || !isDone(m) {
		return err
	}
	return nil
}

// Power implements engine.Machines.
func (s switches) Power(ctx context.Context, systemID string) (string, error) {
	r := api.Get(machineRoute, systemID).Op("query_power_state")
	r.Slow = true
	var answer struct {
		State string `json:"state"`
	}
	err := s.machines.write(ctx, systemID, r, &answer) // MAAS notes the state in the machine
	return answer.State, err
}

// PowerOff implements engine.Machines.
func (s switches) PowerOff(ctx context.Context, systemID string) error {
	r := api.Post("power_off", machineRoute, systemID)
	r.Slow = true
	return s.machines.write(ctx, systemID, r, nil)
}

// PowerOn implements engine.Machines.
func (s switches) PowerOn(ctx context.Context, systemID string) error {
	r := api.Post("power_on", machineRoute, systemID)
	r.Slow = true
	return s.machines.write(ctx, systemID, r, nil)
}

// RescueMode implements engine.Machines.
func (s switches) RescueMode(ctx context.Context, systemID string) error {
	return s.machines.write(ctx, systemID, api.Post("rescue_mode", machineRoute, systemID), nil)
}

// ExitRescueMode implements engine.Machines.
func (s switches) ExitRescueMode(ctx context.Context, systemID string) error {
	return s.machines.write(ctx, systemID, api.Post("exit_rescue_mode", machineRoute, systemID), nil)
}

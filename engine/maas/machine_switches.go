package maas

import (
	"context"
	"errors"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// switches change a machine's power, lock and rescue mode.
type switches struct{ machines *Machines }

// Lock implements engine.Machines.
func (s switches) Lock(ctx context.Context, systemID string) error {
	return s.setLock(ctx, systemID, "lock", func(m engine.Machine) bool { return m.Locked })
}

// Unlock implements engine.Machines.
func (s switches) Unlock(ctx context.Context, systemID string) error {
	return s.setLock(ctx, systemID, "unlock", func(m engine.Machine) bool { return !m.Locked })
}

// setLock sends one of the two operations. MAAS answers 409 if the machine is already in
// that state (api/machines.py, lock), for example after a lost answer. So setLock reads the
// machine to decide.
func (s switches) setLock(ctx context.Context, systemID, op string, isDone func(engine.Machine) bool) error {
	err := s.machines.writeMachine(ctx, systemID, api.NewPost(op, machineRoute, systemID), nil)
	if !errors.Is(err, engine.ErrConflict) {
		return err
	}
	if m, lookErr := s.machines.Machine(ctx, systemID); lookErr != nil || !isDone(m) {
		return err
	}
	return nil
}

// QueryPower implements engine.Machines.
func (s switches) QueryPower(ctx context.Context, systemID string) (string, error) {
	r := api.NewGet(machineRoute, systemID).Op("query_power_state")
	r.Slow = true
	var answer struct {
		State string `json:"state"`
	}
	err := s.machines.writeMachine(ctx, systemID, r, &answer) // MAAS stores the state with the machine
	return answer.State, err
}

// PowerOff implements engine.Machines.
func (s switches) PowerOff(ctx context.Context, systemID string) error {
	r := api.NewPost("power_off", machineRoute, systemID)
	r.Slow = true
	return s.machines.writeMachine(ctx, systemID, r, nil)
}

// PowerOn implements engine.Machines.
func (s switches) PowerOn(ctx context.Context, systemID string) error {
	r := api.NewPost("power_on", machineRoute, systemID)
	r.Slow = true
	return s.machines.writeMachine(ctx, systemID, r, nil)
}

// EnterRescueMode implements engine.Machines.
func (s switches) EnterRescueMode(ctx context.Context, systemID string) error {
	return s.machines.writeMachine(ctx, systemID, api.NewPost("rescue_mode", machineRoute, systemID), nil)
}

// ExitRescueMode implements engine.Machines.
func (s switches) ExitRescueMode(ctx context.Context, systemID string) error {
	return s.machines.writeMachine(ctx, systemID, api.NewPost("exit_rescue_mode", machineRoute, systemID), nil)
}

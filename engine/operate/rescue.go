package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// The ends of Rescue.
const (
	RescueEnter = "enter"
	RescueExit  = "exit"
)

// RescueMachine boots a machine into MAAS's rescue mode, or leads it out of it, and waits for
// the end. It leaves a machine alone that is there already.
func RescueMachine(ctx context.Context, machines engine.Machines, systemID, end string, watch ...func(engine.Progress)) error {
	begun := false
	_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.Machine], error) {
		m, err := machines.Machine(ctx, systemID)
		if err != nil {
			return engine.Result[engine.Machine]{}, err
		}
		res := engine.Result[engine.Machine]{
			Object: m, SystemID: systemID, After: engine.FallbackPollInterval, Changed: machines.WatchChange(ctx, m),
			Reason: "Rescuing", Message: fmt.Sprintf("%s is %s", m.Hostname, m.StatusName),
		}
		switch {
		case isRescueReached(m.Status, end):
			res.Done = true
			return res, nil
		case m.Status == engine.StatusEnteringRescue, m.Status == engine.StatusExitingRescue:
			return res, nil
		case begun && (m.Status == engine.StatusFailedEnterRescue || m.Status == engine.StatusFailedExitRescue):
			return res, rescueFailedError(m, end)
		case m.Locked:
			return res, engine.NewLockedError(m, end+" rescue mode of")
		}
		change := machines.EnterRescueMode
		if end == RescueExit {
			change = machines.ExitRescueMode
		}
		if err := change(ctx, systemID); err != nil {
			return res, fmt.Errorf("cannot %s rescue mode of %s, which is %s: %w", end, m.Hostname, m.StatusName, err)
		}
		begun, res.After = true, time.Second
		return res, nil
	}, watch...)
	return err
}

// isRescueReached tells whether a machine has reached the end.
func isRescueReached(s engine.Status, end string) bool {
	if end == RescueEnter {
		return s == engine.StatusRescueMode
	}
	return s < engine.StatusRescueMode || s > engine.StatusFailedExitRescue
}

func rescueFailedError(m engine.Machine, end string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot %s rescue mode of %s: it ended in the state %q: %s", end, m.Hostname, m.StatusName, m.StatusMessage),
		Hint:    "Look at its events in MAAS, and check its power.", Err: engine.ErrInvalid,
	}
}

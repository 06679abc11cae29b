package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// CommissionMachine commissions a machine that nobody has acquired, without hardware tests, and
// waits until it is Ready. Each watch receives the progress. It refuses a machine that is
// deployed or being deployed: commissioning is for machines on which nothing runs.
func CommissionMachine(ctx context.Context, machines engine.Machines, reports engine.Reports, systemID string, watch ...func(engine.Progress)) error {
	begun := false
	_, err := engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.Machine], error) {
		m, err := machines.Machine(ctx, systemID)
		if err != nil {
			return engine.Result[engine.Machine]{}, err
		}
		res := engine.Result[engine.Machine]{
			Object: m, SystemID: systemID, After: engine.FallbackPollInterval, Changed: machines.WatchChange(ctx, m),
			Reason: m.StatusName, Message: m.StatusMessage,
		}
		switch phase := m.Status.Phase(); {
		case !begun && m.Owner != "" && m.Status != engine.StatusCommissioning:
			return res, checkCommission(m)
		case phase == engine.PhaseCommissioning && m.Status != engine.StatusNew:
			begun = true
			return res, nil
		case begun && phase == engine.PhaseReady:
			res.Done = true
			return res, nil
		case begun && phase == engine.PhaseFailed:
			return res, commissionFailedError(ctx, reports, m)
		case begun:
			return res, nil
		}
		if err := checkCommission(m); err != nil {
			return res, err
		}
		if err := machines.Commission(ctx, systemID); err != nil {
			return res, fmt.Errorf("cannot commission %s: %w", m.Hostname, err)
		}
		begun, res.After = true, time.Second
		return res, nil
	}, watch...)
	return err
}

// checkCommission refuses an acquired machine, and one in another transition. While MAAS
// commissions a machine, its owner is the user who began that.
func checkCommission(m engine.Machine) error {
	if m.Owner != "" {
		return &engine.SpecError{
			Field: fieldpath.New("machine"), Message: fmt.Sprintf("%s is %s, and cannot be commissioned while %s owns it", m.Hostname, m.StatusName, m.Owner),
			Hint: "Release the machine first.", Err: engine.ErrConflict,
		}
	}
	if phase := m.Status.Phase(); phase != engine.PhaseReady && phase != engine.PhaseFailed && m.Status != engine.StatusNew {
		return &engine.SpecError{
			Field: fieldpath.New("machine"), Message: fmt.Sprintf("%s is %s, and cannot be commissioned", m.Hostname, m.StatusName),
			Hint: "Wait until it is Ready, or make it Ready in MAAS.", Err: engine.ErrConflict,
		}
	}
	return nil
}

// commissionFailedError says why a commissioning failed. It leaves out what MAAS does not show.
func commissionFailedError(ctx context.Context, reports engine.Reports, m engine.Machine) error {
	evidence, _ := engine.ReadEvidence(ctx, reports, m)
	return &engine.Refusal{
		Message: m.Hostname + " " + engine.EndStateText(m, reports),
		Hint:    "Look at the results of its scripts in MAAS.", Err: engine.ErrInvalid, Evidence: evidence,
	}
}

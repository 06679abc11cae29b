package vm

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
)

// nameWait says that a name will be free soon. It ends a step, and is no failure.
type nameWait struct{ message string }

func (w *nameWait) Error() string { return w.message }

// waitForName waits for a name that another VM has, as long as that one is likely
// to leave it: then the error is a *nameWait. It is nil where nobody will.
func (v *renames) waitForName(key engine.Key, want engine.VMSpec, holder engine.Machine) error {
	if !want.AwaitName {
		return nil
	}
	wait := &nameWait{fmt.Sprintf("the name %s is that of %s (%s), which is being renamed or deleted", want.Name, holder.SystemID, holder.StatusName)}
	if _, leaving := v.region.NamesLeft.Leaver(want.Name, v.Now()); leaving || v.region.NamesLeft.IsRenaming(holder.SystemID, want.Name, v.Now()) {
		return wait
	}
	if engine.SameOwner(holder, key) && v.region.NamesLeft.KeepWaiting(key, v.Now()) {
		return wait
	}
	return nil
}

// rename changes a VM whose hostname is to be another one. It waits for a VM that
// has this name. A wait that is long, or goes round in a circle, could be without
// end: then the VM takes its parking name, so that its former one is free.
func (v *renames) rename(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, u engine.MachineUpdate) error {
	v.region.NamesLeft.BeginLeave(m.SystemID, m.Hostname, want.Name, v.Now())
	err := v.takeName(ctx, key, want, m, u)
	_, waits := errors.AsType[*nameWait](err)
	switch {
	case !waits:
		former := v.region.NamesLeft.FormerOfLast(m.SystemID, v.Now())
		v.region.NamesLeft.EndLeave(m.SystemID, key, v.Now())
		if err != nil && isParked(m) && former != "" && former != m.Hostname {
			v.unpark(ctx, m, former)
		}
	case !isParked(m) && v.region.NamesLeft.MustPark(m.SystemID, v.Now()):
		return v.park(ctx, want, m)
	}
	return err
}

// takeName sends the change, unless the VM that has the name is about to leave it.
func (v *renames) takeName(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, u engine.MachineUpdate) error {
	if id, leaving := v.region.NamesLeft.Leaver(want.Name, v.Now()); leaving && want.AwaitName && id != m.SystemID {
		return &nameWait{fmt.Sprintf("the name %s is that of %s, which is being renamed or deleted", want.Name, id)}
	}
	err := v.Machines.Update(ctx, m.SystemID, u)
	var refusal engine.FieldError
	if errors.As(err, &refusal) && len(refusal.Fields()["hostname"]) > 0 {
		return v.nameRefused(ctx, key, want, m, err)
	}
	return err
}

// parkingName is a name that no other VM wants.
func parkingName(m engine.Machine) string { return engine.MarkerPrefix + m.SystemID }

func isParked(m engine.Machine) bool { return m.Hostname == parkingName(m) }

// park gives a VM its parking name. The mark stays, and the name is no wanted one, so
// that a run which ends here leaves a VM that the next plan finds and renames.
func (v *renames) park(ctx context.Context, want engine.VMSpec, m engine.Machine) error {
	parked, noted := parkingName(m), compose.NoteInstanceName(m.Description, m.Hostname)
	if err := v.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Hostname: &parked, Description: &noted}); err != nil {
		return err
	}
	v.Log.InfoContext(ctx, "renamed VM for the time until its name is free", "name", parked, "wanted", want.Name, "system_id", m.SystemID)
	v.region.NamesLeft.BeginLeave(m.SystemID, parked, want.Name, v.Now())
	return &nameWait{fmt.Sprintf("%s is called %s until %s is free", m.Hostname, parked, want.Name)}
}

// unpark gives a VM that waits in vain its former name back: nobody else wants it. Where
// that fails, the VM keeps its parking name, and the error tells it.
func (v *renames) unpark(ctx context.Context, m engine.Machine, former string) {
	if err := v.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Hostname: &former}); err != nil {
		v.Log.WarnContext(ctx, "cannot give a VM its former name back", "name", m.Hostname, "former", former, "error", err.Error())
	}
}

// nameRefused says what comes of a hostname that MAAS has refused.
func (v *renames) nameRefused(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, refusal error) error {
	named, err := v.Machines.MachinesNamed(ctx, want.Name)
	if err != nil {
		return err
	}
	for _, holder := range named {
		if holder.SystemID == m.SystemID {
			continue
		}
		if wait := v.waitForName(key, want, holder); wait != nil {
			return wait
		}
		return nameTakenError(want, m, holder)
	}
	if want.AwaitName && v.region.NamesLeft.KeepWaiting(key, v.Now()) { // it was left a moment ago
		return &nameWait{fmt.Sprintf("the name %s was that of another machine until now", want.Name)}
	}
	return refusal
}

// nameTakenError says what to do where nobody leaves a name.
func nameTakenError(want engine.VMSpec, m, holder engine.Machine) *engine.SpecError {
	hint := "If that machine is to be renamed or deleted as well, apply again once that is done. Otherwise choose another name."
	if isParked(m) {
		hint += fmt.Sprintf(" While others wait for names, the VM is called %s.", m.Hostname)
	}
	return &engine.SpecError{
		Field: "name", Err: engine.ErrConflict, Hint: hint,
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s)", want.Name, holder.SystemID, holder.StatusName),
	}
}

// rekey gives the row of a VM that was renamed to its new key.
func (v *renames) rekey(ctx context.Context, ref engine.Ref, group string, m engine.Machine) error {
	if ref.NewKey == "" || ref.NewKey == ref.Key {
		return nil
	}
	former, err := v.maker.Row(ctx, ref.Key)
	if err != nil {
		return err
	}
	if err := v.maker.Bind(ctx, ref.NewKey, group, m); err != nil || former.SystemID != m.SystemID {
		return err
	}
	return v.Ledger.Drop(ctx, former)
}

// freeName drops the row of a key whose VM has another mark by now: the key's name is
// free for another VM.
func (v *renames) freeName(ctx context.Context, key engine.Key, m engine.Machine) error {
	row, err := v.maker.Row(ctx, key)
	if err != nil || row.Key == "" || row.SystemID != m.SystemID {
		return err
	}
	return v.Ledger.Drop(ctx, row)
}

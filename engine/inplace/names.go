package inplace

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// NameWaitError says that a hostname will be free soon. It ends a step, and is no failure. The
// next look is due after region.NamePollInterval.
type NameWaitError struct{ message string }

func (w *NameWaitError) Error() string { return w.message }

// CheckNameWait waits for a hostname that another machine has, as long as that machine is
// likely to leave it. Then the error is a *NameWaitError. It is nil if nobody will leave the
// hostname.
func (s *Updater) CheckNameWait(w WantedSettings, holder engine.Machine) error {
	if !w.AwaitName {
		return nil
	}
	wait := func(fate string) error {
		return &NameWaitError{fmt.Sprintf("the name %s belongs to %s (%s), which %s", w.Hostname, holder.SystemID, holder.StatusName, fate)}
	}
	if _, leaving := s.leavingNames.FindLeaver(w.Hostname, s.Now()); leaving || s.leavingNames.IsRenaming(holder.SystemID, w.Hostname, s.Now()) {
		return wait("is being renamed or deleted")
	}
	if engine.IsSameOwner(holder, w.Key) && s.leavingNames.CountWait(w.Key, s.Now()) {
		return wait("this run may still rename or delete")
	}
	return nil
}

// rename changes a machine that gets another hostname. It waits for a machine that has this
// name. A long wait, or a wait in a circle, might never end. Then the machine takes a temporary
// name, so that its former one is free. If it gives up, it gets its former name back.
func (s *Updater) rename(ctx context.Context, w WantedSettings, m engine.Machine, u engine.MachineUpdate) (engine.Machine, error) {
	s.leavingNames.NoteLeaving(m.SystemID, m.Hostname, w.Hostname, s.Now())
	err := s.sendRename(ctx, w, m, u)
	if _, waits := errors.AsType[*NameWaitError](err); waits {
		if !hasTemporaryName(m) && s.leavingNames.NeedsTemporaryName(m.SystemID, s.Now()) {
			return m, s.giveTemporaryName(ctx, w, m)
		}
		return m, err
	}
	if err != nil {
		s.noteGaveUp(m)
	}
	s.leavingNames.NoteLeft(m.SystemID, w.Key, s.Now())
	restored := s.restoreFormerNames(ctx)
	if err == nil || !hasTemporaryName(m) {
		return m, err
	}
	if former := restored[m.SystemID]; former != "" {
		m = m.WithHostname(former)
	} else if taken, ok := errors.AsType[*engine.SpecError](err); ok {
		taken.Hint += fmt.Sprintf(" While others wait for names, the %s has the name %s.", s.kind.Noun, m.Hostname)
	}
	return m, err
}

// noteGaveUp notes the former name of a machine that has a temporary name. A killed run may have
// given it that name: then only its mark tells the former one.
func (s *Updater) noteGaveUp(m engine.Machine) {
	former := s.leavingNames.FormerName(m.SystemID)
	if (former == "" || former == temporaryName(m)) && s.kind.MarkedHostname != nil {
		former = s.kind.MarkedHostname(m)
	}
	if hasTemporaryName(m) && former != "" && former != m.Hostname {
		s.leavingNames.NoteGaveUp(m.SystemID, former)
	}
}

// GiveUpRename returns an engine.Result.GiveUp for a machine that waits for a hostname.
func (s *Updater) GiveUpRename(systemID string, key engine.Key) func(context.Context) error {
	return func(ctx context.Context) error {
		m, err := s.Machines.Machine(ctx, systemID)
		if err != nil {
			return err
		}
		s.noteGaveUp(m)
		s.leavingNames.NoteLeft(systemID, key, s.Now())
		s.restoreFormerNames(ctx)
		return nil
	}
}

// restoreFormerNames gives the machines that gave up their former names back, once no other
// machine may want these. It does so also if the caller has given up. It returns the restored
// names by system id. A machine whose name cannot be restored keeps its temporary name.
func (s *Updater) restoreFormerNames(ctx context.Context) map[string]string {
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	restored := map[string]string{}
	for id, former := range s.leavingNames.TakeGivenUp(s.Now()) {
		m, err := s.Machines.Machine(ctx, id)
		if err == nil && hasTemporaryName(m) {
			err = s.restoreFormerName(ctx, m, former)
		}
		if err == nil {
			restored[id] = former
		}
	}
	return restored
}

// sendRename sends the change, unless the machine that has the name is about to leave it.
func (s *Updater) sendRename(ctx context.Context, w WantedSettings, m engine.Machine, u engine.MachineUpdate) error {
	if id, leaving := s.leavingNames.FindLeaver(w.Hostname, s.Now()); leaving && w.AwaitName && id != m.SystemID {
		return &NameWaitError{fmt.Sprintf("the name %s belongs to %s, which is being renamed or deleted", w.Hostname, id)}
	}
	err := s.Machines.Update(ctx, m.SystemID, u)
	var refusal engine.FieldError
	if errors.As(err, &refusal) && len(refusal.Fields()["hostname"]) > 0 {
		return s.handleNameRefusal(ctx, w, m, err)
	}
	return err
}

func hasTemporaryName(m engine.Machine) bool { return m.Hostname == temporaryName(m) }

// giveTemporaryName gives a machine its temporary name. The mark stays, and nobody wants the
// name. So if the run ends here, the next plan finds and renames the machine.
func (s *Updater) giveTemporaryName(ctx context.Context, w WantedSettings, m engine.Machine) error {
	parked := temporaryName(m)
	change := engine.MachineUpdate{Hostname: &parked}
	if s.kind.NoteHostname != nil {
		noted := s.kind.NoteHostname(m.Description, m)
		change.Description = &noted
	}
	if err := s.Machines.Update(ctx, m.SystemID, change); err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "gave a temporary name until the wanted one is free", "kind", s.kind.Noun, "name", parked, "wanted", w.Hostname, "system_id", m.SystemID)
	s.leavingNames.NoteLeaving(m.SystemID, parked, w.Hostname, s.Now())
	return &NameWaitError{fmt.Sprintf("%s has the name %s until %s is free", m.Hostname, parked, w.Hostname)}
}

// RestoreLastName renames a machine that is being released under its temporary name. It gets
// the last name that we gave it, so that nobody finds a machine with a temporary name.
func (s *Updater) RestoreLastName(ctx context.Context, m engine.Machine, before FormerSettings) engine.Machine {
	if !hasTemporaryName(m) || before.Hostname == nil || len(before.Hostname.Set) == 0 {
		return m
	}
	last := before.Hostname.Set[len(before.Hostname.Set)-1]
	_ = s.restoreFormerName(ctx, m, last) // the log says why it has no former name
	return m.WithHostname(last)
}

// restoreFormerName gives a machine that waits in vain its former name back: nobody else wants
// it. It unlocks the machine for that.
func (s *Updater) restoreFormerName(ctx context.Context, m engine.Machine, former string) error {
	keepsLock := WantedSettings{InPlaceSettings: engine.InPlaceSettings{Locked: new(m.Locked)}}
	m, err := s.UnlockForChange(ctx, keepsLock, m)
	if err == nil {
		err = s.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Hostname: &former})
	}
	if err != nil {
		s.Log.WarnContext(ctx, "cannot restore a former name", "kind", s.kind.Noun, "name", m.Hostname, "former", former, "error", err.Error())
	}
	return s.RelockAfterFailure(ctx, keepsLock, m, err)
}

// handleNameRefusal decides what follows when MAAS has refused a hostname.
func (s *Updater) handleNameRefusal(ctx context.Context, w WantedSettings, m engine.Machine, refusal error) error {
	named, err := s.Machines.MachinesNamed(ctx, w.Hostname)
	if err != nil {
		return err
	}
	for _, holder := range named {
		if holder.SystemID == m.SystemID {
			continue
		}
		if wait := s.CheckNameWait(w, holder); wait != nil {
			return wait
		}
		return HostnameTakenError(s.kind.HostnameField, w.Hostname, holder)
	}
	if w.AwaitName && s.leavingNames.CountWait(w.Key, s.Now()) { // another machine left it a moment ago
		return &NameWaitError{fmt.Sprintf("the name %s belonged to another machine until now", w.Hostname)}
	}
	return refusal
}

// HostnameTakenError says, at a field of the spec, that another machine has the hostname and
// keeps it.
func HostnameTakenError(field fieldpath.Path, hostname string, holder engine.Machine) *engine.SpecError {
	return &engine.SpecError{
		Field: field, Err: engine.ErrConflict,
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s)", hostname, holder.SystemID, holder.StatusName),
		Hint:    "Choose another name, or let that machine be renamed or deleted.",
		Ways:    []engine.Way{engine.WayRetry},
	}
}

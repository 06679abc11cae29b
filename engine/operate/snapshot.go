package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// Snapshotter takes snapshots of VMs, and restores them, in their LXD.
type Snapshotter struct {
	Machines engine.Machines
	Metal    Annotator
	Rows     Rows
	LXD      engine.Snapshots
	// LXDOf finds the LXD of a VM. ErrConflict for a machine that is on no VM host.
	LXDOf func(ctx context.Context, vm engine.Machine) (engine.LXDPlace, error)
	// Hosts lists the VM hosts: a VM that is a VM host itself is not restored.
	Hosts func(context.Context) ([]engine.VMHost, error)
	// Key is one of the owner's keys: the VMs of other owners are refused.
	Key engine.Key
	Now func() time.Time
}

// Annotator sets owner data, as engine.Metal does.
type Annotator interface {
	Annotate(ctx context.Context, systemID string, data map[string]string) error
}

// Rows reads rows of a ledger, as engine.Ledger does.
type Rows interface {
	Row(ctx context.Context, key engine.Key) (engine.Row, error)
}

// SnapshotSpec describes a wanted snapshot.
type SnapshotSpec struct {
	Name      string
	ExpiresIn time.Duration // zero: as the options of the instance say
	Replace   bool          // first deletes a snapshot of that name
}

// SnapshotNameProblem says why LXD refuses a name for a snapshot; empty: it accepts it. The
// first four characters break a path segment (LXD's IsURLSegmentSafe), and a snapshot's name
// has no space.
func SnapshotNameProblem(name string) string {
	const maxBytes = 200 // of a file name: it has at most 255 bytes, and storage drivers add to it
	switch {
	case name == "":
		return "Give the snapshot a name, such as \"before-upgrade\"."
	case len(name) > maxBytes:
		return fmt.Sprintf("A name has at most %d bytes, and this one has %d.", maxBytes, len(name))
	case name == "." || name == "..":
		return fmt.Sprintf("%q means a folder. Use a name with letters, such as \"before-upgrade\".", name)
	}
	for _, r := range name {
		if strings.ContainsRune("/?&+% \\\"'", r) || r < ' ' || r == 0x7f {
			return fmt.Sprintf("It cannot contain %q. Use letters, digits, \"-\", \"_\" and \".\", such as \"before-upgrade\".", r)
		}
	}
	return ""
}

// TakeSnapshot takes a snapshot of a VM, which may run. It tells note, once, which disks of the
// VM the snapshot does not hold.
func (s Snapshotter) TakeSnapshot(ctx context.Context, m engine.Machine, want SnapshotSpec, note func(dataDisks []string)) error {
	at, err := s.findLXD(ctx, m, "take a snapshot of")
	if err != nil {
		return err
	}
	sent, told := false, false
	_, err = engine.WaitUntilDone(ctx, func(ctx context.Context) (engine.Result[engine.Machine], error) {
		res := engine.Result[engine.Machine]{Object: m, SystemID: m.SystemID, Reason: "Snapshotting", Message: "LXD takes the snapshot"}
		list, err := s.LXD.Snapshots(ctx, at, m)
		if errors.Is(err, engine.ErrBusy) {
			res.After = engine.TransitionPollInterval
			return res, nil
		}
		if err != nil {
			return res, err
		}
		if !told && len(list.DataDisks) > 0 {
			note(list.DataDisks)
		}
		told = true
		there, exists := findSnapshot(list, want.Name)
		switch {
		case exists && sent: // the reply was lost
			res.Done = true
			return res, nil
		case exists && !want.Replace:
			return res, snapshotExistsError(m, there)
		case exists:
			if err := s.LXD.DeleteSnapshot(ctx, at, m, want.Name); err != nil {
				return res, fmt.Errorf("cannot delete snapshot %s of %s to replace it: %w", want.Name, m.Hostname, err)
			}
		}
		err = s.LXD.TakeSnapshot(ctx, at, m, s.snapshotRequest(want))
		sent = sent || errors.Is(err, engine.ErrUnclear)
		res.Done = err == nil
		return res, err
	})
	return err
}

// snapshotRequest is the request for LXD.
func (s Snapshotter) snapshotRequest(want SnapshotSpec) engine.SnapshotRequest {
	made := engine.SnapshotRequest{Name: want.Name}
	if want.ExpiresIn > 0 {
		made.ExpiresAt = s.Now().Add(want.ExpiresIn).UTC().Truncate(time.Second)
	}
	return made
}

func findSnapshot(list engine.SnapshotList, name string) (engine.Snapshot, bool) {
	for _, each := range list.Snapshots {
		if each.Name == name {
			return each, true
		}
	}
	return engine.Snapshot{}, false
}

func snapshotExistsError(m engine.Machine, s engine.Snapshot) error {
	return &engine.SpecError{
		Field: fieldpath.New("name"), Message: fmt.Sprintf("%s has a snapshot %s already, of %s", m.Hostname, s.Name, s.CreatedAt.UTC().Format(time.RFC3339)),
		Hint: "Choose another name, or set replace = true to delete that one first. If an interrupted run has just taken it, nothing is left to do.",
		Err:  engine.ErrConflict,
	}
}

// findLXD finds the LXD of a VM of ours that nobody is making or deleting.
func (s Snapshotter) findLXD(ctx context.Context, m engine.Machine, verb string) (engine.LXDPlace, error) {
	if err := s.checkOwned(m, verb); err != nil {
		return engine.LXDPlace{}, err
	}
	row, err := s.Rows.Row(ctx, m.VMMark())
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return engine.LXDPlace{}, fmt.Errorf("cannot read the ledger: %w", err)
	}
	_, finished := engine.MarkerIn(m.Description)
	switch phase := m.Status.Phase(); {
	case row.State == engine.RowLeaving:
		return engine.LXDPlace{}, vmNotReadyError(m, verb, "it is being deleted")
	case !finished:
		return engine.LXDPlace{}, vmNotReadyError(m, verb, "it is not finished yet")
	case phase != engine.PhaseReady && phase != engine.PhaseDeployed:
		return engine.LXDPlace{}, vmNotReadyError(m, verb, "it is "+m.StatusName)
	}
	at, err := s.LXDOf(ctx, m)
	if err != nil {
		return engine.LXDPlace{}, fmt.Errorf("cannot %s %s: %w", verb, m.Hostname, err)
	}
	return at, nil
}

// checkOwned refuses a machine that is not a VM of the owner.
func (s Snapshotter) checkOwned(m engine.Machine, verb string) error {
	owner := s.Key.Owner()
	key, _ := engine.KeyIn(m.Description)
	switch {
	case key == "":
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot %s %s (%s): it is not marked as a VM of owner %s", verb, m.Hostname, m.SystemID, owner),
			Hint:    "Name another VM.", Ways: []engine.Way{engine.WayImport.ForMachine(m.SystemID), engine.WayRetry}, Err: engine.ErrConflict,
		}
	case !engine.IsSameOwner(m, s.Key):
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot %s VM %s (%s): it is marked as made for %s, not for owner %s", verb, m.Hostname, m.SystemID, key, owner),
			Hint:    "Ask for it where the VM is managed, or with the same owner.", Err: engine.ErrConflict,
		}
	}
	return nil
}

func vmNotReadyError(m engine.Machine, verb, why string) error {
	return &engine.SpecError{
		Field: fieldpath.New("machine"), Message: fmt.Sprintf("cannot %s %s: %s", verb, m.Hostname, why),
		Hint: "Wait until the VM is Ready or Deployed and no other run changes it, then try again.", Err: engine.ErrConflict,
	}
}

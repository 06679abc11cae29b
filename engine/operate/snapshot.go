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

// Snapshotter takes snapshots of VMs, and restores them, in the LXD that they are in.
type Snapshotter struct {
	Machines engine.Machines
	Metal    Annotator
	Rows     Rows
	LXD      engine.Snapshots
	// LXDOf finds the LXD of a VM. ErrConflict for a machine that is on no VM host.
	LXDOf func(ctx context.Context, vm engine.Machine) (engine.LXDPlace, error)
	// Hosts lists the VM hosts: a VM that is one itself is not restored.
	Hosts func(context.Context) ([]engine.VMHost, error)
	// Key is one of the owner's keys: the VMs of others are refused.
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

// SnapshotSpec is a snapshot that somebody asks for.
type SnapshotSpec struct {
	Name      string
	ExpiresIn time.Duration // zero: when the options of the instance say so
	Replace   bool          // deletes one of that name before
}

// SnapshotNameProblem says why LXD takes no snapshot of a name; empty: it does. What is part
// of a path has none of the first four (LXD's IsURLSegmentSafe), and a snapshot no space.
func SnapshotNameProblem(name string) string {
	const maxBytes = 200 // of a file's name, which is at most 255 bytes with what storage drivers add
	switch {
	case name == "":
		return "A snapshot has a name, such as \"before-upgrade\"."
	case len(name) > maxBytes:
		return fmt.Sprintf("It has at most %d bytes, and this one has %d.", maxBytes, len(name))
	case name == "." || name == "..":
		return fmt.Sprintf("%q is a folder. Write it with letters, such as \"before-upgrade\".", name)
	}
	for _, r := range name {
		if strings.ContainsRune("/?&+% \\\"'", r) || r < ' ' || r == 0x7f {
			return fmt.Sprintf("It cannot contain %q. Use letters, digits, \"-\", \"_\" and \".\", such as \"before-upgrade\".", r)
		}
	}
	return ""
}

// TakeSnapshot takes a snapshot of a VM, which may run. note is told, once, which of its disks the
// snapshot does not hold.
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
				return res, fmt.Errorf("cannot delete snapshot %s of %s, which is to be replaced: %w", want.Name, m.Hostname, err)
			}
		}
		err = s.LXD.TakeSnapshot(ctx, at, m, s.snapshotRequest(want))
		sent = sent || errors.Is(err, engine.ErrUnclear)
		res.Done = err == nil
		return res, err
	})
	return err
}

// snapshotRequest is what LXD is asked for.
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
		Hint: "Choose another name, or set replace = true, which deletes that one first. If an apply that was cut off has just taken it, there is nothing left to do.",
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

// checkOwned refuses what is not the owner's VM.
func (s Snapshotter) checkOwned(m engine.Machine, verb string) error {
	owner, _, _ := strings.Cut(string(s.Key), "/")
	key, _ := engine.KeyIn(m.Description)
	switch {
	case key == "":
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot %s %s (%s): it is not marked as a VM of owner %s", verb, m.Hostname, m.SystemID, owner),
			Hint:    "Import it as maaslxd_vm and apply, which marks it; or name another VM.", Err: engine.ErrConflict,
		}
	case !engine.IsSameOwner(m, s.Key):
		return &engine.Refusal{
			Message: fmt.Sprintf("cannot %s VM %s (%s): it is marked as made for %s, and not for owner %s", verb, m.Hostname, m.SystemID, key, owner),
			Hint:    "Run the action in the configuration that manages the VM, or give this provider block its owner.", Err: engine.ErrConflict,
		}
	}
	return nil
}

func vmNotReadyError(m engine.Machine, verb, why string) error {
	return &engine.SpecError{
		Field: fieldpath.New("machine"), Message: fmt.Sprintf("cannot %s %s: %s", verb, m.Hostname, why),
		Hint: "Wait until the VM is Ready or Deployed and its apply has ended, then try again.", Err: engine.ErrConflict,
	}
}

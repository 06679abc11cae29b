package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/maaslxd/maaslxd/engine"
)

// growthKeySuffix ends the key of a VM's growth. While the size changes, the growth has a row
// of its own in the ledger; the VM's own row says what the VM was made with.
const growthKeySuffix = "#growing"

// growthOf is what a VM takes of its host in addition. Reductions do not count: nobody gets
// that room before the size is changed.
func growthOf(s engine.VMSpec, have engine.Machine) engine.Need {
	want := needOf(s)
	n := engine.Need{Cores: max(0, want.Cores-int64(have.Cores)), MemoryMiB: max(0, want.MemoryMiB-have.MemoryMiB)}
	if s.HugePages {
		n.HugePagesMiB = n.MemoryMiB
	}
	for _, d := range DiskGrowth(s, have) {
		if n.DiskBytes == nil {
			n.DiskBytes = map[string]int64{}
		}
		n.DiskBytes[d.Pool] += d.SizeGB * 1e9
	}
	return n
}

// DiskGrowth lists how much the disks of a VM grow, and the new disks.
func DiskGrowth(s engine.VMSpec, have engine.Machine) []engine.Disk {
	var growth []engine.Disk
	for n, d := range s.Disks {
		switch {
		case len(have.Disks) == 0: // unknown
		case n >= len(have.Disks):
			growth = append(growth, d)
		case d.SizeGB > have.Disks[n].SizeGB:
			growth = append(growth, engine.Disk{Name: d.Name, SizeGB: d.SizeGB - have.Disks[n].SizeGB, Pool: have.Disks[n].Pool})
		}
	}
	return growth
}

// isEmptyNeed tells that nothing is needed.
func isEmptyNeed(n engine.Need) bool {
	return n.Cores == 0 && n.MemoryMiB == 0 && len(n.DiskBytes) == 0
}

// isSameNeed tells that two needs are the same.
func isSameNeed(a, b engine.Need) bool {
	return a.Cores == b.Cores && a.MemoryMiB == b.MemoryMiB && a.HugePagesMiB == b.HugePagesMiB && maps.Equal(a.DiskBytes, b.DiskBytes)
}

// GrowVM changes the size of a VM on its host by resize. It reserves the growth first, as for a
// new VM.
func (mk *Maker) GrowVM(ctx context.Context, key engine.Key, want engine.VMSpec, have engine.Machine, host engine.VMHost, resize func() error) error {
	row, err := mk.reserveGrowth(ctx, key, want, have, host)
	if err != nil {
		return err
	}
	unlock, err := mk.region.Locks.LockShared(ctx, host)
	if err != nil {
		return err
	}
	defer unlock()
	err = resize()
	return errors.Join(err, mk.endGrowth(ctx, row, err))
}

// reserveGrowth puts the growth of a VM into the ledger, before its LXD is told. The row has no
// system id, so it counts beside every inventory. A row that an interrupted run left is taken
// over if it is the same, and else given up. The row is empty if the VM does not grow.
func (mk *Maker) reserveGrowth(ctx context.Context, key engine.Key, want engine.VMSpec, have engine.Machine, host engine.VMHost) (engine.Row, error) {
	need := growthOf(want, have)
	if isEmptyNeed(need) {
		return engine.Row{}, nil
	}
	at := hostCandidate(host)
	if bytes, unnamed := need.DiskBytes[""]; unnamed && at.DefaultPool != "" { // as in the row
		delete(need.DiskBytes, "")
		need.DiskBytes[at.DefaultPool] += bytes
	}
	r := engine.Reservation{
		Key: key + growthKeySuffix, Name: have.Hostname, Need: need, Candidates: []engine.Candidate{at}, Inventory: host.Inventory,
	}
	row, _, err := mk.Ledger.Place(ctx, r)
	if err == nil && (row.HostKey != host.HostKey || !isSameNeed(row.Need, need)) {
		if err = mk.Ledger.Drop(ctx, row); err == nil {
			err = fmt.Errorf("an earlier change of its size was interrupted: %w", engine.ErrBusy) // it may have been made
		}
	}
	if err == nil {
		err = mk.Ledger.Renew(ctx, row)
	}
	if err != nil {
		return engine.Row{}, mk.handleReservationError(ctx, want, err)
	}
	return row, nil
}

// endGrowth drops the row of a VM's growth, with any outcome. Older inventories are no longer
// accepted then, and newer ones show the new size. The row stays as long as LXD may still be
// changing the size.
func (mk *Maker) endGrowth(ctx context.Context, row engine.Row, outcome error) error {
	if row.Key == "" || errors.Is(outcome, engine.ErrUnclear) {
		return nil
	}
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	if err := mk.dropPlacedRow(ctx, row); err != nil {
		return fmt.Errorf("cannot note in the ledger that %s has its size: %w", row.Name, err)
	}
	return nil
}

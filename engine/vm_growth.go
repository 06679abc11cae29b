package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// growing is the end of the key of what a VM grows by, which has a row of its own
// in the ledger while the size is changed: the VM's says what it was made with.
const growing = "#growing"

// growth is what a VM takes of its host in addition. What it gives back is not
// counted: nobody has it before the size is changed.
func (s VMSpec) growth(have Machine) Need {
	want := s.need()
	n := Need{Cores: max(0, want.Cores-int64(have.Cores)), MemoryMiB: max(0, want.MemoryMiB-have.MemoryMiB)}
	for i, d := range s.Disks {
		if i < len(have.Disks) && d.SizeGB > have.Disks[i].SizeGB {
			if n.DiskBytes == nil {
				n.DiskBytes = map[string]int64{}
			}
			n.DiskBytes[have.Disks[i].Pool] += (d.SizeGB - have.Disks[i].SizeGB) * 1e9
		}
	}
	return n
}

// none tells that nothing is needed.
func (n Need) none() bool { return n.Cores == 0 && n.MemoryMiB == 0 && len(n.DiskBytes) == 0 }

// reserveGrowth puts what a VM grows by into the ledger, before its LXD is told.
// The row has no system id, so it counts besides every inventory. One that was
// left by a run that was cut off is taken if it is the same, else given up. The
// row is empty where the VM does not grow.
func (v *vms) reserveGrowth(ctx context.Context, key Key, want VMSpec, have Machine, host VMHost) (Row, error) {
	need := want.growth(have)
	if need.none() {
		return Row{}, nil
	}
	r := Reservation{
		Key: key + growing, Name: have.Hostname, Need: need, Candidates: []Candidate{host.candidate()}, Inventory: host.Inventory,
	}
	row, _, err := v.Ledger.Place(ctx, r)
	if err == nil && (row.HostKey != host.HostKey || row.Need.Cores != need.Cores || row.Need.MemoryMiB != need.MemoryMiB || !maps.Equal(row.Need.DiskBytes, need.DiskBytes)) {
		if err = v.Ledger.Drop(ctx, row); err == nil {
			err = fmt.Errorf("an earlier change of its size was cut off: %w", ErrBusy) // it may have been made
		}
	}
	if err == nil {
		err = v.Ledger.Renew(ctx, row)
	}
	if err != nil {
		return Row{}, v.unreserved(ctx, want, err)
	}
	return row, nil
}

// endGrowth gives the row of what a VM has grown by up, whatever came of it:
// inventories from before serve no more then, and newer ones show what it has. As
// long as nobody knows whether LXD is still at it, the row stays.
func (v *vms) endGrowth(ctx context.Context, row Row, outcome error) error {
	if row.Key == "" || errors.Is(outcome, ErrUnclear) {
		return nil
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	if err := v.dropAttempt(ctx, row); err != nil {
		return fmt.Errorf("cannot note in the ledger that %s has its size: %w", row.Name, err)
	}
	return nil
}

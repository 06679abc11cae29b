// Package fleet reads the LXD hosts and VMs of a MAAS, and finds room. It changes nothing.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
)

// Fleet is the state of the LXD hosts and VMs of a MAAS at one moment.
type Fleet struct {
	Hosts []Host // sorted by name, then id
	VMs   []VM   // sorted by hostname, then system id
	// VMsError says why VMs may be missing: an LXD that alone knows them does not answer. Nil:
	// none is missing.
	VMsError error
}

// Host is a VM host with its free resources.
type Host struct {
	engine.VMHost
	// FreeCores and FreeMemoryMiB are what new VMs may take: over-commit included, the ledger's
	// promises subtracted. They are never negative.
	FreeCores     int64
	FreeMemoryMiB int64
	// VMs counts the VMs on the host that MAAS knows. OursVMs counts those of them that carry a
	// mark of this program.
	VMs     int
	OursVMs int
	// ServerFingerprint is that of the certificate that its LXD showed, as its machine notes
	// it; empty: no note.
	ServerFingerprint string
}

// VM is a VM on a VM host, with its owner.
type VM struct {
	engine.Machine
	HostKey string // VMHost.HostKey of its host
	// Key is the key in its mark; empty: it carries no mark.
	Key engine.Key
	// Finished means that it once reached the wanted state.
	Finished bool
}

// Reader reads the LXD hosts and VMs of a MAAS. It changes nothing.
type Reader struct{ cfg engine.Config }

// NewReader returns a Reader. It makes no call.
func NewReader(cfg engine.Config) *Reader { return &Reader{cfg} }

// Fleet lists all LXD hosts of MAAS and the VMs on them. It changes nothing.
func (r *Reader) Fleet(ctx context.Context) (Fleet, error) {
	hosts, err := r.cfg.Composer.Hosts(ctx)
	if err != nil {
		return Fleet{}, fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	promised, err := r.cfg.Ledger.PendingRows(ctx)
	if err != nil {
		return Fleet{}, fmt.Errorf("cannot read the ledger: %w", err)
	}
	vms, unseen := r.cfg.Composer.VMs(ctx, hosts)
	if unseen != nil && (ctx.Err() != nil || !errors.Is(unseen, engine.ErrUnavailable) || len(hosts) == 0 || !hosts[0].OnlyLXDKnowsVMs()) {
		return Fleet{}, fmt.Errorf("cannot list the VMs: %w", unseen)
	}
	f := newFleet(hosts, vms, promised)
	f.VMsError = unseen
	return f, r.readServers(ctx, f.Hosts)
}

// readServers fills in the notes of the hosts' machines.
func (r *Reader) readServers(ctx context.Context, hosts []Host) error {
	var reads errgroup.Group // they share calls
	for n := range hosts {
		if hosts[n].MachineID == "" {
			continue
		}
		reads.Go(func() error {
			m, err := r.cfg.Machines.Machine(ctx, hosts[n].MachineID)
			if err != nil && !errors.Is(err, engine.ErrNotFound) {
				return fmt.Errorf("cannot read the machine of VM host %s: %w", hosts[n].Name, err)
			}
			hosts[n].ServerFingerprint = m.OwnerData[engine.ServerFingerprintData]
			return nil
		})
	}
	return reads.Wait()
}

func newFleet(hosts []engine.VMHost, vms []engine.Resident, promised []engine.Row) Fleet {
	f := Fleet{Hosts: make([]Host, 0, len(hosts)), VMs: make([]VM, 0, len(vms))}
	on := map[string]*Host{}
	for _, h := range hosts {
		f.Hosts = append(f.Hosts, Host{
			VMHost: h, FreeCores: h.Cores.FreeAtRatio(h.CPUOvercommit), FreeMemoryMiB: h.MemoryMiB.FreeAtRatio(h.MemoryOvercommit),
		})
	}
	for n := range f.Hosts {
		on[f.Hosts[n].HostKey] = &f.Hosts[n]
	}
	for _, row := range promised {
		if h := on[row.HostKey]; h != nil {
			h.FreeCores -= row.Need.Cores
			h.FreeMemoryMiB -= row.Need.MemoryMiB
		}
	}
	for _, m := range vms {
		h := on[m.HostKey]
		if h == nil || m.SystemID == "" {
			continue // MAAS does not know this VM
		}
		vm := VM{Machine: m.Machine, HostKey: m.HostKey}
		vm.Key, vm.Finished = engine.KeyIn(m.Description)
		h.VMs++
		if owner, _ := engine.MarkerIn(m.Description); owner != "" {
			h.OursVMs++
		}
		f.VMs = append(f.VMs, vm)
	}
	for n := range f.Hosts {
		f.Hosts[n].FreeCores, f.Hosts[n].FreeMemoryMiB = max(0, f.Hosts[n].FreeCores), max(0, f.Hosts[n].FreeMemoryMiB)
	}
	f.sort()
	return f
}

// sort sorts hosts and VMs by name.
func (f *Fleet) sort() {
	slices.SortFunc(f.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID), cmp.Compare(a.HostKey, b.HostKey))
	})
	slices.SortFunc(f.VMs, func(a, b VM) int {
		return cmp.Or(cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.SystemID, b.SystemID))
	})
}

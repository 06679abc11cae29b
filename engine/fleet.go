package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Fleet is what a MAAS has of LXD hosts and VMs at one moment.
type Fleet struct {
	Hosts []FleetHost // sorted by name, then id
	VMs   []FleetVM   // sorted by hostname, then system id
	// Unseen is why VMs may be missing: an LXD that alone knows them does not
	// answer. Nil: none is missing.
	Unseen error
}

// FleetHost is a VM host with what is left on it.
type FleetHost struct {
	VMHost
	// FreeCores and FreeMemoryMiB are what new VMs may take: over-commit
	// included, and less what the ledger has promised. Never negative.
	FreeCores     int64
	FreeMemoryMiB int64
	// VMs counts the VMs that MAAS knows on it, OursVMs those among them that
	// carry a mark of this program.
	VMs     int
	OursVMs int
	// ServerFingerprint is that of the certificate which its LXD was seen with,
	// as its machine says; empty: it does not.
	ServerFingerprint string
}

// FleetVM is a VM on a VM host, and whose it is.
type FleetVM struct {
	Machine
	HostKey string // VMHost.HostKey of its host
	// Key is whose it is, as its mark says; empty: it carries no mark.
	Key Key
	// Finished tells that it once reached what was wanted.
	Finished bool
}

// Fleet lists all LXD hosts of MAAS and the VMs on them. It changes nothing.
func (e *Engine) Fleet(ctx context.Context) (Fleet, error) {
	hosts, err := e.cfg.Composer.Hosts(ctx)
	if err != nil {
		return Fleet{}, fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	promised, err := e.cfg.Ledger.Pending(ctx)
	if err != nil {
		return Fleet{}, fmt.Errorf("cannot read the ledger: %w", err)
	}
	vms, unseen := e.cfg.Composer.VMs(ctx, hosts)
	if unseen != nil && (ctx.Err() != nil || !errors.Is(unseen, ErrUnavailable) || len(hosts) == 0 || hosts[0].ID != 0) {
		return Fleet{}, fmt.Errorf("cannot list the VMs: %w", unseen)
	}
	f := newFleet(hosts, vms, promised)
	f.Unseen = unseen
	return f, e.readServers(ctx, f.Hosts)
}

// readServers fills in what the machines of the hosts say.
func (e *Engine) readServers(ctx context.Context, hosts []FleetHost) error {
	var reads errgroup.Group // which share calls
	for n := range hosts {
		if hosts[n].MachineID == "" {
			continue
		}
		reads.Go(func() error {
			m, err := e.cfg.Machines.Machine(ctx, hosts[n].MachineID)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("cannot read the machine of VM host %s: %w", hosts[n].Name, err)
			}
			hosts[n].ServerFingerprint = m.OwnerData[serverData]
			return nil
		})
	}
	return reads.Wait()
}

func newFleet(hosts []VMHost, vms []Resident, promised []Row) Fleet {
	f := Fleet{Hosts: make([]FleetHost, 0, len(hosts)), VMs: make([]FleetVM, 0, len(vms))}
	on := map[string]*FleetHost{}
	for _, h := range hosts {
		f.Hosts = append(f.Hosts, FleetHost{
			VMHost: h, FreeCores: h.Cores.left(h.CPUOvercommit), FreeMemoryMiB: h.MemoryMiB.left(h.MemoryOvercommit),
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
			continue // MAAS knows no such VM
		}
		vm := FleetVM{Machine: m.Machine, HostKey: m.HostKey}
		vm.Key, vm.Finished = markedBy(m.Description)
		h.VMs++
		if owner, _ := described(m.Description); owner != "" {
			h.OursVMs++
		}
		f.VMs = append(f.VMs, vm)
	}
	for n := range f.Hosts {
		f.Hosts[n].FreeCores, f.Hosts[n].FreeMemoryMiB = max(0, f.Hosts[n].FreeCores), max(0, f.Hosts[n].FreeMemoryMiB)
	}
	slices.SortFunc(f.Hosts, func(a, b FleetHost) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID), cmp.Compare(a.HostKey, b.HostKey))
	})
	slices.SortFunc(f.VMs, func(a, b FleetVM) int {
		return cmp.Or(cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.SystemID, b.SystemID))
	})
	return f
}

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// PlacementDisks are disks as placement sees them. One whose size is not known yet, as in a
// plan, is taken to be as small as can be.
func PlacementDisks(disks []Disk) []placement.Disk {
	var list []placement.Disk
	for _, d := range disks {
		list = append(list, placement.Disk{SizeGB: max(1, d.SizeGB), Pool: d.Pool})
	}
	return list
}

// PlacementError turns placement's errors into the engine's. Where only room is
// missing, or a host that MAAS has not reached, a later try may do better.
func PlacementError(name string, err error) error {
	var misfit *placement.FitError
	var need *placement.NeedError
	switch {
	case errors.As(err, &need):
		return &SpecError{Field: fieldpath.New(need.Field), Message: need.Message, Err: ErrInvalid}
	case !errors.As(err, &misfit):
		return err
	}
	refusal := error(&Error{
		Type: InsufficientResources, Message: fmt.Sprintf("no VM host fits %s: %v", name, misfit), Hint: misfitHint(misfit),
	})
	if !misfit.IsTemporary() {
		refusal = MarkTerminal(refusal)
	}
	return refusal
}

// misfitHint names the first hosts and what each lacks.
func misfitHint(misfit *placement.FitError) string {
	const most = 5
	var lines []string
	hosts := misfit.Rejections()
	for _, m := range hosts[:min(most, len(hosts))] {
		lines = append(lines, m.String())
	}
	if len(hosts) > most {
		lines = append(lines, fmt.Sprintf("and %d more", len(hosts)-most))
	}
	if len(lines) == 0 {
		return "Register an LXD server as a VM host in MAAS first."
	}
	return strings.Join(lines, "; ") + "."
}

// What a host is like depends on who makes its VMs: MAAS, which then has a number for
// it, or this program in LXD, where MAAS knows a machine only. The traits below say so.

// MAASMakesVMs tells that MAAS makes the VMs of the host.
func (h VMHost) MAASMakesVMs() bool { return h.ID != 0 }

// LeavesInstances tells that a compose which failed late leaves its instance in LXD.
// What this program makes itself it clears away.
func (h VMHost) LeavesInstances() bool { return h.MAASMakesVMs() }

// OnlyLXDKnowsVMs tells that the LXD alone knows which VMs are on the host.
func (h VMHost) OnlyLXDKnowsVMs() bool { return !h.MAASMakesVMs() }

// HasVMHostInMAAS tells that MAAS shows the VM host of a VM, whose tags it then gave it.
func (m Machine) HasVMHostInMAAS() bool { return m.HostID != 0 }

// IsVirtual tells whether MAAS knows the machine as a VM. Where it has no VM hosts, its
// power type alone tells.
func (m Machine) IsVirtual() bool {
	return m.HasVMHostInMAAS() || slices.Contains([]string{"lxd", "virsh"}, m.PowerType)
}

// SpecID is by what a spec can name the host, whatever others are called.
func (h VMHost) SpecID() string {
	if !h.MAASMakesVMs() {
		return h.MachineID
	}
	return fmt.Sprint(h.ID)
}

// MatchesName tells whether a spec names the host so: by its name, its id, or the
// system id of its machine.
func (h VMHost) MatchesName(name string) bool {
	return h.Name == name || h.MachineID == name || h.MAASMakesVMs() && fmt.Sprint(h.ID) == name
}

// HasLostMachine reports whether MAAS deleted the record of the machine that the LXD
// runs on. It does so with any VM host of that LXD, for all of them: a compose on the
// others is then refused, until MAAS has looked at their LXD again.
func (h VMHost) HasLostMachine() bool {
	return h.MAASMakesVMs() && h.Version != "" && h.MachineID == ""
}

// HasHugePages tells whether the host is known to have huge pages.
func (h VMHost) HasHugePages() bool { return h.HugePagesMiB.Total > 0 }

// DefaultPool is the storage pool that disks go to which name none; empty: not
// known.
func (h VMHost) DefaultPool() string {
	for _, p := range h.StoragePools {
		if p.Default {
			return p.Name
		}
	}
	return ""
}

// PlacementHost is the host as placement sees it. What may pass is NeverReached, what
// stays is Unusable.
func (h VMHost) PlacementHost() placement.Host {
	p := placement.Host{
		ID: h.HostKey, Name: h.Name, Type: placement.TypeLXD,
		Zone: h.Zone, Pool: h.Pool, Tags: h.Tags, Architectures: h.Architectures, Profiles: h.offeredProfiles(),
		Cores: placement.Amount(h.Cores), MemoryMiB: placement.Amount(h.MemoryMiB), HugePagesMiB: placement.Amount(h.HugePagesMiB),
		CPUOvercommit: h.CPUOvercommit, MemoryOvercommit: h.MemoryOvercommit,
		NeverReached: !h.IsInventoryKnown() && h.UnusableReason() == "", NeverReachedReason: h.InventoryUnknownReason(), UnusableReason: h.UnusableReason(),
	}
	for _, s := range h.StoragePools {
		p.StoragePools = append(p.StoragePools, placement.StoragePool{
			Name: s.Name, TotalBytes: s.TotalBytes, FreeBytes: s.AvailableBytes, Default: s.Default,
		})
	}
	return p
}

// IsInventoryKnown tells that something is known of what the host has.
func (h VMHost) IsInventoryKnown() bool { return h.Version != "" && h.Cores.Total > 0 }

// UnusableReason says why no VM at all can be made on the host, however long one
// waits; empty: it can.
func (h VMHost) UnusableReason() string {
	if h.Err == nil || h.Version == "" && !IsTerminal(h.Err) {
		return ""
	}
	return plainErrorText(h.Err)
}

// plainErrorText is what an error says, without what sorts it.
func plainErrorText(err error) string {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed.Message + causeText(typed.Err)
	}
	if spec, ok := errors.AsType[*SpecError](err); ok {
		return spec.Message
	}
	return err.Error()
}

// InventoryUnknownReason says why nothing is known of what the host has; empty: it is.
func (h VMHost) InventoryUnknownReason() string {
	switch {
	case h.IsInventoryKnown():
		return ""
	case h.Err != nil:
		return plainErrorText(h.Err)
	case h.Version == "":
		return "its LXD was never reached"
	}
	return "its inventory has not come yet"
}

// UsableError refuses a named host that placement would pass over. An LXD that does
// not answer may do so soon; nil stays nil.
func (h VMHost) UsableError() error {
	if errors.Is(h.Err, ErrUnavailable) {
		return h.Err
	}
	return MarkTerminal(h.Err)
}

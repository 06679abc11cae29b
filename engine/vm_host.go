package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// PlacementDisks are disks as placement sees them. A disk of unknown size, as in a plan, counts
// as the smallest possible one.
func PlacementDisks(disks []Disk) []placement.Disk {
	var list []placement.Disk
	for _, d := range disks {
		list = append(list, placement.Disk{SizeGB: max(1, d.SizeGB), Pool: d.Pool})
	}
	return list
}

// PlacementError turns placement's errors into the engine's. If only room is missing, or MAAS
// has not reached a host, a later try may succeed.
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

// misfitHint names the first hosts, and what each of them lacks.
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

// The traits of a host depend on who makes its VMs. If MAAS does, it has a number for the host.
// If this program makes them in LXD, MAAS knows only a machine.

// MAASMakesVMs tells that MAAS makes the VMs of the host.
func (h VMHost) MAASMakesVMs() bool { return h.ID != 0 }

// LeavesInstances tells that a compose that failed late leaves its instance in LXD. This
// program removes such instances of its own.
func (h VMHost) LeavesInstances() bool { return h.MAASMakesVMs() }

// OnlyLXDKnowsVMs tells that only the LXD knows which VMs are on the host.
func (h VMHost) OnlyLXDKnowsVMs() bool { return !h.MAASMakesVMs() }

// HasVMHostInMAAS tells that MAAS shows the VM host of a VM. MAAS then gave the VM the host's
// tags.
func (m Machine) HasVMHostInMAAS() bool { return m.HostID != 0 }

// IsVirtual tells whether MAAS knows the machine as a VM. Without VM hosts, only its power type
// tells.
func (m Machine) IsVirtual() bool {
	return m.HasVMHostInMAAS() || slices.Contains([]string{"lxd", "virsh"}, m.PowerType)
}

// SpecID is a name for the host in a spec that no other host answers to.
func (h VMHost) SpecID() string {
	if !h.MAASMakesVMs() {
		return h.MachineID
	}
	return fmt.Sprint(h.ID)
}

// MatchesName tells whether a spec means this host: by its name, its id, or the system id of
// its machine.
func (h VMHost) MatchesName(name string) bool {
	return h.Name == name || h.MachineID == name || h.MAASMakesVMs() && fmt.Sprint(h.ID) == name
}

// HasLostMachine reports whether MAAS deleted the record of the machine that runs the LXD. MAAS
// does so when it deletes any VM host of that LXD. The machine is then missing for the LXD's
// other VM hosts, too. A compose on those fails until MAAS has looked at their LXD again.
func (h VMHost) HasLostMachine() bool {
	return h.MAASMakesVMs() && h.Version != "" && h.MachineID == ""
}

// HasHugePages tells whether the host is known to have huge pages.
func (h VMHost) HasHugePages() bool { return h.HugePagesMiB.Total > 0 }

// DefaultPool is the storage pool for disks that name none; empty: unknown.
func (h VMHost) DefaultPool() string {
	for _, p := range h.StoragePools {
		if p.Default {
			return p.Name
		}
	}
	return ""
}

// VMArchitecture is the architecture of the VMs of the host, such as "amd64/generic"; empty:
// unknown.
func (h VMHost) VMArchitecture() string {
	if len(h.Architectures) == 0 {
		return ""
	}
	return h.Architectures[0]
}

// PlacementHost is the host as placement sees it. An obstacle that may pass sets NeverReached,
// a lasting one UnusableReason.
func (h VMHost) PlacementHost() placement.Host {
	p := placement.Host{
		ID: h.HostKey, Name: h.Name, Type: placement.TypeLXD,
		Zone: h.Zone, Pool: h.Pool, Tags: h.Tags, Architectures: h.Architectures[:min(1, len(h.Architectures))], Profiles: h.offeredProfiles(),
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

// IsInventoryKnown tells that the host's inventory is known.
func (h VMHost) IsInventoryKnown() bool { return h.Version != "" && h.Cores.Total > 0 }

// UnusableReason says why the host can never make a VM, however long you wait; empty: it can.
func (h VMHost) UnusableReason() string {
	if h.Err == nil || h.Version == "" && !IsTerminal(h.Err) {
		return ""
	}
	return plainErrorText(h.Err)
}

// plainErrorText is the text of an error without the Err… value that sorts it.
func plainErrorText(err error) string {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed.Message + causeText(typed.Err)
	}
	if spec, ok := errors.AsType[*SpecError](err); ok {
		return spec.Message
	}
	return ErrorText(err)
}

// InventoryUnknownReason says why the host's inventory is unknown; empty: it is known.
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

// InventoryUnknownHint says what makes the host's inventory known.
func (h VMHost) InventoryUnknownHint() string {
	var hints []string
	if typed, ok := errors.AsType[*Error](h.Err); ok {
		hints = append(hints, typed.Hint)
	}
	if refusal, ok := errors.AsType[*Refusal](h.Err); ok {
		hints = append(hints, refusal.Hint)
	}
	return cmp.Or(append(hints, "Wait until its LXD answers.")...)
}

// UsableError refuses a named host that placement would skip. An LXD that does not answer may
// answer soon. Nil means that the host is usable.
func (h VMHost) UsableError() error {
	if errors.Is(h.Err, ErrUnavailable) {
		return h.Err
	}
	return MarkTerminal(h.Err)
}

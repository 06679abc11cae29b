package compose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// foundMachines is the result of a look after a compose that failed with a clear answer: our
// VM, a stranger with its name, or neither.
type foundMachines struct{ ours, stranger *engine.Machine }

// lookAfterCompose looks for the VM, also after the caller has given up: the next step no
// longer has the answer of the compose.
func (a *Attempt) lookAfterCompose(ctx context.Context, t composeResult) (foundMachines, error) {
	ctx, cancel := engine.WithGrace(ctx)
	defer cancel()
	m, stranger, err := a.FindVM(ctx, engine.Ref{Key: a.key, Name: a.composeHostname()})
	switch {
	case err == nil:
		return foundMachines{ours: &m}, nil
	case !errors.Is(err, engine.ErrNotFound):
		return foundMachines{}, err
	case stranger == nil:
		return foundMachines{}, nil
	}
	ours, err := a.isFromFailedCompose(ctx, t, *stranger)
	if err != nil || !ours {
		return foundMachines{stranger: stranger}, err
	}
	return a.markNewborn(ctx, *stranger)
}

// maxFurtherLooks is the number of further looks, composeLookPause apart, for a name that LXD
// has. They add up to half a minute.
const maxFurtherLooks = 10

// keepLooking continues to look while LXD has an instance of the name and MAAS shows none. The
// instance may be ours: for example, a run died in its compose, its ledger is lost, and MAAS
// still composes. Nothing is composed meanwhile, as LXD would refuse it again.
func (a *Attempt) keepLooking(ctx context.Context, t *composeResult) error {
	for range maxFurtherLooks {
		if t.found.ours != nil || t.found.stranger != nil || ctx.Err() != nil {
			break
		}
		pauseBeforeLook(ctx)
		var err error
		if t.found, err = a.lookAfterCompose(ctx, *t); err != nil {
			return err
		}
	}
	return nil
}

// markNewborn marks a new VM without a mark, and after a pause looks again whose it is.
// Example: A and B have ledgers of their own, and ask for web-1 with the same size on h1 at the
// same moment. Both find the new VM. It then belongs to the one who marked it last; nobody has
// used it yet.
// The VM is bound first. If the mark fails, the next look finds it by the row, unless another
// owner has marked it by then.
func (a *Attempt) markNewborn(ctx context.Context, m engine.Machine) (foundMachines, error) {
	m.HugePages = a.want.HugePages // MAAS does not tell
	if err := a.BindVM(ctx, a.key, a.want.Placement.Group, m); err != nil {
		return foundMachines{}, err
	}
	text := engine.DescriptionWithMark(m.Description, a.key, false)
	soon, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	if err := a.Machines.Update(soon, m.SystemID, engine.MachineUpdate{Description: &text}); err != nil {
		return foundMachines{}, fmt.Errorf("cannot mark %s (%s): %w", m.Hostname, m.SystemID, err)
	}
	pauseBeforeLook(ctx)
	now, err := a.Machines.Machine(ctx, m.SystemID)
	switch {
	case err != nil:
		return foundMachines{}, fmt.Errorf("cannot read %s again after it was marked: %w", m.Hostname, err)
	case now.IsMarkedByAnother(a.key):
		return foundMachines{stranger: &now}, nil
	}
	return foundMachines{ours: &now}, nil
}

// markTimeout bounds the time for a mark. When another owner looks again after its own mark, a
// run that saw the VM without a mark has set its mark, or failed.
const markTimeout = composeLookPause * 2 / 3

// isFromFailedCompose reports whether a machine without a marker comes from the compose that
// just failed. Example: A composes web-1 on h1. Meanwhile a sync of h1 ends, MAAS adopts the
// new instance, and then refuses the name.
//
// By then LXD had made our instance. LXD allows a name once, so a machine of that name on that
// host is ours. Only an adopted machine has no tags on its disks: compose gives each disk at
// least its pool's. MAAS words the refusal in the same way if the name was taken before the
// compose. Then the machine has another size, or is another key's in the ledger. After a lost
// reply nothing proves whose it is.
func (a *Attempt) isFromFailedCompose(ctx context.Context, t composeResult, m engine.Machine) (bool, error) {
	var complaint engine.FieldError
	if !errors.As(t.failure, &complaint) || len(complaint.Fields()["hostname"]) == 0 || !t.host.MAASMakesVMs() || m.HostID != t.host.ID {
		return false, nil
	}
	owner, _ := engine.MarkerIn(m.Description)
	tagged := slices.ContainsFunc(m.Disks, func(d engine.MachineDisk) bool { return len(d.Tags) > 0 })
	wanted := a.want
	wanted.Host = m.HostName
	if field, _, _ := ImmutableDifference(wanted, m); owner != "" || tagged || !field.IsEmpty() {
		return false, nil
	}
	rows, err := a.Ledger.Rows(ctx)
	if err != nil {
		return false, fmt.Errorf("cannot read the ledger: %w", err)
	}
	return !slices.ContainsFunc(rows, func(other engine.Row) bool {
		return other.Key != a.key && (other.SystemID == m.SystemID || other.SystemID == "" && other.Name == a.want.Name && other.HostKey == t.host.HostKey)
	}), nil
}

// MemoryBlockMiB is how far the reported memory of a VM may differ from its configured one.
// Commissioning counts in Linux's memory blocks, 128 MiB on x86.
const MemoryBlockMiB = 128

// ImmutableDifference compares settings that can no longer be changed, as far as MAAS shows
// them. It says what differs; field is empty if nothing does.
func ImmutableDifference(want engine.VMSpec, m engine.Machine) (field fieldpath.Path, had, wanted string) {
	cores := max(want.Cores, len(want.PinnedCores))
	switch {
	case want.Host != "" && !IsOnHost(m, want.Host):
		return fieldpath.New("vm_host"), "VM host " + m.HostName, "VM host " + want.Host
	case m.Cores != 0 && m.Cores != cores:
		return fieldpath.New("cores"), countText(m.Cores, "core"), countText(cores, "core")
	case m.MemoryMiB != 0 && (m.MemoryMiB > want.MemoryMiB || m.MemoryMiB <= want.MemoryMiB-MemoryBlockMiB):
		return fieldpath.New("memory_mib"), fmt.Sprintf("%d MiB of memory", m.MemoryMiB), fmt.Sprintf("%d MiB of memory", want.MemoryMiB)
	case len(want.Interfaces) > 0 && len(want.Interfaces) != len(m.Interfaces):
		return fieldpath.New("interfaces"), countText(len(m.Interfaces), "interface"), countText(len(want.Interfaces), "interface")
	case m.Image != "" && want.Deploy == nil:
		return fieldpath.New("deploy"), "the image " + m.Image, "no installation"
	case m.Image != "" && want.Deploy.Image != "" && m.Image != want.Deploy.Image && !strings.HasSuffix(m.Image, "/"+want.Deploy.Image):
		return fieldpath.New("deploy", "image"), "the image " + m.Image, "the image " + want.Deploy.Image
	}
	var sizes, wishes []int64
	for _, d := range m.Disks {
		sizes = append(sizes, d.SizeGB)
	}
	for _, d := range want.Disks {
		wishes = append(wishes, d.SizeGB)
	}
	// MAAS learns the disks of an enlisted VM when it commissions it.
	if len(sizes) > 0 && !slices.Equal(sizes, wishes) {
		return fieldpath.New("disks"), fmt.Sprintf("disks of %d GB", sizes), fmt.Sprintf("disks of %d GB", wishes)
	}
	return settingsDifference(want, m)
}

// countText is a number with its noun: "1 core", "3 cores".
func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// settingsDifference compares the wanted options and devices with those of the VM, if LXD tells
// them. Other people may have added others.
func settingsDifference(want engine.VMSpec, m engine.Machine) (field fieldpath.Path, had, wanted string) {
	for _, key := range slices.Sorted(maps.Keys(want.Config)) {
		if has, value := m.Config[key], want.Config[key]; m.Config != nil && has != value {
			return fieldpath.New("config").Key(key), fmt.Sprintf("%s %q", key, has), fmt.Sprintf("%s %q", key, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Devices)) {
		has, had := m.Devices[name]
		switch {
		case m.Devices == nil:
		case !had:
			return fieldpath.New("devices").Key(name), "no device " + name, "a device " + name + " of the type " + want.Devices[name].Type
		case !has.Equal(want.Devices[name]):
			return fieldpath.New("devices").Key(name), fmt.Sprintf("a device %s %v", name, has.LXDProperties()), fmt.Sprintf("a device %s %v", name, want.Devices[name].LXDProperties())
		}
	}
	return fieldpath.Path{}, "", ""
}

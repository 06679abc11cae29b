package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// readMachineOf reads the machine that a new VM host runs on. If that machine cannot be ours,
// the registration is undone. It stays if MAAS would delete the machine with it, and with the
// machine the records of all its VMs.
func (h *otherHostSteps) readMachineOf(ctx context.Context, key engine.Key, record engine.VMHost) (engine.Machine, error) {
	m, err := h.Machines.Machine(ctx, record.MachineID)
	owner := engine.Key(m.OwnerData[engine.KeyData])
	switch {
	case errors.Is(err, engine.ErrNotFound) && record.MachineID != "":
		return engine.Machine{}, errors.Join(&engine.Refusal{
			Message: fmt.Sprintf("the LXD of VM host %s runs on node %s, which is not a machine of MAAS, but probably a region or rack controller", record.Name, record.MachineID),
			Hint:    "MAAS stores no marks on a controller. Register that LXD in MAAS yourself, and name it in vm_host of the VMs.", Err: engine.ErrConflict,
		}, h.unregisterUnfinished(ctx, key, record))
	case err != nil:
		return engine.Machine{}, fmt.Errorf("cannot read the machine of VM host %s: %w", record.Name, err)
	case owner != "" && owner != key:
		if m.PowerType != "" { // otherwise the machine is deleted with its VM host
			return engine.Machine{}, errors.Join(secondHostError("VM host "+record.Name, m), h.unregisterUnfinished(ctx, key, record))
		}
		refusal := secondHostError("VM host "+record.Name, m)
		refusal.Hint += fmt.Sprintf(" VM host %s stays registered: with it, MAAS would forget the machine and the VMs of its other VM hosts.", record.Name)
		return engine.Machine{}, refusal
	}
	return m, nil
}

// unregisterUnfinished removes a VM host that was registered for a key and never finished.
func (h *otherHostSteps) unregisterUnfinished(ctx context.Context, key engine.Key, record engine.VMHost) error {
	if !slices.Contains(record.Tags, engine.MarkerOf(key)) {
		return nil
	}
	if err := h.Registrar.Unregister(ctx, record); err != nil {
		return fmt.Errorf("cannot remove VM host %s again: %w", record.Name, err)
	}
	h.Names.Refresh(engine.ListHosts)
	return nil
}

// secondHostError says that the LXD of a VM host, or at an address, is another owner's.
func secondHostError(of string, m engine.Machine) *engine.SpecError {
	return &engine.SpecError{
		Field: fieldpath.New("address"), Message: fmt.Sprintf("the LXD of %s runs on machine %s (%s), whose VM host belongs to %s", of, m.Hostname, m.SystemID, m.OwnerData[engine.KeyData]),
		Hint: "A machine can have one VM host of this program. Name that one in vm_host of the VMs, or remove it there.", Ways: []engine.Way{engine.WayImport.ForMachine(m.SystemID)}, Err: engine.ErrConflict,
	}
}

// checkOwners refuses an existing LXD that is a VM host of another owner, as far as addresses
// and certificates show it.
func (h *otherHostSteps) checkOwners(ctx context.Context, key engine.Key, e engine.Endpoint, server *engine.LXDServer) error {
	records, err := h.Composer.Hosts(ctx)
	if err != nil && !errors.Is(err, engine.ErrGone) {
		return fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(e.Address, "https://"))
	if err != nil {
		return fmt.Errorf("cannot read the address %s: %w", e.Address, err)
	}
	var reads errgroup.Group // they share calls
	for _, record := range records {
		if record.MachineID == "" {
			continue
		}
		reads.Go(func() error {
			m, err := h.Machines.Machine(ctx, record.MachineID)
			owner := engine.Key(m.OwnerData[engine.KeyData])
			if err != nil || owner == "" || owner == key {
				return nil
			}
			// The certificate counts only without an address: members of a cluster share
			// theirs.
			noted := m.OwnerData[engine.AddressData]
			same := noted == e.Address || slices.Contains(m.IPAddresses, host)
			if noted == "" && server != nil && server.Fingerprint != "" {
				same = same || m.OwnerData[engine.ServerFingerprintData] == server.Fingerprint
			}
			if same {
				return secondHostError(e.Address, m)
			}
			return nil
		})
	}
	return reads.Wait()
}

// otherHostIDs are the ids of the other VM hosts of a VM host's LXD, which may lose their
// machine with it. If the VM hosts cannot be listed, it returns none.
func (h *otherHostSteps) otherHostIDs(ctx context.Context, host engine.VMHost) []int {
	if !host.MAASMakesVMs() || host.MachineID == "" {
		return nil
	}
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return nil
	}
	var ids []int
	for _, other := range otherHostsOn(host.MachineID, host, all) {
		ids = append(ids, other.ID)
	}
	return ids
}

// otherHostsOn are the VM hosts on a machine except one.
func otherHostsOn(machineID string, host engine.VMHost, all []engine.VMHost) []engine.VMHost {
	return slices.DeleteFunc(slices.Clone(all), func(o engine.VMHost) bool { return o.ID == host.ID || o.MachineID != machineID })
}

// checkOtherHostsEmpty refuses to remove a VM host if MAAS made the machine's record itself and
// other VM hosts of its LXD have VMs. MAAS deletes the record with the VM host, and the records
// of all VMs that name it as their parent. So the other VM hosts lose their VMs, too. The
// instances stay in LXD, and the next refresh adopts and power-cycles them.
func (h *otherHostSteps) checkOtherHostsEmpty(ctx context.Context, key engine.Key, m engine.Machine, record engine.VMHost) error {
	if m.SystemID == "" || m.PowerType != "" || !record.MAASMakesVMs() {
		return nil
	}
	all, err := h.Composer.Hosts(ctx)
	if err != nil {
		return fmt.Errorf("cannot list the VM hosts: %w", err)
	}
	vms, err := h.Composer.VMs(ctx, otherHostsOn(m.SystemID, record, all))
	if err != nil {
		return fmt.Errorf("cannot list the VMs on the other VM hosts of %s: %w", m.Hostname, err)
	}
	again := key + "/beside" // its own VMs are counted separately
	if len(vms) == 0 {
		h.vmLooks.Forget(again)
		return nil
	}
	ours, leaving, names := 0, false, make([]string, len(vms))
	for n, vm := range vms {
		names[n] = fmt.Sprintf("%s (%s, on %s)", vm.Hostname, vm.SystemID, vm.HostName)
		if key, _ := engine.KeyIn(vm.Description); key != "" {
			ours++
			leaving = leaving || h.isBeingDeleted(ctx, key, vm.Machine)
		}
	}
	if leaving || ours == len(vms) && h.vmLooks.Count(again) < looksBeforeRefusal {
		return &vmsLeavingError{fmt.Sprintf("VM host %s is removed when the VMs of that LXD's other VM hosts are deleted: %s", record.Name, strings.Join(names, ", "))}
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot remove VM host %s: MAAS would delete machine %s with it, and forget the VMs of that LXD's other VM hosts: %s",
			record.Name, m.Hostname, strings.Join(names, ", ")),
		Hint: "Delete those VMs first.", Ways: []engine.Way{engine.WayForget}, Err: engine.ErrConflict,
	}
}

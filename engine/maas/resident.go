package maas

import (
	"context"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// VMs implements engine.Composer. MAAS filters by names of VM hosts, and other hosts may
// have the same names. MAAS shows no instances that it does not know.
func (c *Hosts) VMs(ctx context.Context, hosts []engine.VMHost) ([]engine.Resident, error) {
	if len(hosts) == 0 {
		return nil, nil
	}
	names, keys := make([]string, len(hosts)), map[int]string{}
	for n, h := range hosts {
		names[n], keys[h.ID] = h.Name, h.HostKey
	}
	var machines []engine.Machine
	var err error
	if len(names) == 1 { // many hosts are removed at once, and each is read
		machines, err = c.machines.shared.ByHost(ctx, names[0])
	} else {
		machines, err = c.machines.MachinesWhere(ctx, engine.MachineFilter{Hosts: names})
	}
	if err != nil {
		return nil, err
	}
	var found []engine.Resident
	for _, m := range machines {
		if key, ok := keys[m.HostID]; ok {
			found = append(found, engine.Resident{Machine: m, HostKey: key})
		}
	}
	return found, nil
}

// CompleteMachine implements engine.Composer. MAAS has already shown all that it knows.
func (c *Hosts) CompleteMachine(_ context.Context, m engine.Machine) engine.Machine { return m }

// Resize implements engine.Composer. MAAS has no call for it.
func (c *Hosts) Resize(_ context.Context, host engine.VMHost, systemID string, _ engine.Composition) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("MAAS cannot change the size of VM %s on VM host %s", systemID, host.Name),
		Hint:    "Make a new VM.", Ways: []engine.Way{engine.WayComposeInLXD}, Err: engine.ErrConflict,
	}
}

// ConfigureInstance implements engine.Composer. MAAS has no call for it.
func (c *Hosts) ConfigureInstance(_ context.Context, _ engine.VMHost, _ string, want engine.InstanceChange) error {
	return engine.CheckInstanceOfMAAS(len(want.Config), len(want.Devices))
}

// ChangeInterfaces implements engine.Composer. MAAS has no call for it.
func (c *Hosts) ChangeInterfaces(_ context.Context, _ engine.VMHost, _ string, want engine.InterfaceChange) error {
	return engine.CheckInterfaceChangeOfMAAS(want)
}

// unusableError returns why MAAS cannot make VMs on the host. It cannot from LXD 6.7 on:
// MAAS up to 3.8 sends security.secureboot with each VM
// (provisioningserver/drivers/pod/lxd.py), which that LXD refuses.
func (h wireHost) unusableError() error {
	switch {
	case h.Version == "":
		return &engine.Error{
			Type: engine.HostUnavailable, Host: h.Name, Message: "MAAS has never reached its LXD",
			Hint: "See the VM host's page in MAAS; its LXD must listen, and trust MAAS's certificate.",
		}
	case h.Machine.SystemID == "":
		return &engine.Error{
			Type: engine.HostUnavailable, Host: h.Name, Message: "MAAS has lost the machine that its LXD runs on, until somebody refreshes this VM host there",
			Hint: "Another VM host of the same LXD was removed from MAAS. Refresh this one in MAAS, or make a VM that names it.",
		}
	case isTooNewForMAAS(h.Version):
		return &engine.SpecError{
			Field: fieldpath.New("vm_host"), Message: fmt.Sprintf("VM host %s: MAAS cannot make VMs on LXD %s, which refuses what MAAS up to 3.8 sends", h.Name, h.Version),
			Hint: fmt.Sprintf("Choose another VM host, or install LXD from %s there.", cloudinit.DefaultChannel),
			Ways: []engine.Way{engine.WayComposeInLXD},
			Err:  engine.ErrConflict,
		}
	}
	return nil
}

// isTooNewForMAAS checks the first two numbers of a version, which are a track of the snap.
func isTooNewForMAAS(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	return version != "" && cloudinit.IsTooNewForMAAS(strings.Join(parts[:min(2, len(parts))], "."))
}

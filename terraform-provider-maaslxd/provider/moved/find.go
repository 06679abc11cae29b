package moved

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// describe names the VM in a message.
func (m VM) describe() string {
	if m.SystemID != "" {
		return "machine " + m.SystemID
	}
	return "instance " + m.Name
}

// Find finds the VM and returns its system id. If the VM does not exist, that is an error and
// not a new VM: more likely the provider calls another MAAS.
func (m VM) Find(ctx context.Context, b *client.Backend, diags *diag.Diagnostics) (string, error) {
	found, err := m.findMachine(ctx, b)
	if err == nil {
		err = m.checkIsVM(ctx, b, found)
	}
	if err == nil && m.SystemID == "" && m.MAC == "" {
		diags.AddWarning(fmt.Sprintf("VM %s was taken over by its name alone", m.Name), fmt.Sprintf(
			"The state of the %s has no MAC address. MAAS has one machine of that name, %s. Check that it is the right one before you apply.", m.Kind, found.SystemID))
	}
	return found.SystemID, err
}

// findMachine is MAAS's record of the VM.
func (m VM) findMachine(ctx context.Context, b *client.Backend) (engine.Machine, error) {
	if m.SystemID != "" {
		found, err := b.Machines.Machine(ctx, m.SystemID)
		if errors.Is(err, engine.ErrNotFound) {
			err = m.refusalError("MAAS knows no machine %s", m.SystemID)
		}
		return found, err
	}
	named, err := b.Machines.MachinesNamed(ctx, m.Name)
	if err != nil {
		return engine.Machine{}, err
	}
	with := ""
	if m.MAC != "" {
		named = slices.DeleteFunc(slices.Clone(named), func(n engine.Machine) bool { return !m.hasMAC(n) })
		with = " with the MAC address " + m.MAC
	}
	if len(named) != 1 {
		return engine.Machine{}, m.refusalError("MAAS knows %d machines %s%s, and it must be one", len(named), m.Name, with)
	}
	return named[0], nil
}

// hasMAC tells whether a machine has an interface with the MAC address of the VM.
func (m VM) hasMAC(found engine.Machine) bool {
	return slices.ContainsFunc(found.Interfaces, func(i engine.MachineInterface) bool { return strings.EqualFold(i.MAC, m.MAC) })
}

// checkIsVM requires that the machine is a VM, and in the LXD project of the state.
func (m VM) checkIsVM(ctx context.Context, b *client.Backend, found engine.Machine) error {
	if found.HostID == 0 {
		_, err := b.Inventory.HostOf(ctx, found)
		if errors.Is(err, engine.ErrConflict) {
			err = m.refusalError("Machine %s (%s) is not a VM on a VM host of MAAS", found.Hostname, found.SystemID)
		}
		if err != nil {
			return err
		}
	}
	if m.Project == "" {
		return nil
	}
	project, err := b.Inventory.ProjectOf(ctx, found)
	if err == nil && project != m.Project {
		err = m.refusalError("Machine %s (%s) is in the LXD project %q, and the instance in %q", found.Hostname, found.SystemID, project, m.Project)
	}
	return err
}

// refusalError says why the VM cannot be taken over, and the way out.
func (m VM) refusalError(format string, args ...any) error {
	return &engine.Refusal{
		Message: fmt.Sprintf(format, args...),
		Hint: "Nothing was changed. Check that api_url is the MAAS of this state. Remove the moved block to keep the " + m.Kind +
			" as it was. If MAAS has the VM by another name, remove the " + m.Kind + " from the state with terraform state rm, and import the VM. " +
			ImportUsage,
		Err: engine.ErrConflict,
	}
}

package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// NamedMachine is the machine of a state with its former name.
type NamedMachine struct {
	Object         string // such as "VM host kvm1"
	ConfiguredName types.String
	ID             types.String
	Hostname       types.String
}

// IsNamedBy tells whether a text names the machine: by its system id, hostname, FQDN or former
// name. A failed look-up is an error, because a wrong answer may destroy the machine's disks.
func (m NamedMachine) IsNamedBy(ctx context.Context, want types.String, look func(context.Context, string) (engine.Machine, error), diags *diag.Diagnostics) bool {
	switch {
	case want.IsUnknown():
		return false
	case want.Equal(m.ConfiguredName), want.Equal(m.ID), want.Equal(m.Hostname):
		return true
	}
	if hostname, _, qualified := strings.Cut(want.ValueString(), "."); !qualified || hostname != m.Hostname.ValueString() {
		return false
	}
	found, err := look(ctx, m.ID.ValueString())
	switch {
	case errors.Is(err, ErrUnknownConfig), errors.Is(err, ErrMissingConfig):
		return true
	case err != nil:
		diagnostics.ReportError(diags, "tell whether "+m.Object+" is on "+want.ValueString(), err)
		return true
	}
	return found.FQDN == want.ValueString()
}

// Machine reads a machine during a plan.
func (c *Client) Machine(ctx context.Context, systemID string) (engine.Machine, error) {
	b, err := c.Backend()
	if err != nil {
		return engine.Machine{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	return b.Machines.Machine(ctx, systemID)
}

// FindMachineNamed calls MachineNamed during a plan.
func FindMachineNamed(ctx context.Context, c *Client, name string) (engine.Machine, error) {
	b, err := c.Backend()
	if err != nil {
		return engine.Machine{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	return b.MachineNamed(ctx, name)
}

// ErrNoSuchMachine means that MAAS has no machine of that system id, hostname or FQDN.
var ErrNoSuchMachine = errors.New("MAAS knows no such machine")

// MachineNamed finds a machine by its system id, hostname or FQDN. The error wraps
// ErrNoSuchMachine if there is none.
func (b *Backend) MachineNamed(ctx context.Context, id string) (engine.Machine, error) {
	hostname, _, qualified := strings.Cut(id, ".")
	if !qualified {
		m, err := b.Machines.Machine(ctx, id)
		if err == nil || !errors.Is(err, engine.ErrNotFound) {
			return m, err
		}
	}
	named, err := b.Machines.MachinesNamed(ctx, hostname)
	if err != nil {
		return engine.Machine{}, err
	}
	return uniqueMachine(id, named)
}

// uniqueMachine returns the only machine that matches an import id.
func uniqueMachine(id string, named []engine.Machine) (engine.Machine, error) {
	var found []engine.Machine
	var ids []string
	for _, m := range named {
		if !strings.Contains(id, ".") || m.FQDN == id {
			found = append(found, m)
			ids = append(ids, m.SystemID+" ("+m.FQDN+")")
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return engine.Machine{}, fmt.Errorf("%w. Give a system id, a hostname or an FQDN", ErrNoSuchMachine)
	default:
		return engine.Machine{}, fmt.Errorf("%d machines have that name: %s. Import by system id", len(ids), strings.Join(ids, ", "))
	}
}

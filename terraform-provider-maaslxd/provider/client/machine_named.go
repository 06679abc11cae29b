package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// MachineNamed finds a machine by system id, hostname or FQDN.
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
	return only(id, named)
}

// only returns the one machine that an import id can mean.
func only(id string, named []engine.Machine) (engine.Machine, error) {
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
		return engine.Machine{}, fmt.Errorf("MAAS knows no such machine: a system id, a hostname or an FQDN is wanted")
	default:
		return engine.Machine{}, fmt.Errorf("%d machines have that name: %s. Import by system id", len(ids), strings.Join(ids, ", "))
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// create makes the VM: reserve, compose, read what came back, bind. Whatever
// breaks in between, the next look finds either nothing, or a machine with our
// marker, or a row that says how long to wait before nothing means nothing.
func (v *vms) create(ctx context.Context, key Key, want VMSpec) (Result[VM], error) {
	host, err := v.check(ctx, want)
	if err != nil {
		return Result[VM]{}, err
	}
	row, fresh, err := v.Ledger.Place(ctx, key, want.Name, host.ID)
	if err != nil {
		return Result[VM]{}, fmt.Errorf("cannot reserve %s on %s: %w", want.Name, host.Name, err)
	}
	if !fresh {
		if left := v.unclear(row); left > 0 {
			return Result[VM]{
				After: min(left, lookAgain), Reason: "ComposeUnclear",
				Message: fmt.Sprintf("the reply to an earlier compose of %s was lost; MAAS may still be at it", want.Name),
			}, nil
		}
		if _, err := v.Ledger.Move(ctx, key, row.Attempt+1, host.ID); err != nil {
			return Result[VM]{}, fmt.Errorf("cannot begin another attempt at %s: %w", want.Name, err)
		}
	}
	systemID, err := v.compose(ctx, host, key, want)
	if err != nil {
		return v.notComposed(ctx, host, key, want, err)
	}
	v.Log.InfoContext(ctx, "composed VM", "name", want.Name, "host", host.Name, "system_id", systemID)
	return v.composed(ctx, host, key, want, systemID)
}

func (v *vms) compose(ctx context.Context, host VMHost, key Key, want VMSpec) (string, error) {
	unlock, err := v.hosts.share(ctx, host.ID)
	if err != nil {
		return "", err
	}
	defer unlock()
	c := Composition{
		Hostname: want.Name, Cores: want.Cores, PinnedCores: want.PinnedCores,
		MemoryMiB: want.MemoryMiB, HugePages: want.HugePages,
		Disks: want.Disks, Interfaces: want.Interfaces,
		Zone: want.Zone, Pool: want.Pool, Domain: want.Domain,
		Marker: marker(key),
	}
	if len(host.Architectures) > 0 {
		c.Architecture = host.Architectures[0]
	}
	// MAAS would put the VM into its default zone, wherever the host stands.
	if c.Zone == "" {
		c.Zone = host.Zone
	}
	if c.Pool == "" {
		c.Pool = host.Pool
	}
	return v.Composer.Compose(ctx, host, c)
}

// composed takes what compose says it made, if it is what was asked for.
func (v *vms) composed(ctx context.Context, host VMHost, key Key, want VMSpec, systemID string) (Result[VM], error) {
	m, err := v.Machines.Machine(ctx, systemID)
	if err != nil {
		return Result[VM]{}, fmt.Errorf("cannot read the VM just composed: %w", err)
	}
	if m.Hostname != want.Name {
		if err := v.Composer.Decompose(ctx, systemID); err != nil {
			return Result[VM]{}, fmt.Errorf("MAAS composed %s instead of %s, and it cannot be removed: %w", m.Hostname, want.Name, err)
		}
		return Result[VM]{}, errors.Join(v.Ledger.Forget(ctx, key), &Error{
			Type: VMCreationFailed, Host: host.Name,
			Message: fmt.Sprintf("MAAS composed %s instead of %s; it was removed again", m.Hostname, want.Name),
		})
	}
	return v.converge(ctx, key, want, m)
}

// notComposed judges a compose that failed, by looking: MAAS may have made the
// VM all the same.
func (v *vms) notComposed(ctx context.Context, host VMHost, key Key, want VMSpec, failure error) (Result[VM], error) {
	failure = &Error{
		Type: VMCreationFailed, Host: host.Name, Message: fmt.Sprintf("cannot compose %s", want.Name), Err: failure,
		Hint: fmt.Sprintf("If MAAS says that it exists, an instance %s is left in the host's LXD that MAAS does not know: look there, and delete it or choose another name.", want.Name),
	}
	if ctx.Err() != nil || errors.Is(failure, ErrUnclear) {
		return Result[VM]{}, failure // the row stays: it knows since when
	}
	m, stranger, err := v.look(ctx, Ref{Key: key, Name: want.Name})
	switch {
	case err == nil:
		v.Log.InfoContext(ctx, "compose failed, but the VM is there", "name", want.Name, "system_id", m.SystemID)
		return v.converge(ctx, key, want, m)
	case !errors.Is(err, ErrNotFound):
		return Result[VM]{}, err
	}
	if err := v.Ledger.Forget(ctx, key); err != nil {
		return Result[VM]{}, errors.Join(failure, err)
	}
	if stranger != nil {
		return Result[VM]{}, taken(want.Name, *stranger)
	}
	return Result[VM]{}, refused(failure)
}

// taken says that a name belongs to a machine that is not ours to touch.
func taken(name string, m Machine) error {
	return &SpecError{
		Field:   "name",
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s), and it was not made for this one", name, m.SystemID, m.StatusName),
		Hint:    fmt.Sprintf("Import it by its system id %s, delete it in MAAS, or choose another name.", m.SystemID),
		Err:     ErrConflict,
	}
}

// fields of a spec, by the parameter in which MAAS refuses them.
var fields = map[string]string{
	"hostname": "name", "cores": "cores", "pinned_cores": "pinned_cores",
	"memory": "memory_mib", "hugepages_backed": "hugepages", "storage": "disks",
	"interfaces": "interfaces", "zone": "zone", "pool": "pool", "domain": "domain",
	"distro_series": "deploy.image", "osystem": "deploy.image",
	"hwe_kernel": "deploy.kernel", "user_data": "deploy.user_data",
}

// refused turns MAAS's complaint about a parameter into one about the field of
// the spec that it came from. Other errors pass unchanged.
func refused(err error) error {
	var refusal FieldError
	if !errors.As(err, &refusal) {
		return err
	}
	for parameter, messages := range refusal.Fields() {
		if field, ok := fields[parameter]; ok {
			return &SpecError{Field: field, Message: "MAAS says: " + strings.Join(messages, " "), Err: ErrInvalid}
		}
	}
	return err
}

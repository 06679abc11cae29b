package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// fieldsByParameter maps the parameter that MAAS refuses to the field of the spec.
var fieldsByParameter = map[string]fieldpath.Path{
	"hostname": fieldpath.New("name"), "cores": fieldpath.New("cores"), "pinned_cores": fieldpath.New("pinned_cores"),
	"memory": fieldpath.New("memory_mib"), "hugepages_backed": fieldpath.New("hugepages"), "storage": fieldpath.New("disks"),
	"interfaces": fieldpath.New("interfaces"), "zone": fieldpath.New("zone"), "pool": fieldpath.New("pool"), "domain": fieldpath.New("domain"),
	"distro_series": fieldpath.New("deploy", "image"), "osystem": fieldpath.New("deploy", "image"),
	"hwe_kernel": fieldpath.New("deploy", "kernel"), "user_data": fieldpath.New("deploy", "user_data"),
	"ephemeral_deploy": fieldpath.New("deploy", "ephemeral"), "enable_hw_sync": fieldpath.New("deploy", "enable_hw_sync"),
}

// AsSpecErrors turns MAAS's error about a parameter into one about the field of the spec that
// it came from. Other errors pass unchanged.
func AsSpecErrors(err error) error { return AsSpecErrorsBy(err, fieldsByParameter) }

// AsSpecErrorsBy is AsSpecErrors with another map from MAAS's parameters to fields.
func AsSpecErrorsBy(err error, fields map[string]fieldpath.Path) error {
	var refusal FieldError
	if !errors.As(err, &refusal) {
		return err
	}
	var errs []error
	said := refusal.Fields()
	for _, parameter := range slices.Sorted(maps.Keys(said)) {
		if field, ok := fields[parameter]; ok {
			errs = append(errs, &SpecError{Field: field, Message: "MAAS says: " + strings.Join(said[parameter], " "), Err: ErrInvalid})
		}
	}
	if len(errs) == 0 {
		return err
	}
	return errors.Join(errs...)
}

// LockedError says that a locked machine is neither changed nor deleted.
type LockedError struct {
	*Refusal
	Machine Machine
}

func (e *LockedError) Unwrap() error { return e.Refusal }

// NewLockedError refuses to do something with a locked machine.
func NewLockedError(m Machine, verb string) error {
	return &LockedError{Machine: m, Refusal: &Refusal{
		Message: fmt.Sprintf("cannot %s %s: it is locked in MAAS", verb, m.Hostname),
		Hint:    fmt.Sprintf("Unlock machine %s in MAAS first.", m.SystemID), Err: ErrConflict,
	}}
}

// NotOursError says that the machine belongs to somebody else.
func NotOursError(m Machine, verb string) error {
	whose := "was acquired outside of this configuration"
	if key := m.OwnerData[KeyData]; key != "" {
		whose = "belongs to " + key
	}
	return &Refusal{
		Message: fmt.Sprintf("cannot %s machine %s (%s, %s): it %s", verb, m.Hostname, m.SystemID, m.StatusName, whose),
		Hint:    "Release it in MAAS if nobody needs it, or choose another machine.", Err: ErrConflict,
	}
}

// AlreadyFinishedError says that a finished machine has the key of the object to make.
type AlreadyFinishedError struct{ *SpecError }

func (e AlreadyFinishedError) Unwrap() error { return e.SpecError }

// RecheckRefusal looks at the machine after a refusal. If its status has changed since the
// earlier look, the error is ErrBusy, and the next step decides. Otherwise the refusal stands.
func (c Config) RecheckRefusal(ctx context.Context, m Machine, refusal error) error {
	if !errors.Is(refusal, ErrConflict) && !errors.Is(refusal, ErrInvalid) {
		return refusal
	}
	now, err := c.Machines.Machine(ctx, m.SystemID)
	if err != nil || now.Status == m.Status {
		return refusal
	}
	return fmt.Errorf("%s is now %s: %w", m.Hostname, now.StatusName, ErrBusy)
}

// LinkError says why MAAS did not give a machine an address. It names what has taken the
// address since the check, as far as MAAS tells.
func (c Config) LinkError(ctx context.Context, field fieldpath.Path, subnet Subnet, ip netip.Addr, m Machine, refusal error) error {
	if errors.Is(refusal, ErrBusy) {
		return refusal
	}
	c.Names.Refresh(ListAddresses)
	err := c.CheckAddress(ctx, field, subnet, ip, m.SystemID)
	var bad *SpecError
	if errors.As(err, &bad) {
		return bad
	}
	return &SpecError{
		Field: field, Message: fmt.Sprintf("%s cannot have the address %s", m.Hostname, ip), Err: refusal,
		Hint: "Give an address that is free, in the subnet, and outside its dynamic ranges.",
	}
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
)

// checkAddresses looks whether the VM can have its fixed addresses, before it is
// made, and claims them for it. A VM without any costs no call.
func (v *vms) checkAddresses(ctx context.Context, key Key, want VMSpec) error {
	v.claims.forget(key) // of a spec that is not wanted any more
	for _, i := range want.Interfaces {
		if !i.IP.IsValid() {
			continue
		}
		field := "interfaces." + i.Name
		subnet, err := v.subnet(ctx, field, i.Subnet)
		if err != nil {
			return err
		}
		if err := v.checkAddress(ctx, field+".ip", subnet, i.IP, ""); err != nil {
			return err
		}
		if err := v.claims.take(field+".ip", key, "the VM "+want.Name, place{subnet.ID, i.IP}); err != nil {
			return err
		}
	}
	return nil
}

// unlinkable says why MAAS did not give a machine an address: what has come into
// its way since the check, as far as MAAS tells.
func (c Config) unlinkable(ctx context.Context, field string, subnet Subnet, ip netip.Addr, m Machine, refusal error) error {
	if errors.Is(refusal, ErrBusy) {
		return refusal
	}
	c.Names.Refresh(ListAddresses)
	err := c.checkAddress(ctx, field, subnet, ip, m.SystemID)
	var bad *SpecError
	if errors.As(err, &bad) {
		return bad
	}
	return &SpecError{
		Field: field, Message: fmt.Sprintf("%s cannot have the address %s", m.Hostname, ip), Err: refusal,
		Hint: "It must be free, in the subnet, and outside its dynamic ranges.",
	}
}

// validateAddresses refuses an address that is wanted twice.
func (s VMSpec) validateAddresses() error {
	has := map[netip.Addr]string{}
	for _, i := range s.Interfaces {
		if other, twice := has[i.IP]; twice && i.IP.IsValid() {
			return &SpecError{
				Field: "interfaces." + i.Name + ".ip", Message: fmt.Sprintf("%s is the address of %s already", i.IP, other),
				Hint: "Give each interface an address of its own.",
			}
		}
		has[i.IP] = i.Name
	}
	return nil
}

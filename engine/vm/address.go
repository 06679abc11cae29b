package vm

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// checkAddresses checks that the VM can have its fixed addresses, before it is made, and claims
// them for it. A VM without fixed addresses costs no call.
func (v *createChecks) checkAddresses(ctx context.Context, key engine.Key, want engine.VMSpec) error {
	v.region.Claims.Forget(key) // claims of an earlier spec
	for _, i := range want.Interfaces {
		if !i.HasFixedAddress() {
			continue
		}
		links, err := v.resolveLinks(ctx, i)
		if err != nil {
			return err
		}
		for _, l := range links {
			if !l.IP.IsValid() {
				continue
			}
			if err := v.CheckAddress(ctx, l.Field.Child("ip"), l.subnet, l.IP, ""); err != nil {
				return err
			}
			if err := v.region.Claims.ClaimAddress(l.Field.Child("ip"), key, "the VM "+want.Name, l.subnet.ID, l.IP); err != nil {
				return err
			}
		}
	}
	return nil
}

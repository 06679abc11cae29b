package vm

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// checkAddresses looks whether the VM can have its fixed addresses, before it is
// made, and claims them for it. A VM without any costs no call.
func (v *checks) checkAddresses(ctx context.Context, key engine.Key, want engine.VMSpec) error {
	v.region.Claims.Forget(key) // of a spec that is not wanted any more
	for _, i := range want.Interfaces {
		if !i.IP.IsValid() {
			continue
		}
		field := "interfaces." + i.Name
		subnet, err := v.FindSubnet(ctx, field, i.Subnet)
		if err != nil {
			return err
		}
		if err := v.CheckAddress(ctx, field+".ip", subnet, i.IP, ""); err != nil {
			return err
		}
		if err := v.region.Claims.Take(field+".ip", key, "the VM "+want.Name, subnet.ID, i.IP); err != nil {
			return err
		}
	}
	return nil
}

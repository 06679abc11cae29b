package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// copyHostTags gives an enlisted VM the tags of its host, as MAAS does for the VMs that it
// composes. It is called before the VM is commissioned. So a tag that a user removes later
// stays off.
func (v *Kind) copyHostTags(ctx context.Context, m engine.Machine) error {
	if m.HasVMHostInMAAS() {
		return nil
	}
	host, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return err
	}
	for _, tag := range host.Tags {
		if slices.Contains(m.Tags, tag) {
			continue
		}
		if err := v.Machines.Tag(ctx, m.SystemID, tag); err != nil {
			return fmt.Errorf("cannot tag %s with %q, a tag of its VM host: %w", m.Hostname, tag, err)
		}
	}
	return nil
}

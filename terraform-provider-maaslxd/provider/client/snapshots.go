package client

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/operate"
	"github.com/maaslxd/maaslxd/engine/site"
)

// Snapshotter takes and restores snapshots of this owner's VMs. It returns a *engine.Refusal
// if probe is "maas": then the provider calls no LXD.
func (c *Client) Snapshotter(ctx context.Context, b *Backend) (operate.Snapshotter, error) {
	if b.probesByMAASOnly {
		chosen, err := b.ChosenComposer(ctx)
		switch {
		case err != nil:
			return operate.Snapshotter{}, err
		case chosen == site.MAAS:
			return operate.Snapshotter{}, &engine.Refusal{
				Message: `MAAS takes no snapshots, and this provider asks no LXD: probe is "maas"`,
				Hint: `Run the action where the VM hosts can be reached, with probe = "auto" or "direct" in the provider block. ` +
					"Or do it on the VM host: lxc snapshot, lxc restore.",
				Err: engine.ErrForbidden,
			}
		}
	}
	s := b.snapshotter
	s.Key = c.Owner.VMKey("")
	return s, nil
}

package machine

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
)

// obstacles implements Kind.Check for bare metal.
func (b *Kind) obstacles(ctx context.Context, ref engine.Ref, want engine.MachineSpec) engine.Obstacles {
	var o engine.Obstacles
	o.Add(b.CheckImage(ctx, want.Deploy))
	if _, err := b.Choices(ctx, ref.Key, want, bare(want)); err != nil {
		o.Add(err)
	}
	return o
}

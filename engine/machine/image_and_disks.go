package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// checkImageForMachine refuses a machine if MAAS lacks the image for its architecture. If no
// image is named, any image counts. MAAS itself refuses it only when it deploys.
func (b *choiceSteps) checkImageForMachine(ctx context.Context, m engine.Machine, want engine.MachineSpec) error {
	if want.Deploy == nil {
		return nil
	}
	known, err := b.OtherArchitectures(ctx, m.Architecture, want.Deploy)
	if err != nil || len(known) == 0 {
		return err
	}
	return &engine.SpecError{
		Field:   want.MachineField(),
		Message: fmt.Sprintf("machine %s has the architecture %s, but MAAS has %s for %s only", m.Hostname, m.Architecture, want.Deploy.ImageText(), strings.Join(known, ", ")),
		Hint:    fmt.Sprintf("Choose another machine, name an image in deploy.image that MAAS has for %s, or import this image for it in MAAS.", placement.ShortArchitecture(m.Architecture)),
		Err:     engine.ErrConflict,
	}
}

// layOutDisks lays out the disks of a Ready machine that is about to be allocated: MAAS does
// not do it later. ErrConflict means that somebody was faster with the machine. Somebody who
// allocates it right afterwards gets our layout.
func (b *choiceSteps) layOutDisks(ctx context.Context, m engine.Machine, d *engine.Deployment) error {
	if d == nil || d.Storage == nil {
		return nil
	}
	if err := d.Storage.CheckDisks(m); err != nil {
		return err
	}
	if err := b.Metal.SetStorageLayout(ctx, m, *d.Storage); err != nil {
		return fmt.Errorf("cannot lay out the disks of %s: %w", m.Hostname, d.Storage.AsSpecErrors(err))
	}
	b.Log.InfoContext(ctx, "laid out disks", "name", m.Hostname, "system_id", m.SystemID, "storage_layout", d.Storage.Type)
	return nil
}

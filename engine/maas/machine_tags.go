package maas

import (
	"context"
	"net/http"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// Tag implements engine.Machines. If several callers use a new tag at the same time, the
// first one goes ahead, because it may have to make the tag.
func (c *Machines) Tag(ctx context.Context, systemID, tag string) error {
	if _, had := c.tags.existing.Load(tag); had {
		return c.tagMachine(ctx, systemID, tag)
	}
	first := false
	leading := c.tags.flight.DoChan(tag, func() (any, error) {
		first = true
		err := c.tagMachine(ctx, systemID, tag)
		if err == nil {
			c.tags.existing.Store(tag, true)
		}
		return nil, err
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case led := <-leading:
		if first {
			return led.Err
		}
		return c.tagMachine(ctx, systemID, tag)
	}
}

// tagMachine makes the tag if it is missing. A tag that another client makes at the same
// time serves as well.
func (c *Machines) tagMachine(ctx context.Context, systemID, tag string) error {
	err := addExistingTag(ctx, c, systemID, tag)
	if !isNotFound(err) {
		return err
	}
	created := c.tags.createTag(ctx, tag)
	if created != nil && !api.IsStatus(created, http.StatusBadRequest) {
		return created
	}
	// A 400 says that the tag exists by now, or that its name is invalid: the second
	// attempt shows which.
	if err = addExistingTag(ctx, c, systemID, tag); isNotFound(err) && created != nil {
		return created
	}
	return err
}

// addExistingTag fails with status 404 if there is no such tag. MAAS ignores unknown
// machine ids, and shows that only by its count.
func addExistingTag(ctx context.Context, c *Machines, systemID, tag string) error {
	var count struct {
		Added int `json:"added"`
	}
	r := api.NewPost("update_nodes", "tags/{name}/", tag).Put("add", systemID)
	if err := c.writeMachine(ctx, systemID, r, &count); err != nil || count.Added > 0 {
		return err
	}
	_, err := c.Machine(ctx, systemID)
	return err
}

// Untag implements engine.Machines.
func (c *Machines) Untag(ctx context.Context, systemID, tag string) error {
	r := api.NewPost("update_nodes", "tags/{name}/", tag).Put("remove", systemID)
	if err := c.writeMachine(ctx, systemID, r, nil); !isNotFound(err) {
		return err
	}
	return nil
}

// isNotFound reports that MAAS does not have the addressed object.
func isNotFound(err error) bool {
	e, ok := api.AsError(err)
	return ok && e.Kind == engine.ErrNotFound
}

package maas

import (
	"context"
	"net/http"

	"github.com/maaslxd/maaslxd/engine"
)

// Tag implements engine.Machines. Of those that put one tag on machines at the
// same moment the first goes ahead: MAAS may have to be given the tag.
func (c *Client) Tag(ctx context.Context, systemID, tag string) error {
	if _, had := c.tags.Load(tag); had {
		return c.tagAnew(ctx, systemID, tag)
	}
	first := false
	leading := c.tagging.DoChan(tag, func() (any, error) {
		first = true
		err := c.tagAnew(ctx, systemID, tag)
		if err == nil {
			c.tags.Store(tag, true)
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
		return c.tagAnew(ctx, systemID, tag)
	}
}

// tagAnew makes the tag where there is none. One that another client makes at
// the same moment is as good as one of our own.
func (c *Client) tagAnew(ctx context.Context, systemID, tag string) error {
	err := c.addTag(ctx, systemID, tag)
	if !isMissing(err) {
		return err
	}
	created := c.call(ctx, post("", "tags/").put("name", tag), nil)
	if created != nil && !isStatus(created, http.StatusBadRequest) {
		return created
	}
	// A 400 says that the tag exists by now, or that its name is no good: the
	// second try tells which.
	if err = c.addTag(ctx, systemID, tag); isMissing(err) && created != nil {
		return created
	}
	return err
}

// addTag fails with a status 404 if there is no such tag. MAAS ignores ids
// that it does not know, and says so only by its count.
func (c *Client) addTag(ctx context.Context, systemID, tag string) error {
	var count struct {
		Added int `json:"added"`
	}
	r := post("update_nodes", "tags/{name}/", tag).put("add", systemID)
	if err := c.write(ctx, systemID, r, &count); err != nil || count.Added > 0 {
		return err
	}
	_, err := c.Machine(ctx, systemID)
	return err
}

// Untag implements engine.Machines.
func (c *Client) Untag(ctx context.Context, systemID, tag string) error {
	r := post("update_nodes", "tags/{name}/", tag).put("remove", systemID)
	if err := c.write(ctx, systemID, r, nil); !isMissing(err) {
		return err
	}
	return nil
}

// isMissing tells that MAAS does not have what the request addressed.
func isMissing(err error) bool {
	e, ok := asError(err)
	return ok && e.Kind == engine.ErrNotFound
}

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

// consoleTag is on every VM host: MAAS makes it when it first reaches the LXD
// (vmhost.py, _discover_and_sync_vmhost).
const consoleTag = "pod-console-logging"

// makeTags gives MAAS those of the tags that it does not have. MAAS does so
// itself for the machine that a compose makes, but several composes at once then
// stop each other after LXD has made their instances: one succeeds, and the
// instances of the others stay in LXD.
func (c *Client) makeTags(ctx context.Context, tags []string) error {
	var known map[string]string
	for _, tag := range tags {
		if _, had := c.tags.Load(tag); had || tag == consoleTag {
			continue
		}
		if known == nil {
			var err error
			if known, err = c.tagComments.get(ctx); err != nil {
				return err
			}
		}
		if _, had := known[tag]; !had {
			if err := c.makeTag(ctx, tag); err != nil {
				return err
			}
		}
		c.tags.Store(tag, true)
	}
	return nil
}

// makeTag makes a tag. A 400 says that it is there by now, or that MAAS takes the
// word for a VM host only.
func (c *Client) makeTag(ctx context.Context, tag string) error {
	if err := c.createTag(ctx, tag); !isStatus(err, http.StatusBadRequest) {
		return err
	}
	return nil
}

// createTag asks MAAS for a tag, by one call for all who want it at the same moment.
func (c *Client) createTag(ctx context.Context, tag string) error {
	making := c.tagging.DoChan("make "+tag, func() (any, error) {
		return nil, c.call(context.WithoutCancel(ctx), post("", "tags/").put("name", tag), nil)
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case made := <-making:
		return made.Err
	}
}

func (c *Client) fetchTagComments(ctx context.Context) (map[string]string, error) {
	var list elements[struct {
		Name    string `json:"name"`
		Comment string `json:"comment"`
	}]
	if err := c.list(ctx, get("tags/"), &list); err != nil {
		return nil, err
	}
	comments := make(map[string]string, len(list.list))
	for _, tag := range list.list {
		comments[tag.Name] = tag.Comment
	}
	return comments, nil
}

// tagAnew makes the tag where there is none. One that another client makes at
// the same moment is as good as one of our own.
func (c *Client) tagAnew(ctx context.Context, systemID, tag string) error {
	err := c.addTag(ctx, systemID, tag)
	if !isMissing(err) {
		return err
	}
	created := c.createTag(ctx, tag)
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

package maas

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// Tags are the tags in MAAS. One of them marks the MAAS itself.
type Tags struct {
	api *api.Client
	// comments are the comments of the tags, by name. A caller that misses a tag makes it,
	// so an outdated list only costs a call.
	comments *share.Cached[map[string]string]
	flight   singleflight.Group // by tag
	existing sync.Map           // tags that already existed in MAAS
}

func newTags(l listConfig) *Tags {
	c := &Tags{api: l.api}
	c.comments = share.NewCached(namesTTL, l.limit(), l.now, c.fetchTagComments)
	return c
}

// consoleTag is on every VM host: MAAS makes it when it first reaches the LXD (vmhost.py,
// _discover_and_sync_vmhost).
const consoleTag = "pod-console-logging"

// ensureTags makes the tags that MAAS does not have. MAAS would also make them itself in a
// compose. But then several composes at once fail each other after LXD has made their
// instances: one succeeds, and the instances of the others stay in LXD.
func (c *Tags) ensureTags(ctx context.Context, tags []string) error {
	var known map[string]string
	for _, tag := range tags {
		if _, had := c.existing.Load(tag); had || tag == consoleTag {
			continue
		}
		if known == nil {
			var err error
			if known, err = c.comments.Get(ctx); err != nil {
				return err
			}
		}
		if _, had := known[tag]; had {
			c.existing.Store(tag, true)
		} else if err := c.ensureTag(ctx, tag); err != nil {
			return err
		}
	}
	return nil
}

// ensureTag makes a missing tag, once for all callers with the same list: a later caller
// finds it. A 400 says that the tag exists by now, or that MAAS allows this name only for a
// VM host.
func (c *Tags) ensureTag(ctx context.Context, tag string) error {
	return c.runShared(ctx, "know "+tag, func(ctx context.Context) error {
		if _, had := c.existing.Load(tag); had {
			return nil
		}
		if err := c.createTag(ctx, tag); err != nil && !api.IsStatus(err, http.StatusBadRequest) {
			return err
		}
		c.existing.Store(tag, true)
		return nil
	})
}

// createTag makes a tag in MAAS. Callers that want it at the same time share one call.
func (c *Tags) createTag(ctx context.Context, tag string) error {
	return c.runShared(ctx, "make "+tag, func(ctx context.Context) error {
		return c.api.Call(ctx, api.NewPost("", "tags/").Put("name", tag), nil)
	})
}

// runShared runs do once for all callers that ask at the same time, even if the first of
// them gives up.
func (c *Tags) runShared(ctx context.Context, what string, do func(context.Context) error) error {
	making := c.flight.DoChan(what, func() (any, error) { return nil, do(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case made := <-making:
		return made.Err
	}
}

func (c *Tags) fetchTagComments(ctx context.Context) (map[string]string, error) {
	var list api.Elements[struct {
		Name    string `json:"name"`
		Comment string `json:"comment"`
	}]
	if err := c.api.List(ctx, api.NewGet("tags/"), &list); err != nil {
		return nil, err
	}
	comments := make(map[string]string, len(list.List))
	for _, tag := range list.List {
		comments[tag.Name] = tag.Comment
	}
	return comments, nil
}

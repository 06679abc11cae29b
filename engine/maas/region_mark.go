package maas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// regionTag identifies this MAAS. MAAS has an id of its own, but does not show it. The
// tag's comment begins with the mark. A tag's name is unique, so of two clients one makes
// the tag, and the other reads it.
const regionTag = "maaslxd-region"

const regionComment = " tells this MAAS from others for maaslxd. Do not change it."

// RegionMark implements engine.RegionMarks.
func (c *Tags) RegionMark(ctx context.Context) (string, error) {
	comments, err := c.comments.Get(ctx)
	if err != nil {
		return "", fmt.Errorf("cannot tell which MAAS this is: %w", err)
	}
	mark, _, _ := strings.Cut(comments[regionTag], " ")
	return mark, nil
}

// MakeRegionMark implements engine.RegionMarks.
func (c *Tags) MakeRegionMark(ctx context.Context) (string, error) {
	if mark, err := c.RegionMark(ctx); mark != "" || err != nil {
		return mark, err
	}
	making := c.flight.DoChan("region mark", func() (any, error) {
		return c.makeRegionMark(context.WithoutCancel(ctx))
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case made := <-making:
		mark, _ := made.Val.(string)
		return mark, made.Err
	}
}

// makeRegionMark makes the mark. Callers that want it at the same time share one call.
func (c *Tags) makeRegionMark(ctx context.Context) (string, error) {
	if mark, err := c.RegionMark(ctx); mark != "" || err != nil { // made since the caller read
		return mark, err
	}
	made := c.api.Call(ctx, api.NewPost("", "tags/").Put("name", regionTag).Put("comment", rand.Text()+regionComment), nil)
	c.comments.Drop()
	// A refusal may mean that another client made it, so read it again.
	mark, err := c.RegionMark(ctx)
	if mark == "" && err == nil {
		err = errors.Join(fmt.Errorf("cannot mark this MAAS by a tag %s: %w", regionTag, engine.ErrConflict), made)
	}
	return mark, err
}

package lxd

import (
	"context"
	"net/http"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// CheckInstance implements engine.Composer. It reads the instance where MAAS turns it on and
// off, and searches all hosts if it is not there.
func (c *Composer) CheckInstance(ctx context.Context, m engine.Machine) error {
	at, err := c.locateInstance(ctx, m)
	if err != nil {
		return err
	}
	s, done, err := c.openSession(ctx, at.server, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	marks := strings.Fields(m.Description)
	_, err = s.ownInstance(at.instance, at.macs, marks...)
	switch {
	case err == nil:
		return nil
	case !isInstanceMissing(err):
		return hostError(s.explainError(err), at.server.Name)
	}
	moved, found, failure := c.findMovedInstance(ctx, at, marks)
	switch {
	case failure != nil:
		return failure
	case found:
		return c.movedByHandError(ctx, m, moved)
	case isStatus(err, http.StatusNotFound):
		return nil
	}
	return hostError(s.explainError(err), at.server.Name)
}

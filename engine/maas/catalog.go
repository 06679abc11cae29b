package maas

import (
	"context"
	"errors"
	"net/http"

	"github.com/maaslxd/maaslxd/engine"
)

// Capabilities implements engine.Catalog. It asks for the version, which
// needs no key and so tells whether there is a MAAS at all, then for the
// user, which tells whether the key is good, then for the VM hosts.
func (c *Client) Capabilities(ctx context.Context) (engine.Capabilities, error) {
	return c.probe.get(ctx)
}

func (c *Client) fetchCapabilities(ctx context.Context) (engine.Capabilities, error) {
	var version struct {
		Version string `json:"version"`
	}
	r := get("version/")
	if err := c.list(ctx, r, &version); err != nil {
		return engine.Capabilities{}, err
	}
	if version.Version == "" {
		return engine.Capabilities{}, engine.Terminal(foreign(r, http.StatusOK))
	}
	var user struct {
		Username string `json:"username"`
		Admin    bool   `json:"is_superuser"`
	}
	if err := c.list(ctx, get("users/").op("whoami"), &user); err != nil {
		return engine.Capabilities{}, err
	}
	_, err := c.Hosts(ctx)
	gone := errors.Is(err, engine.ErrGone)
	if err != nil && !gone {
		return engine.Capabilities{}, err
	}
	return engine.Capabilities{
		Version: version.Version, VMHosts: !gone, Username: user.Username, Admin: user.Admin,
	}, nil
}

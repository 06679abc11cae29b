package lxd

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// access is who may call a route.
type access int

const (
	// public is for everybody.
	public access = iota
	// trusted is for each certificate that LXD trusts.
	trusted
	// InProject is for those that may act in the call's project.
	InProject
	// admin is for certificates without restriction.
	admin
)

// Route ties a method and a path of LXD's API to a handler.
type Route struct {
	method string
	Path   string // "1.0/instances/{name}"
	access access
	handle func(*Call) rest.Reply
}

// Routes is all of LXD's API that is simulated. Each file of handlers brings
// its own table.
func Routes() []Route {
	return slices.Concat(serverRoutes(), operationRoutes(), trustRoutes(), projectRoutes(), profileRoutes(),
		poolRoutes(), volumeRoutes(), networkRoutes(), instanceRoutes(), snapshotRoutes())
}

// Call is one request to an LXD, as its handler sees it.
type Call struct {
	Ctx     context.Context
	World   *world.World
	LXD     *world.LXD
	Request *http.Request
	Body    []byte

	Pattern string
	Vars    map[string]string
	Query   url.Values
	Client  []byte // the client's certificate in DER, nil for none
	trust   daemon.Trust
	trusted bool
	Project string
}

// lxdPattern finds the resource that a path names: its pattern, the values in
// the path, and its routes.
func Resource(routes []Route, path string) (vars map[string]string, found []Route) {
	path = strings.Trim(path, "/")
	for _, r := range routes {
		if v, matches := rest.MatchPath(r.Path, path); matches {
			vars, found = v, append(found, r)
		}
	}
	return vars, found
}

// everything says whether the call asks for all projects.
func (c *Call) everything() bool { return rest.Truth(c.Query.Get("all-projects")) }

// depth is the recursion that the call asks for: 0 names, 1 objects.
func (c *Call) depth() string { return c.Query.Get("recursion") }

// Answer runs the handler if the client may call it. The lock is held.
func (c *Call) Answer(found []Route) rest.Reply {
	if c.World.Ended || c.LXD.Wiped || c.World.LXDs[c.LXD.Address] != c.LXD {
		return Broken("LXD is shutting down")
	}
	c.trust, c.trusted = daemon.TrustingDER(c.LXD.Trusted, c.Client)
	i := slices.IndexFunc(found, func(r Route) bool { return r.method == c.Request.Method })
	switch {
	case len(found) == 0 && !c.trusted:
		return forbidden()
	case len(found) == 0:
		return missing("Endpoint")
	case i < 0:
		return Refused(http.StatusNotImplemented, "not implemented")
	}
	if bad := c.admit(found[i].access); bad != nil {
		return *bad
	}
	return found[i].handle(c)
}

// admit is nil, or why the client may not call.
func (c *Call) admit(access access) *rest.Reply {
	var bad rest.Reply
	switch {
	case access == public:
		return nil
	case !c.trusted, access == admin && c.trust.Restricted:
		bad = forbidden()
	case access != InProject:
		return nil
	case !c.everything() && !c.trust.Allows(c.Project):
		bad = forbidden()
	case !c.everything() && c.LXD.Projects[c.Project] == nil:
		bad = missing("Project")
	default:
		return nil
	}
	return &bad
}

// leave lets others act on the world until ready, the end of the world or of
// the caller. It says whether ready came.
func (c *Call) leave(ctx context.Context, ready <-chan struct{}) bool {
	c.World.Keeper.Unlock()
	defer c.World.Keeper.Lock()
	select {
	case <-ready:
		return true
	case <-c.World.Done:
	case <-ctx.Done():
	}
	return false
}

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

// access is the permission that a route needs.
type access int

const (
	// accessPublic allows every client.
	accessPublic access = iota
	// accessTrusted allows each certificate that LXD trusts.
	accessTrusted
	// AccessInProject allows certificates with access to the call's project.
	AccessInProject
	// accessAdmin allows certificates without restriction.
	accessAdmin
)

// Route ties a method and a path of LXD's API to a handler.
type Route struct {
	method string
	Path   string // "1.0/instances/{name}"
	access access
	handle func(*Call) rest.Reply
}

// Routes are all simulated operations of LXD's API. Each file of handlers has its own
// table.
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
	Client  []byte // the client's certificate in DER, or nil
	trust   daemon.Trust
	trusted bool
	Project string
}

// FindRoutes finds the resource that a path names. It returns the variables of the path
// and the routes.
func FindRoutes(routes []Route, path string) (vars map[string]string, found []Route) {
	path = strings.Trim(path, "/")
	for _, r := range routes {
		if v, matches := rest.MatchPath(r.Path, path); matches {
			vars, found = v, append(found, r)
		}
	}
	return vars, found
}

// wantsAllProjects tells whether the call asks for all projects.
func (c *Call) wantsAllProjects() bool { return rest.ReadBool(c.Query.Get("all-projects")) }

// recursion is the requested recursion: 0 lists names, 1 objects.
func (c *Call) recursion() string { return c.Query.Get("recursion") }

// Answer runs the handler if the client has permission. The caller holds the lock.
func (c *Call) Answer(found []Route) rest.Reply {
	if c.World.Ended || c.LXD.Wiped || c.World.LXDs[c.LXD.Address] != c.LXD {
		return InternalErrorReply("LXD is shutting down")
	}
	c.trust, c.trusted = daemon.FindTrustDER(c.LXD.Trusted, c.Client)
	i := slices.IndexFunc(found, func(r Route) bool { return r.method == c.Request.Method })
	switch {
	case len(found) == 0 && !c.trusted:
		return forbiddenReply()
	case len(found) == 0:
		return notFoundReply("Endpoint")
	case i < 0:
		return ErrorReply(http.StatusNotImplemented, "not implemented")
	}
	if bad := c.checkAccess(found[i].access); bad != nil {
		return *bad
	}
	return found[i].handle(c)
}

// checkAccess is nil, or the answer that denies access.
func (c *Call) checkAccess(access access) *rest.Reply {
	var bad rest.Reply
	switch {
	case access == accessPublic:
		return nil
	case !c.trusted, access == accessAdmin && c.trust.Restricted:
		bad = forbiddenReply()
	case access != AccessInProject:
		return nil
	case !c.wantsAllProjects() && !c.trust.AllowsProject(c.Project):
		bad = forbiddenReply()
	case !c.wantsAllProjects() && c.LXD.Projects[c.Project] == nil:
		bad = notFoundReply("Project")
	default:
		return nil
	}
	return &bad
}

// waitUnlocked releases the lock until ready is closed, or until the world or the caller
// ends. It returns true if ready was closed.
func (c *Call) waitUnlocked(ctx context.Context, ready <-chan struct{}) bool {
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

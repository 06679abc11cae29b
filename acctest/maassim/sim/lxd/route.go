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
	// accessPublic is for everybody.
	accessPublic access = iota
	// accessTrusted is for each certificate that LXD trusts.
	accessTrusted
	// AccessInProject is for those that may act in the call's project.
	AccessInProject
	// accessAdmin is for certificates without restriction.
	accessAdmin
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
func FindRoutes(routes []Route, path string) (vars map[string]string, found []Route) {
	path = strings.Trim(path, "/")
	for _, r := range routes {
		if v, matches := rest.MatchPath(r.Path, path); matches {
			vars, found = v, append(found, r)
		}
	}
	return vars, found
}

// wantsAllProjects says whether the call asks for all projects.
func (c *Call) wantsAllProjects() bool { return rest.ReadBool(c.Query.Get("all-projects")) }

// recursion is the recursion that the call asks for: 0 names, 1 objects.
func (c *Call) recursion() string { return c.Query.Get("recursion") }

// Answer runs the handler if the client may call it. The lock is held.
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

// checkAccess is nil, or why the client may not call.
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

// waitUnlocked lets others act on the world until ready, the end of the world or of
// the caller. It says whether ready came.
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

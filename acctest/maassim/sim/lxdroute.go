package sim

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// lxdAccess is who may call a route.
type lxdAccess int

const (
	// lxdPublic is for everybody.
	lxdPublic lxdAccess = iota
	// lxdTrusted is for each certificate that LXD trusts.
	lxdTrusted
	// lxdInProject is for those that may act in the call's project.
	lxdInProject
	// lxdAdmin is for certificates without restriction.
	lxdAdmin
)

// lxdRoute ties a method and a path of LXD's API to a handler.
type lxdRoute struct {
	method string
	path   string // "1.0/instances/{name}"
	access lxdAccess
	handle func(*lxdCall) reply
}

// lxdRoutes is all of LXD's API that is simulated. Each file of handlers brings
// its own table.
func lxdRoutes() []lxdRoute {
	return slices.Concat(lxdServerRoutes(), lxdOperationRoutes(), lxdTrustRoutes(), lxdProjectRoutes(), lxdProfileRoutes(),
		lxdPoolRoutes(), lxdVolumeRoutes(), lxdNetworkRoutes(), lxdInstanceRoutes())
}

// lxdCall is one request to an LXD, as its handler sees it.
type lxdCall struct {
	ctx  context.Context
	w    *world
	l    *lxdServer
	r    *http.Request
	body []byte

	pattern string
	vars    map[string]string
	query   url.Values
	client  []byte // the client's certificate in DER, nil for none
	trust   trust
	trusted bool
	project string
}

// lxdPattern finds the resource that a path names: its pattern, the values in
// the path, and its routes.
func lxdResource(routes []lxdRoute, path string) (vars map[string]string, found []lxdRoute) {
	path = strings.Trim(path, "/")
	for _, r := range routes {
		if v, matches := matchPath(r.path, path); matches {
			vars, found = v, append(found, r)
		}
	}
	return vars, found
}

// everything says whether the call asks for all projects.
func (c *lxdCall) everything() bool { return truth(c.query.Get("all-projects")) }

// depth is the recursion that the call asks for: 0 names, 1 objects.
func (c *lxdCall) depth() string { return c.query.Get("recursion") }

// answer runs the handler if the client may call it. Sim.mu is held.
func (c *lxdCall) answer(found []lxdRoute) reply {
	if c.w.ended || c.l.wiped || c.w.lxds[c.l.address] != c.l {
		return lxdBroken("LXD is shutting down")
	}
	c.trust, c.trusted = c.l.trustingDER(c.client)
	i := slices.IndexFunc(found, func(r lxdRoute) bool { return r.method == c.r.Method })
	switch {
	case len(found) == 0 && !c.trusted:
		return lxdForbidden()
	case len(found) == 0:
		return lxdMissing("Endpoint")
	case i < 0:
		return lxdRefused(http.StatusNotImplemented, "not implemented")
	}
	if bad := c.admit(found[i].access); bad != nil {
		return *bad
	}
	return found[i].handle(c)
}

// admit is nil, or why the client may not call.
func (c *lxdCall) admit(access lxdAccess) *reply {
	var bad reply
	switch {
	case access == lxdPublic:
		return nil
	case !c.trusted, access == lxdAdmin && c.trust.restricted:
		bad = lxdForbidden()
	case access != lxdInProject:
		return nil
	case !c.everything() && !c.trust.allows(c.project):
		bad = lxdForbidden()
	case !c.everything() && c.l.projects[c.project] == nil:
		bad = lxdMissing("Project")
	default:
		return nil
	}
	return &bad
}

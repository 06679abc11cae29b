package sim

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

func lxdProfileRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "1.0/profiles", lxdInProject, listProfiles},
		{http.MethodPost, "1.0/profiles", lxdInProject, createProfile},
		{http.MethodGet, "1.0/profiles/{name}", lxdInProject, readProfile},
		{http.MethodPut, "1.0/profiles/{name}", lxdInProject, putProfile},
		{http.MethodDelete, "1.0/profiles/{name}", lxdInProject, deleteProfile},
	}
}

// profileOwner is the project whose profiles the call sees.
func (c *lxdCall) profileOwner() string { return c.l.owner(c.project, "features.profiles") }

func (c *lxdCall) profileView(p *api.Profile) api.Profile {
	view := *p
	view.UsedBy = []string{}
	for _, project := range sorted(projectNames(c.l)) {
		if c.l.owner(project, "features.profiles") != c.profileOwner() {
			continue
		}
		for _, i := range c.l.instances(project) {
			if slices.Contains(i.profiles, p.Name) && c.trust.allows(project) {
				view.UsedBy = append(view.UsedBy, (&lxdCall{project: project}).inProject("/1.0/instances/"+i.name))
			}
		}
	}
	return view
}

func listProfiles(c *lxdCall) reply {
	paths, views := []string{}, []api.Profile{}
	names := map[string]*api.Profile{}
	for key, p := range c.l.profiles {
		if key.project == c.profileOwner() {
			names[key.name] = p
		}
	}
	for _, p := range sorted(names) {
		paths, views = append(paths, c.inProject("/1.0/profiles/"+p.Name)), append(views, c.profileView(p))
	}
	return c.listed(paths, views)
}

func (c *lxdCall) profileNamed() (*api.Profile, *reply) {
	p := c.l.profile(c.project, c.vars["name"])
	if p == nil {
		bad := lxdMissing("Profile")
		return nil, &bad
	}
	return p, nil
}

func readProfile(c *lxdCall) reply {
	p, bad := c.profileNamed()
	if bad != nil {
		return *bad
	}
	return tagged(c.profileView(p), p.Config, p.Description, p.Devices)
}

func createProfile(c *lxdCall) reply {
	var in api.ProfilesPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.Contains(in.Name, "/") || in.Name == "." || in.Name == "..":
		return lxdBad("Invalid profile name %q", in.Name)
	case c.l.profile(c.project, in.Name) != nil:
		return lxdTaken("Profile", in.Name)
	}
	if bad := c.profileProblem(in.ProfilePut); bad != nil {
		return *bad
	}
	p := c.l.addProfile(c.profileOwner(), in.Name)
	c.l.writeProfile(p, in.ProfilePut)
	return madeAt(c.inProject("/1.0/profiles/" + in.Name))
}

func (l *lxdServer) writeProfile(p *api.Profile, in api.ProfilePut) {
	p.Description, p.Config, p.Devices = in.Description, in.Config, in.Devices
	if p.Config == nil {
		p.Config = map[string]string{}
	}
	if p.Devices == nil {
		p.Devices = map[string]map[string]string{}
	}
}

// profileProblem is what LXD says against a profile: a network that is missing
// is an error, a pool or a parent that is missing shows with an instance.
func (c *lxdCall) profileProblem(in api.ProfilePut) *reply {
	if problem := c.l.configProblem(in.Config); problem != "" {
		bad := lxdBad("%s", problem)
		return &bad
	}
	roots := 0
	for _, name := range slices.Sorted(maps.Keys(in.Devices)) {
		d := in.Devices[name]
		if network := d["network"]; d["type"] == "nic" && network != "" && c.l.networks[network] == nil {
			bad := lxdRefused(http.StatusNotFound, "Device validation failed for %q: Failed loading network %q: Network not found", name, network)
			return &bad
		}
		if isRoot(d) {
			roots++
		}
	}
	if roots > 1 {
		bad := lxdBroken("Failed detecting root disk device: Multiple instance root devices detected")
		return &bad
	}
	return nil
}

func putProfile(c *lxdCall) reply {
	p, bad := c.profileNamed()
	if bad == nil {
		bad = c.unchanged(p.Config, p.Description, p.Devices)
	}
	var in api.ProfilePut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad == nil {
		bad = c.profileProblem(in)
	}
	if bad != nil {
		return *bad
	}
	c.l.writeProfile(p, in)
	for project, instances := range c.l.projects {
		for _, i := range instances {
			if c.l.owner(project, "features.profiles") == c.profileOwner() && slices.Contains(i.profiles, p.Name) {
				i.mean(c.w)
			}
		}
	}
	return c.settle(asyncProfiles, "Updating profile", done())
}

func deleteProfile(c *lxdCall) reply {
	p, bad := c.profileNamed()
	switch {
	case bad != nil:
		return *bad
	case p.Name == "default":
		return lxdForbiddenText(`The "default" profile cannot be deleted`)
	case len(c.profileView(p).UsedBy) > 0:
		return lxdBad("Profile is currently in use")
	}
	delete(c.l.profiles, inProject{c.profileOwner(), p.Name})
	return done()
}

package lxd

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

func profileRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/profiles", InProject, listProfiles},
		{http.MethodPost, "1.0/profiles", InProject, createProfile},
		{http.MethodGet, "1.0/profiles/{name}", InProject, readProfile},
		{http.MethodPut, "1.0/profiles/{name}", InProject, putProfile},
		{http.MethodDelete, "1.0/profiles/{name}", InProject, deleteProfile},
	}
}

// profileOwner is the project whose profiles the call sees.
func profileOwner(c *Call) string { return c.LXD.Owner(c.Project, "features.profiles") }

func profileView(c *Call, p *api.Profile) api.Profile {
	view := *p
	view.UsedBy = []string{}
	for _, project := range rest.Sorted(world.ProjectNames(c.LXD)) {
		if c.LXD.Owner(project, "features.profiles") != profileOwner(c) {
			continue
		}
		for _, i := range c.LXD.Instances(project) {
			if slices.Contains(i.Profiles, p.Name) && c.trust.Allows(project) {
				view.UsedBy = append(view.UsedBy, (&Call{Project: project}).inProject("/1.0/instances/"+i.Name))
			}
		}
	}
	return view
}

func listProfiles(c *Call) rest.Reply {
	paths, views := []string{}, []api.Profile{}
	names := map[string]*api.Profile{}
	for key, p := range c.LXD.Profiles {
		if key.Project == profileOwner(c) {
			names[key.Name] = p
		}
	}
	for _, p := range rest.Sorted(names) {
		paths, views = append(paths, c.inProject("/1.0/profiles/"+p.Name)), append(views, profileView(c, p))
	}
	return c.listed(paths, views)
}

func profileNamed(c *Call) (*api.Profile, *rest.Reply) {
	p := c.LXD.Profile(c.Project, c.Vars["name"])
	if p == nil {
		bad := missing("Profile")
		return nil, &bad
	}
	return p, nil
}

func readProfile(c *Call) rest.Reply {
	p, bad := profileNamed(c)
	if bad != nil {
		return *bad
	}
	return tagged(profileView(c, p), p.Config, p.Description, p.Devices)
}

func createProfile(c *Call) rest.Reply {
	var in api.ProfilesPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.Contains(in.Name, "/") || in.Name == "." || in.Name == "..":
		return Bad("Invalid profile name %q", in.Name)
	case c.LXD.Profile(c.Project, in.Name) != nil:
		return taken("Profile", in.Name)
	}
	if bad := profileProblem(c, in.ProfilePut); bad != nil {
		return *bad
	}
	p := c.LXD.AddProfile(profileOwner(c), in.Name)
	writeProfile(c.LXD, p, in.ProfilePut)
	return madeAt(c.inProject("/1.0/profiles/" + in.Name))
}

func writeProfile(l *world.LXD, p *api.Profile, in api.ProfilePut) {
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
func profileProblem(c *Call, in api.ProfilePut) *rest.Reply {
	if problem := configProblem(c.LXD, in.Config); problem != "" {
		bad := Bad("%s", problem)
		return &bad
	}
	roots := 0
	for _, name := range slices.Sorted(maps.Keys(in.Devices)) {
		d := in.Devices[name]
		if network := d["network"]; d["type"] == "nic" && network != "" && c.LXD.Networks[network] == nil {
			bad := Refused(http.StatusNotFound, "Device validation failed for %q: Failed loading network %q: Network not found", name, network)
			return &bad
		}
		if world.IsRoot(d) {
			roots++
		}
	}
	if roots > 1 {
		bad := Broken("Failed detecting root disk device: Multiple instance root devices detected")
		return &bad
	}
	return nil
}

func putProfile(c *Call) rest.Reply {
	p, bad := profileNamed(c)
	if bad == nil {
		bad = c.unchanged(p.Config, p.Description, p.Devices)
	}
	var in api.ProfilePut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad == nil {
		bad = profileProblem(c, in)
	}
	if bad != nil {
		return *bad
	}
	writeProfile(c.LXD, p, in)
	for project, instances := range c.LXD.Projects {
		for _, i := range instances {
			if c.LXD.Owner(project, "features.profiles") == profileOwner(c) && slices.Contains(i.Profiles, p.Name) {
				i.Mean(c.World)
			}
		}
	}
	return c.settle(asyncProfiles, "Updating profile", done())
}

func deleteProfile(c *Call) rest.Reply {
	p, bad := profileNamed(c)
	switch {
	case bad != nil:
		return *bad
	case p.Name == "default":
		return forbiddenText(`The "default" profile cannot be deleted`)
	case len(profileView(c, p).UsedBy) > 0:
		return Bad("Profile is currently in use")
	}
	delete(c.LXD.Profiles, world.InProject{Project: profileOwner(c), Name: p.Name})
	return done()
}

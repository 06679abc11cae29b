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
		{http.MethodGet, "1.0/profiles", AccessInProject, listProfiles},
		{http.MethodPost, "1.0/profiles", AccessInProject, createProfile},
		{http.MethodGet, "1.0/profiles/{name}", AccessInProject, readProfile},
		{http.MethodPut, "1.0/profiles/{name}", AccessInProject, putProfile},
		{http.MethodDelete, "1.0/profiles/{name}", AccessInProject, deleteProfile},
	}
}

// profileOwner is the project that holds the profiles of the call's project.
func profileOwner(c *Call) string { return c.LXD.OwnerProject(c.Project, "features.profiles") }

func profileView(c *Call, p *api.Profile) api.Profile {
	view := *p
	view.UsedBy = []string{}
	for _, project := range rest.SortedValues(world.ProjectNames(c.LXD)) {
		if c.LXD.OwnerProject(project, "features.profiles") != profileOwner(c) {
			continue
		}
		for _, i := range c.LXD.Instances(project) {
			if slices.Contains(i.Profiles, p.Name) && c.trust.AllowsProject(project) {
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
	for _, p := range rest.SortedValues(names) {
		paths, views = append(paths, c.inProject("/1.0/profiles/"+p.Name)), append(views, profileView(c, p))
	}
	return c.answerList(paths, views)
}

func profileNamed(c *Call) (*api.Profile, *rest.Reply) {
	p := c.LXD.Profile(c.Project, c.Vars["name"])
	if p == nil {
		bad := notFoundReply("Profile")
		return nil, &bad
	}
	return p, nil
}

func readProfile(c *Call) rest.Reply {
	p, bad := profileNamed(c)
	if bad != nil {
		return *bad
	}
	return taggedReply(profileView(c, p), p.Config, p.Description, p.Devices)
}

func createProfile(c *Call) rest.Reply {
	var in api.ProfilesPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.Contains(in.Name, "/") || in.Name == "." || in.Name == "..":
		return BadRequestReply("Invalid profile name %q", in.Name)
	case c.LXD.Profile(c.Project, in.Name) != nil:
		return conflictReply("Profile", in.Name)
	}
	if bad := profileProblem(c, in.ProfilePut); bad != nil {
		return *bad
	}
	p := c.LXD.AddProfile(profileOwner(c), in.Name)
	writeProfile(c.LXD, p, in.ProfilePut)
	return createdReply(c.inProject("/1.0/profiles/" + in.Name))
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

// profileProblem is LXD's error about a profile. A missing network is an error here. A
// missing pool or parent shows only when an instance is made.
func profileProblem(c *Call, in api.ProfilePut) *rest.Reply {
	if problem := configProblem(c.LXD, in.Config); problem != "" {
		bad := BadRequestReply("%s", problem)
		return &bad
	}
	roots := 0
	for _, name := range slices.Sorted(maps.Keys(in.Devices)) {
		d := in.Devices[name]
		if network := d["network"]; d["type"] == "nic" && network != "" && c.LXD.Networks[network] == nil {
			bad := ErrorReply(http.StatusNotFound, "Device validation failed for %q: Failed loading network %q: Network not found", name, network)
			return &bad
		}
		if world.IsRoot(d) {
			roots++
		}
	}
	if roots > 1 {
		bad := InternalErrorReply("Failed detecting root disk device: Multiple instance root devices detected")
		return &bad
	}
	return nil
}

func putProfile(c *Call) rest.Reply {
	p, bad := profileNamed(c)
	if bad == nil {
		bad = c.checkETag(p.Config, p.Description, p.Devices)
	}
	var in api.ProfilePut
	if bad == nil {
		bad = c.readBody(&in)
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
			if c.LXD.OwnerProject(project, "features.profiles") == profileOwner(c) && slices.Contains(i.Profiles, p.Name) {
				i.ApplyDefinition(c.World)
			}
		}
	}
	return c.answerChange(asyncProfiles, "Updating profile", doneReply())
}

func deleteProfile(c *Call) rest.Reply {
	p, bad := profileNamed(c)
	switch {
	case bad != nil:
		return *bad
	case p.Name == "default":
		return forbiddenTextReply(`The "default" profile cannot be deleted`)
	case len(profileView(c, p).UsedBy) > 0:
		return BadRequestReply("Profile is currently in use")
	}
	delete(c.LXD.Profiles, world.InProject{Project: profileOwner(c), Name: p.Name})
	return doneReply()
}

package sim

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

func lxdProjectRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "1.0/projects", lxdTrusted, listProjects},
		{http.MethodPost, "1.0/projects", lxdAdmin, createProject},
		{http.MethodGet, "1.0/projects/{name}", lxdTrusted, readProject},
		{http.MethodPut, "1.0/projects/{name}", lxdAdmin, putProject},
		{http.MethodDelete, "1.0/projects/{name}", lxdAdmin, deleteProject},
	}
}

// listed answers a list: paths, or with recursion the objects themselves.
func (c *lxdCall) listed(paths []string, objects any) reply {
	if c.depth() == "" || c.depth() == "0" {
		return synced(list(paths))
	}
	return synced(objects)
}

// projectView is a project with what is in it, as far as the client may see.
func (c *lxdCall) projectView(name string) api.Project {
	view := *c.l.projectInfo[name]
	view.UsedBy = []string{}
	suffix := "?project=" + name
	if name == "default" {
		suffix = ""
	}
	for _, i := range c.l.instances(name) {
		view.UsedBy = append(view.UsedBy, "/1.0/instances/"+i.name+suffix)
	}
	for key := range c.l.profiles {
		if key.project == name {
			view.UsedBy = append(view.UsedBy, "/1.0/profiles/"+key.name+suffix)
		}
	}
	for key := range c.l.volumes {
		if key.project == name {
			view.UsedBy = append(view.UsedBy, "/1.0/storage-pools/"+key.pool+"/volumes/custom/"+key.name+suffix)
		}
	}
	slices.Sort(view.UsedBy)
	return view
}

func listProjects(c *lxdCall) reply {
	paths, views := []string{}, []api.Project{}
	for _, name := range sorted(projectNames(c.l)) {
		if c.trust.allows(name) {
			paths, views = append(paths, "/1.0/projects/"+name), append(views, c.projectView(name))
		}
	}
	return c.listed(paths, views)
}

// projectNamed is the project in the path.
func (c *lxdCall) projectNamed() (*api.Project, *reply) {
	name := c.vars["name"]
	var bad reply
	switch {
	case !c.trust.allows(name):
		bad = lxdForbidden()
	case c.l.projects[name] == nil:
		bad = lxdMissing("Project")
	default:
		return c.l.projectInfo[name], nil
	}
	return nil, &bad
}

func readProject(c *lxdCall) reply {
	p, bad := c.projectNamed()
	if bad != nil {
		return *bad
	}
	return tagged(c.projectView(p.Name), p.Description, p.Config)
}

func createProject(c *lxdCall) reply {
	var in api.ProjectsPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.ContainsAny(in.Name, "/ _'\"") || in.Name == "*":
		return lxdBad("Invalid project name %q", in.Name)
	case c.l.projects[in.Name] != nil:
		return lxdTaken("Project", in.Name)
	}
	if bad := projectConfigProblem(in.Config); bad != nil {
		return *bad
	}
	c.l.ensureProject(in.Name)
	info := c.l.projectInfo[in.Name]
	info.Description = in.Description
	maps.Copy(info.Config, in.Config)
	return madeAt("/1.0/projects/" + in.Name)
}

func putProject(c *lxdCall) reply {
	p, bad := c.projectNamed()
	if bad == nil {
		bad = c.unchanged(p.Description, p.Config)
	}
	var in api.ProjectPut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad == nil {
		bad = projectConfigProblem(in.Config)
	}
	if bad != nil {
		return *bad
	}
	for _, feature := range lxdFeatures {
		if in.Config[feature] != p.Config[feature] && c.projectInUse(p.Name) {
			return lxdBad("Project feature %q cannot be changed while the project is in use", feature)
		}
	}
	p.Description, p.Config = in.Description, in.Config
	if p.Config == nil {
		p.Config = map[string]string{}
	}
	return done()
}

// projectInUse says whether more than the default profile is in the project.
func (c *lxdCall) projectInUse(name string) bool {
	used := c.projectView(name).UsedBy
	return len(used) > 1 || len(used) == 1 && !strings.HasPrefix(used[0], "/1.0/profiles/default")
}

func projectConfigProblem(config map[string]string) *reply {
	for key := range config {
		area, _, _ := strings.Cut(key, ".")
		if !slices.Contains([]string{"features", "limits", "restricted", "user", "images", "backups"}, area) && key != "restricted" {
			bad := lxdBad("Invalid project configuration key %q", key)
			return &bad
		}
	}
	return nil
}

func deleteProject(c *lxdCall) reply {
	p, bad := c.projectNamed()
	switch {
	case bad != nil:
		return *bad
	case p.Name == "default":
		return lxdForbiddenText(`The "default" project cannot be deleted`)
	case c.projectInUse(p.Name):
		return lxdBad("Only empty projects can be removed")
	}
	delete(c.l.projects, p.Name)
	delete(c.l.projectInfo, p.Name)
	delete(c.l.profiles, inProject{p.Name, "default"})
	return c.settle(asyncProjectDelete, "Deleting project", done())
}

func lxdForbiddenText(text string) reply { return lxdRefused(http.StatusForbidden, "%s", text) }

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

func projectRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/projects", accessTrusted, listProjects},
		{http.MethodPost, "1.0/projects", accessAdmin, createProject},
		{http.MethodGet, "1.0/projects/{name}", accessTrusted, readProject},
		{http.MethodPut, "1.0/projects/{name}", accessAdmin, putProject},
		{http.MethodDelete, "1.0/projects/{name}", accessAdmin, deleteProject},
	}
}

// answerList answers a list: paths, or with recursion the objects themselves.
func (c *Call) answerList(paths []string, objects any) rest.Reply {
	if c.recursion() == "" || c.recursion() == "0" {
		return syncReply(rest.NonNilList(paths))
	}
	return syncReply(objects)
}

// projectView is a project with those of its objects that the client may see.
func projectView(c *Call, name string) api.Project {
	view := *c.LXD.ProjectInfo[name]
	view.UsedBy = []string{}
	suffix := "?project=" + name
	if name == "default" {
		suffix = ""
	}
	for _, i := range c.LXD.Instances(name) {
		view.UsedBy = append(view.UsedBy, "/1.0/instances/"+i.Name+suffix)
	}
	for key := range c.LXD.Profiles {
		if key.Project == name {
			view.UsedBy = append(view.UsedBy, "/1.0/profiles/"+key.Name+suffix)
		}
	}
	for key := range c.LXD.Volumes {
		if key.Project == name {
			view.UsedBy = append(view.UsedBy, "/1.0/storage-pools/"+key.Pool+"/volumes/custom/"+key.Name+suffix)
		}
	}
	slices.Sort(view.UsedBy)
	return view
}

func listProjects(c *Call) rest.Reply {
	paths, views := []string{}, []api.Project{}
	for _, name := range rest.SortedValues(world.ProjectNames(c.LXD)) {
		if c.trust.AllowsProject(name) {
			paths, views = append(paths, "/1.0/projects/"+name), append(views, projectView(c, name))
		}
	}
	return c.answerList(paths, views)
}

// projectNamed is the project in the path.
func projectNamed(c *Call) (*api.Project, *rest.Reply) {
	name := c.Vars["name"]
	var bad rest.Reply
	switch {
	case !c.trust.AllowsProject(name):
		bad = forbiddenReply()
	case c.LXD.Projects[name] == nil:
		bad = notFoundReply("Project")
	default:
		return c.LXD.ProjectInfo[name], nil
	}
	return nil, &bad
}

func readProject(c *Call) rest.Reply {
	p, bad := projectNamed(c)
	if bad != nil {
		return *bad
	}
	return taggedReply(projectView(c, p.Name), p.Description, p.Config)
}

func createProject(c *Call) rest.Reply {
	var in api.ProjectsPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	switch {
	case in.Name == "" || strings.ContainsAny(in.Name, "/ _'\"") || in.Name == "*":
		return BadRequestReply("Invalid project name %q", in.Name)
	case c.LXD.Projects[in.Name] != nil:
		return conflictReply("Project", in.Name)
	}
	if bad := projectConfigProblem(in.Config); bad != nil {
		return *bad
	}
	c.LXD.EnsureProject(in.Name)
	info := c.LXD.ProjectInfo[in.Name]
	info.Description = in.Description
	maps.Copy(info.Config, in.Config)
	return createdReply("/1.0/projects/" + in.Name)
}

func putProject(c *Call) rest.Reply {
	p, bad := projectNamed(c)
	if bad == nil {
		bad = c.checkETag(p.Description, p.Config)
	}
	var in api.ProjectPut
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad == nil {
		bad = projectConfigProblem(in.Config)
	}
	if bad != nil {
		return *bad
	}
	for _, feature := range world.LXDFeatures {
		if in.Config[feature] != p.Config[feature] && isProjectInUse(c, p.Name) {
			return BadRequestReply("Project feature %q cannot be changed while the project is in use", feature)
		}
	}
	p.Description, p.Config = in.Description, in.Config
	if p.Config == nil {
		p.Config = map[string]string{}
	}
	return doneReply()
}

// isProjectInUse tells whether the project holds more than its default profile.
func isProjectInUse(c *Call, name string) bool {
	used := projectView(c, name).UsedBy
	return len(used) > 1 || len(used) == 1 && !strings.HasPrefix(used[0], "/1.0/profiles/default")
}

func projectConfigProblem(config map[string]string) *rest.Reply {
	for key := range config {
		area, _, _ := strings.Cut(key, ".")
		if !slices.Contains([]string{"features", "limits", "restricted", "user", "images", "backups"}, area) && key != "restricted" {
			bad := BadRequestReply("Invalid project configuration key %q", key)
			return &bad
		}
	}
	return nil
}

func deleteProject(c *Call) rest.Reply {
	p, bad := projectNamed(c)
	switch {
	case bad != nil:
		return *bad
	case p.Name == "default":
		return forbiddenTextReply(`The "default" project cannot be deleted`)
	case isProjectInUse(c, p.Name):
		return BadRequestReply("Only empty projects can be removed")
	}
	delete(c.LXD.Projects, p.Name)
	delete(c.LXD.ProjectInfo, p.Name)
	delete(c.LXD.Profiles, world.InProject{Project: p.Name, Name: "default"})
	return c.answerChange(asyncProjectDelete, "Deleting project", doneReply())
}

func forbiddenTextReply(text string) rest.Reply { return ErrorReply(http.StatusForbidden, "%s", text) }

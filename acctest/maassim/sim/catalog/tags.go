package catalog

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var tagRoutes = []request.Route{
	{Method: http.MethodGet, Path: "tags/", Handle: listTags},
	{Method: http.MethodPost, Path: "tags/", Admin: true, Handle: createTag},
	{Method: http.MethodGet, Path: "tags/{name}/", Handle: readTag},
	{Method: http.MethodPut, Path: "tags/{name}/", Admin: true, Handle: updateTag},
	{Method: http.MethodDelete, Path: "tags/{name}/", Admin: true, Handle: deleteTag},
	{Method: http.MethodGet, Path: "tags/{name}/", Op: "machines", Handle: listTaggedMachines},
	{Method: http.MethodGet, Path: "tags/{name}/", Op: "nodes", Handle: listTaggedMachines},
	{Method: http.MethodGet, Path: "tags/{name}/", Op: "devices", Handle: listTaggedOthers},
	{Method: http.MethodGet, Path: "tags/{name}/", Op: "rack_controllers", Handle: listTaggedOthers},
	{Method: http.MethodGet, Path: "tags/{name}/", Op: "region_controllers", Handle: listTaggedOthers},
	{Method: http.MethodPost, Path: "tags/{name}/", Op: "update_nodes", Admin: true, Handle: updateTagNodes},
	{Method: http.MethodPost, Path: "tags/{name}/", Op: "rebuild", Admin: true, Handle: rebuildTag},
}

var tagNamePattern = regexp.MustCompile(`^[\w-]+$`)

func viewTag(t *world.Tag) rest.Object {
	return rest.Object{
		"name": t.Name, "definition": t.Definition, "comment": t.Comment, "kernel_opts": t.KernelOpts,
		"resource_uri": rest.URI("tags", t.Name),
	}
}

func listTags(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, t := range rest.SortedValues(c.World.Tags) {
		views = append(views, viewTag(t))
	}
	return rest.OKReply(views)
}

// checkTag returns the tag form's errors. t is nil for a new tag.
func checkTag(c *request.Call, t *world.Tag) rest.FormErrors {
	errs := rest.FormErrors{}
	if t == nil || c.HasField("name") {
		other := c.World.Tags[c.Field("name")]
		if problem := nameProblem(c.Field("name"), "Tag", tagNamePattern, other != nil && other != t); problem != "" {
			errs.Add("name", problem)
		}
	}
	if !isValidXPath(c.Field("definition")) {
		errs.Add("definition", "Invalid xpath expression: Invalid expression")
	}
	return errs
}

// isValidXPath refuses only obvious errors: open brackets and quotes. Definitions match
// nothing, because simulated machines have no lshw.
func isValidXPath(text string) bool {
	var open []rune
	closes := map[rune]rune{'[': ']', '(': ')', '\'': '\'', '"': '"'}
	for _, r := range text {
		quoted := len(open) > 0 && (open[len(open)-1] == '\'' || open[len(open)-1] == '"')
		switch {
		case len(open) > 0 && r == open[len(open)-1]:
			open = open[:len(open)-1]
		case quoted:
		case closes[r] != 0:
			open = append(open, closes[r])
		case r == ']' || r == ')':
			return false
		}
	}
	return len(open) == 0
}

func createTag(c *request.Call) rest.Reply {
	if errs := checkTag(c, nil); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	t := c.World.EnsureTag(c.Field("name"))
	fillTag(c, t)
	return rest.OKReply(viewTag(t))
}

func fillTag(c *request.Call, t *world.Tag) {
	for name, field := range map[string]*string{"comment": &t.Comment, "kernel_opts": &t.KernelOpts, "definition": &t.Definition} {
		if c.HasField(name) {
			*field = c.Field(name)
		}
	}
}

func readTag(c *request.Call) rest.Reply {
	t := c.World.Tags[c.Vars["name"]]
	if t == nil {
		return rest.NoObjectReply("Tag")
	}
	return rest.OKReply(viewTag(t))
}

// updateTag also renames the tag on machines. VM hosts keep the old name, because their
// tags are only texts.
func updateTag(c *request.Call) rest.Reply {
	t := c.World.Tags[c.Vars["name"]]
	if t == nil {
		return rest.NoObjectReply("Tag")
	}
	if errs := checkTag(c, t); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	fillTag(c, t)
	if name := c.Field("name"); name != "" && name != t.Name {
		delete(c.World.Tags, t.Name)
		for _, m := range c.World.Machines {
			if slices.Contains(m.Tags, t.Name) {
				m.RemoveTag(t.Name)
				m.AddTag(name)
			}
		}
		t.Name = name
		c.World.Tags[name] = t
	}
	return rest.OKReply(viewTag(t))
}

func deleteTag(c *request.Call) rest.Reply {
	t := c.World.Tags[c.Vars["name"]]
	if t == nil {
		return rest.NoObjectReply("Tag")
	}
	for _, m := range c.World.Machines {
		m.RemoveTag(t.Name)
	}
	delete(c.World.Tags, t.Name)
	return rest.DeletedReply()
}

func listTaggedMachines(c *request.Call) rest.Reply {
	t := c.World.Tags[c.Vars["name"]]
	if t == nil {
		return rest.NoObjectReply("Tag")
	}
	views := []rest.Object{}
	for _, m := range world.SortedMachines(c.World.Machines) {
		if slices.Contains(m.Tags, t.Name) && c.CanView(m) {
			views = append(views, view.Machine(m))
			m.EndSeenJobs()
		}
	}
	rep := rest.OKReply(views)
	rep.MachineObjects = len(views)
	return rep
}

// listTaggedOthers lists the tagged nodes that are not machines. There are none: the
// simulator has no devices, and nothing tags MAAS's own server.
func listTaggedOthers(c *request.Call) rest.Reply {
	if c.World.Tags[c.Vars["name"]] == nil {
		return rest.NoObjectReply("Tag")
	}
	return rest.OKReply([]rest.Object{})
}

// updateTagNodes ignores system ids that do not exist.
func updateTagNodes(c *request.Call) rest.Reply {
	t := c.World.Tags[c.Vars["name"]]
	if t == nil {
		return rest.NoObjectReply("Tag")
	}
	if d := c.Field("definition"); d != "" && d != t.Definition {
		return rest.ConflictReply("Definition supplied '" + d + "' doesn't match current definition '" + t.Definition + "'")
	}
	added := updateEachNode(c, "add", func(m *world.Machine) { m.AddTag(t.Name) })
	removed := updateEachNode(c, "remove", func(m *world.Machine) { m.RemoveTag(t.Name) })
	return rest.OKReply(rest.Object{"added": added, "removed": removed})
}

// updateEachNode calls f for the machines that a repeated field names. It ignores unknown
// ones.
func updateEachNode(c *request.Call, field string, f func(*world.Machine)) (n int) {
	for _, id := range c.Form[field] {
		if m := c.World.Machines[id]; m != nil {
			f(m)
			n++
		}
	}
	return n
}

func rebuildTag(c *request.Call) rest.Reply {
	t := c.World.Tags[c.Vars["name"]]
	if t == nil {
		return rest.NoObjectReply("Tag")
	}
	return rest.OKReply(rest.Object{"rebuilding": t.Name})
}

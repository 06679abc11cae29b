package sim

import (
	"net/http"
	"regexp"
	"slices"
)

var tagRoutes = []route{
	{method: http.MethodGet, path: "tags/", handle: listTags},
	{method: http.MethodPost, path: "tags/", admin: true, handle: createTag},
	{method: http.MethodGet, path: "tags/{name}/", handle: readTag},
	{method: http.MethodPut, path: "tags/{name}/", admin: true, handle: updateTag},
	{method: http.MethodDelete, path: "tags/{name}/", admin: true, handle: deleteTag},
	{method: http.MethodGet, path: "tags/{name}/", op: "machines", handle: tagMachines},
	{method: http.MethodGet, path: "tags/{name}/", op: "nodes", handle: tagMachines},
	{method: http.MethodPost, path: "tags/{name}/", op: "update_nodes", admin: true, handle: updateTagNodes},
	{method: http.MethodPost, path: "tags/{name}/", op: "rebuild", admin: true, handle: rebuildTag},
}

var tagName = regexp.MustCompile(`^[\w-]+$`)

func (t *tag) view() object {
	return object{
		"name": t.name, "definition": t.definition, "comment": t.comment, "kernel_opts": t.kernelOpts,
		"resource_uri": uri("tags", t.name),
	}
}

func listTags(c *call) reply {
	views := []object{}
	for _, t := range sorted(c.w.tags) {
		views = append(views, t.view())
	}
	return ok(views)
}

// checkTag is the tag form's complaints; t is nil for a new tag.
func (c *call) checkTag(t *tag) formErrors {
	errs := formErrors{}
	if t == nil || c.has("name") {
		other := c.w.tags[c.field("name")]
		if problem := checkName(c.field("name"), "Tag", tagName, other != nil && other != t); problem != "" {
			errs.add("name", problem)
		}
	}
	if !validXPath(c.field("definition")) {
		errs.add("definition", "Invalid xpath expression: Invalid expression")
	}
	return errs
}

// validXPath looks for what is plainly no XPath: open brackets and quotes.
// Definitions are kept and match nothing: the machines here have no lshw.
func validXPath(text string) bool {
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

func createTag(c *call) reply {
	if errs := c.checkTag(nil); len(errs) > 0 {
		return badForm(errs)
	}
	t := c.w.ensureTag(c.field("name"))
	c.fillTag(t)
	return ok(t.view())
}

func (c *call) fillTag(t *tag) {
	for name, field := range map[string]*string{"comment": &t.comment, "kernel_opts": &t.kernelOpts, "definition": &t.definition} {
		if c.has(name) {
			*field = c.field(name)
		}
	}
}

func readTag(c *call) reply {
	t := c.w.tags[c.vars["name"]]
	if t == nil {
		return noObject("Tag")
	}
	return ok(t.view())
}

// updateTag renames on the machines too. VM hosts keep the old name: theirs
// are words, not tags.
func updateTag(c *call) reply {
	t := c.w.tags[c.vars["name"]]
	if t == nil {
		return noObject("Tag")
	}
	if errs := c.checkTag(t); len(errs) > 0 {
		return badForm(errs)
	}
	c.fillTag(t)
	if name := c.field("name"); name != "" && name != t.name {
		delete(c.w.tags, t.name)
		for _, m := range c.w.machines {
			if slices.Contains(m.tags, t.name) {
				m.removeTag(t.name)
				m.addTag(name)
			}
		}
		t.name = name
		c.w.tags[name] = t
	}
	return ok(t.view())
}

func deleteTag(c *call) reply {
	t := c.w.tags[c.vars["name"]]
	if t == nil {
		return noObject("Tag")
	}
	for _, m := range c.w.machines {
		m.removeTag(t.name)
	}
	delete(c.w.tags, t.name)
	return deleted()
}

func tagMachines(c *call) reply {
	t := c.w.tags[c.vars["name"]]
	if t == nil {
		return noObject("Tag")
	}
	views := []object{}
	for _, m := range sortedMachines(c.w.machines) {
		if slices.Contains(m.tags, t.name) && c.mayView(m) {
			views = append(views, m.view())
			m.seen()
		}
	}
	rep := ok(views)
	rep.objects = len(views)
	return rep
}

// updateTagNodes ignores system ids that no machine has.
func updateTagNodes(c *call) reply {
	t := c.w.tags[c.vars["name"]]
	if t == nil {
		return noObject("Tag")
	}
	if d := c.field("definition"); d != "" && d != t.definition {
		return conflict("Definition supplied '" + d + "' doesn't match current definition '" + t.definition + "'")
	}
	added := c.eachNode("add", func(m *machine) { m.addTag(t.name) })
	removed := c.eachNode("remove", func(m *machine) { m.removeTag(t.name) })
	return ok(object{"added": added, "removed": removed})
}

// eachNode calls f for the known machines that a repeated field names.
func (c *call) eachNode(field string, f func(*machine)) (n int) {
	for _, id := range c.form[field] {
		if m := c.w.machines[id]; m != nil {
			f(m)
			n++
		}
	}
	return n
}

func rebuildTag(c *call) reply {
	t := c.w.tags[c.vars["name"]]
	if t == nil {
		return noObject("Tag")
	}
	return ok(object{"rebuilding": t.name})
}

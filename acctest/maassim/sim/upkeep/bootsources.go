package upkeep

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

var bootSourceRoutes = []request.Route{
	{Method: http.MethodGet, Path: "boot-sources/", Handle: requireAdmin(listBootSources)},
	{Method: http.MethodPost, Path: "boot-sources/", Handle: requireAdmin(createBootSource)},
	{Method: http.MethodGet, Path: "boot-sources/{id}/", Handle: requireAdmin(onBootSource("id", readBootSource))},
	{Method: http.MethodPut, Path: "boot-sources/{id}/", Handle: requireAdmin(onBootSource("id", updateBootSource))},
	{Method: http.MethodDelete, Path: "boot-sources/{id}/", Handle: requireAdmin(onBootSource("id", deleteBootSource))},
}

var selectionRoutes = []request.Route{
	{Method: http.MethodGet, Path: "boot-sources/{source}/selections/", Handle: requireAdmin(onBootSource("source", listSelections))},
	{Method: http.MethodPost, Path: "boot-sources/{source}/selections/", Handle: requireAdmin(onBootSource("source", createSelection))},
	{Method: http.MethodGet, Path: "boot-sources/{source}/selections/{id}/", Handle: requireAdmin(onSelection(readSelection))},
	{Method: http.MethodPut, Path: "boot-sources/{source}/selections/{id}/", Handle: requireAdmin(onSelection(updateSelection))},
	{Method: http.MethodDelete, Path: "boot-sources/{source}/selections/{id}/", Handle: requireAdmin(onSelection(deleteSelection))},
}

// requireAdmin limits a resource to administrators. Until 3.7 MAAS restricts the whole
// resource (api/support.py, AdminRestrictedResource). Since then each operation needs a
// permission that administrators have.
func requireAdmin(f func(*request.Call) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		switch {
		case c.User.Admin:
			return f(c)
		case versions.IsAtLeast(c.World.Version, versions.V38):
			return rest.ForbiddenReply()
		}
		return rest.ErrorReply(http.StatusForbidden, "User is not allowed access to this API.")
	}
}

func onBootSource(variable string, f func(*request.Call, *site.BootSource) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		id, wrong := rest.ReadID(c.Vars[variable])
		if wrong != nil {
			return *wrong
		}
		s := c.World.Site.BootSources[id]
		if s == nil {
			return rest.NoObjectReply("BootSource")
		}
		return f(c, s)
	}
}

func viewBootSource(s *site.BootSource) rest.Object {
	return rest.Object{
		"id": s.ID, "url": s.URL, "keyring_filename": s.KeyringFile, "keyring_data": base64.StdEncoding.EncodeToString(s.Keyring),
		"created": formatTimestamp(s.Created), "updated": formatTimestamp(s.Updated), "resource_uri": rest.URI("boot-sources", s.ID),
	}
}

func formatTimestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000") }

func listBootSources(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, s := range rest.SortedValues(c.World.Site.BootSources) {
		views = append(views, viewBootSource(s))
	}
	return rest.OKReply(views)
}

// fillBootSource is MAAS's form. A keyring is either the name of a file or its content,
// and not both. An update changes only the given fields.
func fillBootSource(c *request.Call, s *site.BootSource) rest.FormErrors {
	errs := rest.FormErrors{}
	if c.HasField("url") || s.URL == "" {
		s.URL = strings.TrimSpace(c.Field("url"))
	}
	if c.HasField("keyring_filename") {
		s.KeyringFile = strings.TrimSpace(c.Field("keyring_filename"))
	}
	if c.HasField("keyring_data") {
		s.Keyring = []byte(c.Field("keyring_data"))
	}
	switch {
	case s.URL == "":
		errs.Add("url", rest.MsgRequired)
	case !isURL(s.URL):
		errs.Add("url", "Enter a valid URL.")
	}
	for _, other := range c.World.Site.BootSources {
		if other.ID != s.ID && other.URL == s.URL {
			errs.Add("url", "Boot source with this Url already exists.")
		}
	}
	switch {
	case s.KeyringFile == "" && len(s.Keyring) == 0:
		errs.Add("__all__", "One of keyring_data or keyring_filename must be specified.")
	case s.KeyringFile != "" && len(s.Keyring) > 0:
		errs.Add("__all__", "Only one of keyring_filename or keyring_data can be specified.")
	}
	return errs
}

func createBootSource(c *request.Call) rest.Reply {
	s := &site.BootSource{Created: time.Now(), Updated: time.Now(), Selections: map[int]*site.Selection{}}
	if errs := fillBootSource(c, s); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	s.ID = c.World.NextID("bootsource")
	c.World.Site.BootSources[s.ID] = s
	return rest.CreatedReply(viewBootSource(s))
}

func readBootSource(_ *request.Call, s *site.BootSource) rest.Reply {
	return rest.OKReply(viewBootSource(s))
}

func updateBootSource(c *request.Call, s *site.BootSource) rest.Reply {
	changed := *s
	if errs := fillBootSource(c, &changed); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	changed.Updated = time.Now()
	*s = changed
	return rest.OKReply(viewBootSource(s))
}

func deleteBootSource(c *request.Call, s *site.BootSource) rest.Reply {
	delete(c.World.Site.BootSources, s.ID)
	return rest.DeletedReply()
}

func onSelection(f func(*request.Call, *site.BootSource, *site.Selection) rest.Reply) func(*request.Call) rest.Reply {
	return onBootSource("source", func(c *request.Call, s *site.BootSource) rest.Reply {
		id, wrong := rest.ReadID(c.Vars["id"])
		if wrong != nil {
			return *wrong
		}
		if s.Selections[id] == nil {
			return rest.NoObjectReply("BootSourceSelection")
		}
		return f(c, s, s.Selections[id])
	})
}

func viewSelection(s *site.BootSource, x *site.Selection) rest.Object {
	return rest.Object{
		"boot_source_id": s.ID, "id": x.ID, "os": x.OS, "release": x.Release,
		"arches": rest.NonNilList(x.Arches), "subarches": rest.NonNilList(x.Subarches), "labels": rest.NonNilList(x.Labels),
		"resource_uri": fmt.Sprintf("%sboot-sources/%d/selections/%d/", rest.APIRoot, s.ID, x.ID),
	}
}

func listSelections(_ *request.Call, s *site.BootSource) rest.Reply {
	views := []rest.Object{}
	for _, x := range rest.SortedValues(s.Selections) {
		views = append(views, viewSelection(s, x))
	}
	return rest.OKReply(views)
}

// fillSelection is MAAS's form. A source offers every series of Ubuntu that the simulator
// knows, for the architectures of the world.
func fillSelection(c *request.Call, s *site.BootSource, x *site.Selection) rest.FormErrors {
	errs := rest.FormErrors{}
	for field, to := range map[string]*string{"os": &x.OS, "release": &x.Release} {
		if c.HasField(field) {
			*to = strings.TrimSpace(c.Field(field))
		}
	}
	for field, to := range map[string]*[]string{"arches": &x.Arches, "subarches": &x.Subarches, "labels": &x.Labels} {
		if c.HasField(field) {
			*to = slices.Clone(c.Form[field])
		}
	}
	_, known := world.Releases[x.Release]
	if !known || x.OS != "" && x.OS != "ubuntu" {
		errs.Add("os", fmt.Sprintf("OS %s with release %s has no available images for download", x.OS, x.Release))
		return errs
	}
	for _, other := range s.Selections {
		if other.ID != x.ID && other.OS == x.OS && other.Release == x.Release {
			errs.Add("__all__", "Boot source selection with this Boot source, Os and Release already exists.")
		}
	}
	if !slices.Contains(x.Arches, "*") && slices.ContainsFunc(x.Arches, func(a string) bool { return !slices.Contains(world.MachineArchitectures(c.World), a) }) {
		errs.Add("arches", "No available images to download for "+pythonList(x.Arches))
	}
	return errs
}

// pythonList writes texts in the form of a Python list.
func pythonList(values []string) string {
	if len(values) == 0 {
		return "[]"
	}
	return "['" + strings.Join(values, "', '") + "']"
}

func createSelection(c *request.Call, s *site.BootSource) rest.Reply {
	x := &site.Selection{}
	if errs := fillSelection(c, s, x); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	x.ID = c.World.NextID("bootsourceselection")
	s.Selections[x.ID] = x
	return rest.CreatedReply(viewSelection(s, x))
}

func readSelection(_ *request.Call, s *site.BootSource, x *site.Selection) rest.Reply {
	return rest.OKReply(viewSelection(s, x))
}

func updateSelection(c *request.Call, s *site.BootSource, x *site.Selection) rest.Reply {
	changed := *x
	if errs := fillSelection(c, s, &changed); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	*x = changed
	return rest.OKReply(viewSelection(s, x))
}

func deleteSelection(_ *request.Call, s *site.BootSource, x *site.Selection) rest.Reply {
	delete(s.Selections, x.ID)
	return rest.DeletedReply()
}

package upkeep

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

var repositoryRoutes = []request.Route{
	{Method: http.MethodGet, Path: "package-repositories/", Handle: listRepositories},
	{Method: http.MethodPost, Path: "package-repositories/", Admin: true, Handle: createRepository},
	{Method: http.MethodGet, Path: "package-repositories/{id}/", Handle: onRepository(readRepository)},
	{Method: http.MethodPut, Path: "package-repositories/{id}/", Admin: true, Handle: onRepository(updateRepository)},
	{Method: http.MethodDelete, Path: "package-repositories/{id}/", Admin: true, Handle: onRepository(deleteRepository)},
}

func onRepository(f func(*request.Call, *site.Repository) rest.Reply) func(*request.Call) rest.Reply {
	return func(c *request.Call) rest.Reply {
		r, wrong := request.FindByID(c, c.World.Site.Repositories, "PackageRepository")
		if wrong != nil {
			return *wrong
		}
		return f(c, r)
	}
}

func viewRepository(r *site.Repository) rest.Object {
	return rest.Object{
		"id": r.ID, "name": r.Name, "url": r.URL, "distributions": rest.NonNilList(r.Distributions), "disabled_pockets": rest.NonNilList(r.DisabledPockets),
		"disabled_components": rest.NonNilList(r.DisabledComponents), "disable_sources": r.DisableSources, "components": rest.NonNilList(r.Components),
		"arches": rest.NonNilList(r.Arches), "key": r.Key, "enabled": r.Enabled, "resource_uri": rest.URI("package-repositories", r.ID),
	}
}

func listRepositories(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, r := range rest.SortedValues(c.World.Site.Repositories) {
		views = append(views, viewRepository(r))
	}
	return rest.OKReply(views)
}

// isURL tells whether Django accepts a text as a URL.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && slices.Contains([]string{"http", "https", "ftp", "ftps"}, u.Scheme)
}

var ppaPattern = regexp.MustCompile(`^ppa:[^/]+/[^/]+$`)

// readList reads a field that may be repeated or have commas.
func readList(c *request.Call, field string) (values []string) {
	for _, text := range c.Form[field] {
		for value := range strings.SplitSeq(text, ",") {
			values = append(values, strings.TrimSpace(value))
		}
	}
	if len(values) == 1 && slices.Contains([]string{"", "None", "[]"}, values[0]) {
		return nil
	}
	return values
}

// fillRepository is MAAS's form (forms/packagerepository.py). An update changes only the
// given fields.
func fillRepository(c *request.Call, r *site.Repository) rest.FormErrors {
	errs := rest.FormErrors{}
	for field, to := range map[string]*string{"name": &r.Name, "url": &r.URL, "key": &r.Key} {
		if c.HasField(field) {
			*to = strings.TrimSpace(c.Field(field))
		}
	}
	for field, to := range map[string]*bool{"disable_sources": &r.DisableSources, "enabled": &r.Enabled} {
		if c.HasField(field) {
			*to = c.Field(field) != "" && !strings.EqualFold(c.Field(field), "false")
		}
	}
	for field, to := range map[string]*[]string{"distributions": &r.Distributions, "disabled_pockets": &r.DisabledPockets,
		"disabled_components": &r.DisabledComponents, "components": &r.Components, "arches": &r.Arches} {
		if c.HasField(field) {
			*to = readList(c, field)
		}
	}
	checkRepositoryName(c, r, errs)
	checkRepositoryLists(r, errs)
	if r.Default && !r.Enabled {
		errs.Add("__all__", "Default repositories may not be disabled.")
	}
	return errs
}

func checkRepositoryName(c *request.Call, r *site.Repository, errs rest.FormErrors) {
	switch {
	case r.Name == "":
		errs.Add("name", rest.MsgRequired)
	case len([]rune(r.Name)) > 41:
		errs.Add("name", fmt.Sprintf("Ensure this value has at most 41 characters (it has %d).", len([]rune(r.Name))))
	}
	for _, other := range c.World.Site.Repositories {
		if other.ID != r.ID && other.Name == r.Name {
			errs.Add("name", "Package repository with this Name already exists.")
		}
	}
	switch {
	case r.URL == "":
		errs.Add("url", rest.MsgRequired)
	case !isURL(r.URL) && !ppaPattern.MatchString(r.URL):
		errs.Add("url", "Enter a valid repository URL or PPA location.")
	}
}

var (
	mainArches  = []string{"amd64", "i386"}
	portsArches = []string{"armhf", "arm64", "ppc64el", "s390x"}
	pockets     = []string{"updates", "security", "backports"}
	components  = []string{"restricted", "universe", "multiverse"}
)

func checkRepositoryLists(r *site.Repository, errs rest.FormErrors) {
	known := slices.Sorted(slices.Values(slices.Concat(mainArches, portsArches)))
	if arch, unknown := firstUnknown(r.Arches, known); unknown {
		errs.Add("arches", fmt.Sprintf("'%s' is not a valid architecture. Known architectures: %s", arch, strings.Join(known, ", ")))
	}
	if len(r.Arches) == 0 {
		r.Arches = slices.Clone(mainArches)
	}
	if pocket, unknown := firstUnknown(r.DisabledPockets, pockets); unknown {
		errs.Add("disabled_pockets", fmt.Sprintf("'%s' is not a valid Ubuntu archive pocket. You can only disable %s.", pocket, pythonList(pockets)))
	}
	switch component, unknown := firstUnknown(r.DisabledComponents, components); {
	case !r.Default && len(r.DisabledComponents) > 0:
		errs.Add("disabled_components", "This is a custom repository. Please update 'components' instead.")
	case unknown:
		errs.Add("disabled_components", fmt.Sprintf("'%s' is not a valid Ubuntu archive component. You can only disable %s.", component, pythonList(components)))
	}
	if r.Default && len(r.Components) > 0 {
		errs.Add("components", "This is a default Ubuntu repository. Please update 'disabled_components' instead.")
	}
}

func firstUnknown(values, known []string) (string, bool) {
	i := slices.IndexFunc(values, func(v string) bool { return !slices.Contains(known, v) })
	if i < 0 {
		return "", false
	}
	return values[i], true
}

func createRepository(c *request.Call) rest.Reply {
	r := &site.Repository{Enabled: !c.HasField("enabled")}
	if errs := fillRepository(c, r); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	r.ID = c.World.NextID("packagerepository")
	c.World.Site.Repositories[r.ID] = r
	return rest.OKReply(viewRepository(r))
}

func readRepository(_ *request.Call, r *site.Repository) rest.Reply {
	return rest.OKReply(viewRepository(r))
}

func updateRepository(c *request.Call, r *site.Repository) rest.Reply {
	changed := *r
	if errs := fillRepository(c, &changed); len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	*r = changed
	return rest.OKReply(viewRepository(r))
}

func deleteRepository(c *request.Call, r *site.Repository) rest.Reply {
	if r.Default {
		return rest.BadTextReply("Cannot delete default Ubuntu archives.")
	}
	delete(c.World.Site.Repositories, r.ID)
	return rest.DeletedReply()
}

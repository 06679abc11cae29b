package sim

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

var domainRoutes = []route{
	{method: http.MethodGet, path: "domains/", handle: listDomains},
	{method: http.MethodPost, path: "domains/", admin: true, handle: createDomain},
	{method: http.MethodGet, path: "domains/{id}/", handle: readDomain},
	{method: http.MethodPut, path: "domains/{id}/", admin: true, handle: updateDomain},
	{method: http.MethodDelete, path: "domains/{id}/", admin: true, handle: deleteDomain},
}

func listDomains(c *call) reply {
	views := []object{}
	for _, d := range sorted(c.w.domains) {
		views = append(views, d.view(c.w))
	}
	return ok(views)
}

var domainName = regexp.MustCompile(`^([a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*$`)

// checkDomainName is MAAS's complaints: one about the name and one about each
// label at fault.
func (w *world) checkDomainName(name string, self *domain) []string {
	if name == "" {
		return []string{msgRequired}
	}
	if other := w.domainNamed(name); other != nil && other != self {
		return []string{"Domain with this Name already exists."}
	}
	if domainName.MatchString(name) {
		return nil
	}
	problems := []string{fmt.Sprintf("Invalid domain name: %s.", name)}
	for label := range strings.SplitSeq(name, ".") {
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			problems = append(problems, fmt.Sprintf("Label cannot start or end with hyphen: '%s'.", label))
		}
	}
	return problems
}

// maxTTL is a week, in seconds.
const maxTTL = 604800

// readTTL reads an optional TTL in seconds; empty means none.
func readTTL(text string) (*int, string) {
	if text == "" {
		return nil, ""
	}
	ttl, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return nil, msgWhole
	case ttl < 1:
		return nil, "Ensure this value is greater than or equal to 1."
	case ttl > maxTTL:
		return nil, fmt.Sprintf("Ensure this value is less than or equal to %d.", maxTTL)
	}
	return &ttl, ""
}

func createDomain(c *call) reply {
	errs := formErrors{}
	for _, problem := range c.w.checkDomainName(c.field("name"), nil) {
		errs.add("name", problem)
	}
	ttl, problem := readTTL(c.field("ttl"))
	if problem != "" {
		errs.add("ttl", problem)
	}
	if len(errs) > 0 {
		return badForm(errs)
	}
	d := c.w.addDomain(c.field("name"))
	d.ttl = ttl
	if c.has("authoritative") {
		d.authoritative = truth(c.field("authoritative"))
	}
	return ok(d.view(c.w))
}

func readDomain(c *call) reply {
	d, wrong := numbered(c, c.w.domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	return ok(d.view(c.w))
}

func updateDomain(c *call) reply {
	d, wrong := numbered(c, c.w.domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	errs := formErrors{}
	if c.has("name") {
		for _, problem := range c.w.checkDomainName(c.field("name"), d) {
			errs.add("name", problem)
		}
	}
	ttl, problem := readTTL(c.field("ttl"))
	if problem != "" {
		errs.add("ttl", problem)
	}
	if len(errs) > 0 {
		return badForm(errs)
	}
	if c.has("ttl") {
		d.ttl = ttl
	}
	if c.has("authoritative") {
		d.authoritative = truth(c.field("authoritative"))
	}
	d.name = or(c.field("name"), d.name)
	return ok(d.view(c.w))
}

// deleteDomain lets the database's complaint through as 500 where names or
// machines still use the domain, as MAAS does.
func deleteDomain(c *call) reply {
	d, wrong := numbered(c, c.w.domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	if d.id == 0 {
		return badText("This domain is the default domain, it cannot be deleted.")
	}
	if users, field := c.w.usersOf(d); len(users) > 0 {
		return refused(http.StatusInternalServerError, fmt.Sprintf(
			`("Cannot delete some instances of model 'Domain' because they are referenced through protected foreign keys: '%s'.", {%s})`,
			field, strings.Join(users, ", ")))
	}
	delete(c.w.domains, d.id)
	return deleted()
}

// usersOf lists what refers to a domain, and through which of MAAS's fields.
func (w *world) usersOf(d *domain) (users []string, field string) {
	for _, m := range sortedMachines(w.machines) {
		if m.domain == d {
			users = append(users, fmt.Sprintf("<Machine: %s (%s)>", m.systemID, m.hostname+"."+d.name))
		}
	}
	if len(users) > 0 {
		return users, "Node.domain"
	}
	for _, name := range w.namesIn(d) {
		users = append(users, fmt.Sprintf("<DNSResource: name=%s>", name))
	}
	return users, "DNSResource.domain"
}

package network

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/view"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var domainRoutes = []request.Route{
	{Method: http.MethodGet, Path: "domains/", Handle: listDomains},
	{Method: http.MethodPost, Path: "domains/", Admin: true, Handle: createDomain},
	{Method: http.MethodPost, Path: "domains/", Op: "set_serial", Admin: true, Handle: setSerial},
	{Method: http.MethodGet, Path: "domains/{id}/", Handle: readDomain},
	{Method: http.MethodPost, Path: "domains/{id}/", Op: "set_default", Admin: true, Handle: setDefaultDomain},
	{Method: http.MethodPut, Path: "domains/{id}/", Admin: true, Handle: updateDomain},
	{Method: http.MethodDelete, Path: "domains/{id}/", Admin: true, Handle: deleteDomain},
}

func listDomains(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, d := range rest.SortedValues(c.World.Domains) {
		views = append(views, view.Domain(d, c.World))
	}
	return rest.OKReply(views)
}

var domainNamePattern = regexp.MustCompile(`^([a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*$`)

// checkDomainName returns MAAS's errors: one about the name, and one about each invalid
// label.
func checkDomainName(w *world.World, name string, self *world.Domain) []string {
	if name == "" {
		return []string{rest.MsgRequired}
	}
	if other := w.DomainNamed(name); other != nil && other != self {
		return []string{"Domain with this Name already exists."}
	}
	if domainNamePattern.MatchString(name) {
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
		return nil, rest.MsgWhole
	case ttl < 1:
		return nil, "Ensure this value is greater than or equal to 1."
	case ttl > maxTTL:
		return nil, fmt.Sprintf("Ensure this value is less than or equal to %d.", maxTTL)
	}
	return &ttl, ""
}

func createDomain(c *request.Call) rest.Reply {
	errs := rest.FormErrors{}
	for _, problem := range checkDomainName(c.World, c.Field("name"), nil) {
		errs.Add("name", problem)
	}
	ttl, problem := readTTL(c.Field("ttl"))
	if problem != "" {
		errs.Add("ttl", problem)
	}
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	d := c.World.AddDomain(c.Field("name"))
	d.TTL = ttl
	if c.HasField("authoritative") {
		d.Authoritative = rest.ReadBool(c.Field("authoritative"))
	}
	return rest.OKReply(view.Domain(d, c.World))
}

func readDomain(c *request.Call) rest.Reply {
	d, wrong := request.FindByID(c, c.World.Domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(view.Domain(d, c.World))
}

func updateDomain(c *request.Call) rest.Reply {
	d, wrong := request.FindByID(c, c.World.Domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	errs := rest.FormErrors{}
	if c.HasField("name") {
		for _, problem := range checkDomainName(c.World, c.Field("name"), d) {
			errs.Add("name", problem)
		}
	}
	ttl, problem := readTTL(c.Field("ttl"))
	if problem != "" {
		errs.Add("ttl", problem)
	}
	if len(errs) > 0 {
		return rest.BadFormReply(errs)
	}
	if c.HasField("ttl") {
		d.TTL = ttl
	}
	if c.HasField("authoritative") {
		d.Authoritative = rest.ReadBool(c.Field("authoritative"))
	}
	d.Name = cmp.Or(c.Field("name"), d.Name)
	return rest.OKReply(view.Domain(d, c.World))
}

// deleteDomain answers with the database's error as 500 if names or machines still use the
// domain, as MAAS does.
func deleteDomain(c *request.Call) rest.Reply {
	d, wrong := request.FindByID(c, c.World.Domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	if d == c.World.DefaultDomain() {
		return rest.BadTextReply("This domain is the default domain, it cannot be deleted.")
	}
	if users, field := domainReferences(c.World, d); len(users) > 0 {
		return rest.ErrorReply(http.StatusInternalServerError, fmt.Sprintf(
			`("Cannot delete some instances of model 'Domain' because they are referenced through protected foreign keys: '%s'.", {%s})`,
			field, strings.Join(users, ", ")))
	}
	delete(c.World.Domains, d.ID)
	return rest.DeletedReply()
}

// domainReferences lists the objects that refer to a domain, with MAAS's names of the
// fields.
func domainReferences(w *world.World, d *world.Domain) (users []string, field string) {
	for _, m := range world.SortedMachines(w.Machines) {
		if m.Domain == d {
			users = append(users, fmt.Sprintf("<Machine: %s (%s)>", m.SystemID, m.Hostname+"."+d.Name))
		}
	}
	if len(users) > 0 {
		return users, "Node.domain"
	}
	for _, name := range world.NamesIn(w, d) {
		users = append(users, fmt.Sprintf("<DNSResource: name=%s>", name))
	}
	return users, "DNSResource.domain"
}

// setDefaultDomain makes the domain the default one.
func setDefaultDomain(c *request.Call) rest.Reply {
	d, wrong := request.FindByID(c, c.World.Domains, "Domain")
	if wrong != nil {
		return *wrong
	}
	c.World.DefaultDomainID = d.ID
	return rest.OKReply(view.Domain(d, c.World))
}

// maxSerial is the greatest serial number of a zone (dns/config.py, INT_MAX).
const maxSerial = 1<<32 - 1

// setSerial checks the serial number of the DNS zones. The serial itself is not simulated.
func setSerial(c *request.Call) rest.Reply {
	if !c.HasField("serial") {
		return rest.BadSentenceReply("serial", "Missing parameter")
	}
	serial, err := strconv.ParseInt(c.Field("serial"), 10, 64)
	switch {
	case err != nil:
		return rest.BadSentenceReply("serial", "Expected a serial number")
	case serial == 0 || serial > maxSerial:
		return rest.BadSentenceReply("serial", fmt.Sprintf("Expected a serial number between 1 and %d", int64(maxSerial)))
	}
	return rest.Reply{Status: http.StatusOK, Kind: rest.TypePlain, Header: rest.APIHeader()}
}

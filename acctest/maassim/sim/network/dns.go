package network

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var dnsRoutes = []request.Route{
	{Method: http.MethodGet, Path: "dnsresources/", Handle: listDNS},
	{Method: http.MethodPost, Path: "dnsresources/", Admin: true, Handle: createDNS},
	{Method: http.MethodGet, Path: "dnsresources/{id}/", Handle: readDNS},
	{Method: http.MethodPut, Path: "dnsresources/{id}/", Admin: true, Handle: updateDNS},
	{Method: http.MethodDelete, Path: "dnsresources/{id}/", Admin: true, Handle: deleteDNS},
}

func viewResource(r *world.DNSResource, w *world.World) rest.Object {
	addresses, records := []rest.Object{}, []rest.Object{}
	for _, ip := range r.IPs {
		addresses = append(addresses, addressView(w, ip))
	}
	for _, l := range r.Links {
		if m, n := addressHolder(w, l); l.IP == "" && m != nil {
			addresses = append(addresses, linkedView(m, n, l))
		}
	}
	for _, record := range w.DNSRecords {
		if record.Domain == r.Domain && record.Name == r.Name {
			records = append(records, viewRecord(record))
		}
	}
	return rest.Object{
		"id": r.ID, "fqdn": r.Name + "." + r.Domain.Name, "address_ttl": r.TTL, "ip_addresses": addresses,
		"resource_records": records, "resource_uri": rest.URI("dnsresources", r.ID),
	}
}

// splitName finds the label and the domain, from fqdn or from name and domain. The domain
// is a name or an id. For an fqdn the longest known domain wins.
func splitName(c *request.Call) (string, *world.Domain, *rest.Reply) {
	if fqdn := c.Field("fqdn"); fqdn != "" {
		label, after, _ := strings.Cut(fqdn, ".")
		if d := c.World.DomainNamed(after); d != nil {
			return label, d, nil
		}
		rep := rest.NoObjectReply("Domain")
		return "", nil, &rep
	}
	errs := rest.FormErrors{}
	if c.Field("name") == "" {
		errs.Add("name", rest.MsgRequired)
	}
	if c.Field("domain") == "" {
		errs.Add("domain", rest.MsgRequired)
	}
	if len(errs) > 0 {
		rep := rest.BadFormReply(errs)
		return "", nil, &rep
	}
	d := findDomain(c.World, c.Field("domain"))
	if d == nil {
		rep := rest.NoObjectReply("Domain")
		return "", nil, &rep
	}
	return c.Field("name"), d, nil
}

// findDomain finds a domain by name or id.
func findDomain(w *world.World, text string) *world.Domain {
	if d := w.DomainNamed(text); d != nil {
		return d
	}
	if id, wrong := rest.ReadID(text); wrong == nil {
		return w.Domains[id]
	}
	return nil
}

func listDNS(c *request.Call) rest.Reply {
	name, in, rep := namesWanted(c)
	if rep != nil {
		return *rep
	}
	DropStaleAddresses(c.World)
	views := []rest.Object{}
	byName := func(a, b *world.DNSResource) int { return cmp.Compare(a.Name, b.Name) }
	ordered := slices.SortedStableFunc(slices.Values(c.World.DNSResources), byName)
	for _, d := range rest.SortedValues(c.World.Domains) {
		if in != nil && in != d {
			continue
		}
		if rest.ReadBool(c.Query.Get("all")) { // these come before the names of the domain itself
			views = append(views, impliedNames(c.World, d, name)...)
		}
		for _, r := range ordered {
			if r.Domain == d && (name == "" || name == r.Name) {
				views = append(views, viewResource(r, c.World))
			}
		}
	}
	return rest.OKReply(views)
}

// namesWanted reads the filter for a list of names: name and domain, or fqdn if neither is
// given. Empty and nil match everything.
func namesWanted(c *request.Call) (name string, in *world.Domain, rep *rest.Reply) {
	name, called := c.Query.Get("name"), c.Query.Get("domain")
	if fqdn := c.Query.Get("fqdn"); fqdn != "" && name == "" && called == "" {
		name, called, _ = strings.Cut(fqdn, ".")
	}
	if called == "" {
		return name, nil, nil
	}
	if in = findDomain(c.World, called); in == nil {
		missing := rest.NoObjectReply("Domain")
		return "", nil, &missing
	}
	return name, in, nil
}

// parseAddresses reads a list that spaces separate. Any other text, even a comma, reaches
// MAAS's parser and causes a 500.
func parseAddresses(text string) ([]string, *rest.Reply) {
	fields := strings.Fields(text)
	for _, field := range fields {
		if _, err := netip.ParseAddr(field); err != nil {
			rep := rest.ErrorReply(http.StatusInternalServerError, fmt.Sprintf("failed to detect a valid IP address from '%s'", field))
			return nil, &rep
		}
	}
	return fields, nil
}

func createDNS(c *request.Call) rest.Reply {
	name, d, wrong := splitName(c)
	if wrong != nil {
		return *wrong
	}
	ips, wrong := parseAddresses(c.Field("ip_addresses"))
	if wrong != nil {
		return *wrong
	}
	ttl, problem := readTTL(c.Field("address_ttl"))
	if problem != "" {
		return rest.BadFieldReply("address_ttl", problem)
	}
	DropStaleAddresses(c.World)
	if slices.ContainsFunc(c.World.DNSResources, func(r *world.DNSResource) bool { return r.Name == name && r.Domain == d }) {
		return rest.BadFieldReply("__all__", "Labels must be unique within their zone.")
	}
	r := &world.DNSResource{ID: c.World.NextID("dnsresource"), Name: name, Domain: d, TTL: ttl}
	c.World.DNSResources = append(c.World.DNSResources, r)
	setAddresses(c.World, r, ips, c.User)
	return rest.OKReply(viewResource(r, c.World))
}

func resourceInPath(c *request.Call) (*world.DNSResource, *rest.Reply) {
	DropStaleAddresses(c.World)
	byID := map[int]*world.DNSResource{}
	for _, r := range c.World.DNSResources {
		byID[r.ID] = r
	}
	return request.FindByID(c, byID, "DNSResource")
}

func readDNS(c *request.Call) rest.Reply {
	r, wrong := resourceInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(viewResource(r, c.World))
}

func updateDNS(c *request.Call) rest.Reply {
	r, wrong := resourceInPath(c)
	if wrong != nil {
		return *wrong
	}
	name, d, wrong := readNewName(c, r)
	if wrong != nil {
		return *wrong
	}
	r.Name, r.Domain = name, d
	if c.HasField("address_ttl") {
		ttl, problem := readTTL(c.Field("address_ttl"))
		if problem != "" {
			return rest.BadFieldReply("address_ttl", problem)
		}
		r.TTL = ttl
	}
	if c.HasField("ip_addresses") {
		ips, wrong := parseAddresses(c.Field("ip_addresses"))
		if wrong != nil {
			return *wrong
		}
		setAddresses(c.World, r, ips, c.User)
	} else if len(r.IPs) > 1 {
		// MAAS fills in the addresses from the record, but then reads only the last one of
		// the list (forms/dnsresource.py).
		setAddresses(c.World, r, r.IPs[len(r.IPs)-1:], c.User)
	}
	return rest.OKReply(viewResource(r, c.World))
}

// readNewName is a resource's new name in an update. fqdn counts only if neither name nor
// domain is given (api/dnsresources.py, update).
func readNewName(c *request.Call, r *world.DNSResource) (string, *world.Domain, *rest.Reply) {
	if c.HasField("fqdn") && !c.HasField("name") && !c.HasField("domain") {
		return splitName(c)
	}
	name, d := r.Name, r.Domain
	if c.HasField("name") {
		name = c.Field("name")
	}
	if c.HasField("domain") {
		if d = findDomain(c.World, c.Field("domain")); d == nil {
			rep := rest.NoObjectReply("Domain")
			return "", nil, &rep
		}
	}
	return name, d, nil
}

func deleteDNS(c *request.Call) rest.Reply {
	r, wrong := resourceInPath(c)
	if wrong != nil {
		return *wrong
	}
	c.World.DNSResources = slices.DeleteFunc(c.World.DNSResources, func(other *world.DNSResource) bool { return other == r })
	return rest.DeletedReply()
}

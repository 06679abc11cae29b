package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

var dnsRoutes = []route{
	{method: http.MethodGet, path: "dnsresources/", handle: listDNS},
	{method: http.MethodPost, path: "dnsresources/", admin: true, handle: createDNS},
	{method: http.MethodGet, path: "dnsresources/{id}/", handle: readDNS},
	{method: http.MethodPut, path: "dnsresources/{id}/", admin: true, handle: updateDNS},
	{method: http.MethodDelete, path: "dnsresources/{id}/", admin: true, handle: deleteDNS},
}

func (r *dnsResource) view(w *world) object {
	addresses, records := []object{}, []object{}
	for _, ip := range r.ips {
		addresses = append(addresses, w.addressView(ip))
	}
	for _, l := range r.links {
		if m, n := w.holder(l); l.ip == "" && m != nil {
			addresses = append(addresses, linkedView(m, n, l))
		}
	}
	for _, record := range w.records {
		if record.domain == r.domain && record.name == r.name {
			records = append(records, record.view())
		}
	}
	return object{
		"id": r.id, "fqdn": r.name + "." + r.domain.name, "address_ttl": r.ttl, "ip_addresses": addresses,
		"resource_records": records, "resource_uri": uri("dnsresources", r.id),
	}
}

// namesIn lists the labels that users made in a domain.
func (w *world) namesIn(d *domain) (names []string) {
	for _, r := range w.dns {
		if r.domain == d {
			names = append(names, r.name)
		}
	}
	for _, r := range w.records {
		if r.domain == d && !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// splitName finds label and domain of fqdn, or of name and domain; a domain is
// given by name or id. The longest domain that MAAS knows wins.
func (c *call) splitName() (string, *domain, *reply) {
	if fqdn := c.field("fqdn"); fqdn != "" {
		label, rest, _ := strings.Cut(fqdn, ".")
		if d := c.w.domainNamed(rest); d != nil {
			return label, d, nil
		}
		rep := noObject("Domain")
		return "", nil, &rep
	}
	errs := formErrors{}
	if c.field("name") == "" {
		errs.add("name", msgRequired)
	}
	if c.field("domain") == "" {
		errs.add("domain", msgRequired)
	}
	if len(errs) > 0 {
		rep := badForm(errs)
		return "", nil, &rep
	}
	d := c.w.domainCalled(c.field("domain"))
	if d == nil {
		rep := noObject("Domain")
		return "", nil, &rep
	}
	return c.field("name"), d, nil
}

// domainCalled finds a domain by name or id.
func (w *world) domainCalled(text string) *domain {
	if d := w.domainNamed(text); d != nil {
		return d
	}
	if id, wrong := number(text); wrong == nil {
		return w.domains[id]
	}
	return nil
}

func listDNS(c *call) reply {
	name, in, rep := c.namesWanted()
	if rep != nil {
		return *rep
	}
	c.w.forgetAddresses()
	views := []object{}
	byName := func(a, b *dnsResource) int { return cmp.Compare(a.name, b.name) }
	for _, r := range slices.SortedStableFunc(slices.Values(c.w.dns), byName) {
		if (name == "" || name == r.name) && (in == nil || in == r.domain) {
			views = append(views, r.view(c.w))
		}
	}
	for _, d := range sorted(c.w.domains) {
		if truth(c.query.Get("all")) && (in == nil || in == d) {
			views = append(views, c.w.impliedNames(d, name)...)
		}
	}
	return ok(views)
}

// namesWanted reads by what a list of names is filtered: name and domain, or
// fqdn where neither is given. Empty and nil match all.
func (c *call) namesWanted() (name string, in *domain, rep *reply) {
	name, called := c.query.Get("name"), c.query.Get("domain")
	if fqdn := c.query.Get("fqdn"); fqdn != "" && name == "" && called == "" {
		name, called, _ = strings.Cut(fqdn, ".")
	}
	if called == "" {
		return name, nil, nil
	}
	if in = c.w.domainCalled(called); in == nil {
		missing := noObject("Domain")
		return "", nil, &missing
	}
	return name, in, nil
}

// parseAddresses reads a list separated by spaces. Anything else, also a
// comma, goes through to MAAS's parser: 500.
func parseAddresses(text string) ([]string, *reply) {
	fields := strings.Fields(text)
	for _, field := range fields {
		if _, err := netip.ParseAddr(field); err != nil {
			rep := refused(http.StatusInternalServerError, fmt.Sprintf("failed to detect a valid IP address from '%s'", field))
			return nil, &rep
		}
	}
	return fields, nil
}

func createDNS(c *call) reply {
	name, d, wrong := c.splitName()
	if wrong != nil {
		return *wrong
	}
	ips, wrong := parseAddresses(c.field("ip_addresses"))
	if wrong != nil {
		return *wrong
	}
	ttl, problem := readTTL(c.field("address_ttl"))
	if problem != "" {
		return badField("address_ttl", problem)
	}
	c.w.forgetAddresses()
	if slices.ContainsFunc(c.w.dns, func(r *dnsResource) bool { return r.name == name && r.domain == d }) {
		return badField("__all__", "Labels must be unique within their zone.")
	}
	r := &dnsResource{id: c.w.nextID("dnsresource"), name: name, domain: d, ttl: ttl}
	c.w.dns = append(c.w.dns, r)
	c.w.pointTo(r, ips, c.user)
	return ok(r.view(c.w))
}

// pointTo gives a name its addresses. Those that nobody has become addresses
// that the user reserved, and stay so when the name is gone.
func (w *world) pointTo(r *dnsResource, ips []string, by *user) {
	r.ips, r.links = ips, nil
	for _, text := range ips {
		ip := netip.MustParseAddr(text)
		if _, _, l := w.linkWith(ip); l != nil {
			r.links = append(r.links, l)
		}
		if !w.taken(ip) {
			w.reserved = append(w.reserved, &reservedIP{ip: ip, subnet: w.subnetOf(ip), owner: by, created: time.Now()})
		}
	}
}

// forgetAddresses drops what names point to and nobody has any more: a user
// released it, or its machine is gone. A name that loses its last address goes
// with it (models/signals/staticipaddress.py, post_delete_clean_up_dns). A name
// points to a machine's link, whatever address that has by now.
func (w *world) forgetAddresses() {
	w.dns = slices.DeleteFunc(w.dns, func(r *dnsResource) bool {
		had := len(r.ips) + len(r.links)
		r.links = slices.DeleteFunc(r.links, func(l *link) bool { m, _ := w.holder(l); return m == nil })
		r.ips = slices.DeleteFunc(r.ips, func(text string) bool {
			ip := netip.MustParseAddr(text)
			_, _, l := w.linkWith(ip)
			return !w.taken(ip) || l != nil && !slices.Contains(r.links, l)
		})
		for _, l := range r.links {
			if l.ip != "" && !slices.Contains(r.ips, l.ip) {
				r.ips = append(r.ips, l.ip)
			}
		}
		return had > 0 && len(r.ips)+len(r.links) == 0
	})
}

func (c *call) dnsResource() (*dnsResource, *reply) {
	c.w.forgetAddresses()
	byID := map[int]*dnsResource{}
	for _, r := range c.w.dns {
		byID[r.id] = r
	}
	return numbered(c, byID, "DNSResource")
}

func readDNS(c *call) reply {
	r, wrong := c.dnsResource()
	if wrong != nil {
		return *wrong
	}
	return ok(r.view(c.w))
}

func updateDNS(c *call) reply {
	r, wrong := c.dnsResource()
	if wrong != nil {
		return *wrong
	}
	if c.has("fqdn") {
		name, d, wrong := c.splitName()
		if wrong != nil {
			return *wrong
		}
		r.name, r.domain = name, d
	}
	if c.has("address_ttl") {
		ttl, problem := readTTL(c.field("address_ttl"))
		if problem != "" {
			return badField("address_ttl", problem)
		}
		r.ttl = ttl
	}
	if c.has("ip_addresses") {
		ips, wrong := parseAddresses(c.field("ip_addresses"))
		if wrong != nil {
			return *wrong
		}
		c.w.pointTo(r, ips, c.user)
	}
	return ok(r.view(c.w))
}

func deleteDNS(c *call) reply {
	r, wrong := c.dnsResource()
	if wrong != nil {
		return *wrong
	}
	c.w.dns = slices.DeleteFunc(c.w.dns, func(other *dnsResource) bool { return other == r })
	return deleted()
}

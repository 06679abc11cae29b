package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var dnsRecordRoutes = []route{
	{method: http.MethodGet, path: "dnsresourcerecords/", handle: listDNSRecords},
	{method: http.MethodPost, path: "dnsresourcerecords/", admin: true, handle: createDNSRecord},
	{method: http.MethodGet, path: "dnsresourcerecords/{id}/", handle: readDNSRecord},
	{method: http.MethodDelete, path: "dnsresourcerecords/{id}/", admin: true, handle: deleteDNSRecord},
}

func (r *dnsRecord) view() object {
	return object{
		"id": r.id, "fqdn": r.name + "." + r.domain.name, "rrtype": r.rrtype, "rrdata": r.data, "ttl": r.ttl,
		"resource_uri": uri("dnsresourcerecords", r.id),
	}
}

func listDNSRecords(c *call) reply {
	views := []object{}
	for _, r := range c.w.records {
		views = append(views, r.view())
	}
	return ok(views)
}

// recordTypes are those that users may add; addresses are no records here.
var recordTypes = []string{"CNAME", "MX", "NS", "SRV", "SSHFP", "TXT"}

func createDNSRecord(c *call) reply {
	rrtype := strings.ToUpper(c.field("rrtype"))
	switch {
	case rrtype == "":
		return badText("rrtype must be provided.")
	case c.field("rrdata") == "":
		return badText("rrdata must be provided.")
	case !slices.Contains(recordTypes, rrtype):
		return badField("rrtype", fmt.Sprintf("%s is not one of %s.", c.field("rrtype"), strings.Join(recordTypes, " ")))
	}
	name, d, wrong := c.splitName()
	if wrong != nil {
		return *wrong
	}
	ttl, problem := readTTL(c.field("ttl"))
	if problem != "" {
		return badField("ttl", problem)
	}
	same := func(r *dnsRecord) bool { return r.name == name && r.domain == d && r.rrtype == rrtype }
	if rrtype == "CNAME" && slices.ContainsFunc(c.w.records, same) {
		return badField("__all__", "Only one CNAME can be associated with a name.")
	}
	r := &dnsRecord{id: c.w.nextID("dnsrecord"), name: name, domain: d, rrtype: rrtype, data: c.field("rrdata"), ttl: ttl}
	c.w.records = append(c.w.records, r)
	return ok(r.view())
}

func (c *call) dnsRecord() (*dnsRecord, *reply) {
	byID := map[int]*dnsRecord{}
	for _, r := range c.w.records {
		byID[r.id] = r
	}
	return numbered(c, byID, "DNSData")
}

func readDNSRecord(c *call) reply {
	r, wrong := c.dnsRecord()
	if wrong != nil {
		return *wrong
	}
	return ok(r.view())
}

func deleteDNSRecord(c *call) reply {
	r, wrong := c.dnsRecord()
	if wrong != nil {
		return *wrong
	}
	c.w.records = slices.DeleteFunc(c.w.records, func(other *dnsRecord) bool { return other == r })
	return deleted()
}

package network

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var dnsRecordRoutes = []request.Route{
	{Method: http.MethodGet, Path: "dnsresourcerecords/", Handle: listDNSRecords},
	{Method: http.MethodPost, Path: "dnsresourcerecords/", Admin: true, Handle: createDNSRecord},
	{Method: http.MethodGet, Path: "dnsresourcerecords/{id}/", Handle: readDNSRecord},
	{Method: http.MethodPut, Path: "dnsresourcerecords/{id}/", Admin: true, Handle: updateDNSRecord},
	{Method: http.MethodDelete, Path: "dnsresourcerecords/{id}/", Admin: true, Handle: deleteDNSRecord},
}

func viewRecord(r *world.DNSRecord) rest.Object {
	return rest.Object{
		"id": r.ID, "fqdn": r.Name + "." + r.Domain.Name, "rrtype": r.Rrtype, "rrdata": r.Data, "ttl": r.TTL,
		"resource_uri": rest.URI("dnsresourcerecords", r.ID),
	}
}

func listDNSRecords(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, r := range c.World.Records {
		views = append(views, viewRecord(r))
	}
	return rest.OK(views)
}

// recordTypes are those that users may add; addresses are no records here.
var recordTypes = []string{"CNAME", "MX", "NS", "SRV", "SSHFP", "TXT"}

func createDNSRecord(c *request.Call) rest.Reply {
	rrtype := strings.ToUpper(c.Field("rrtype"))
	switch {
	case rrtype == "":
		return rest.BadText("rrtype must be provided.")
	case c.Field("rrdata") == "":
		return rest.BadText("rrdata must be provided.")
	case !slices.Contains(recordTypes, rrtype):
		return rest.BadField("rrtype", fmt.Sprintf("%s is not one of %s.", c.Field("rrtype"), strings.Join(recordTypes, " ")))
	}
	name, d, wrong := splitName(c)
	if wrong != nil {
		return *wrong
	}
	ttl, problem := readTTL(c.Field("ttl"))
	if problem != "" {
		return rest.BadField("ttl", problem)
	}
	same := func(r *world.DNSRecord) bool { return r.Name == name && r.Domain == d && r.Rrtype == rrtype }
	if rrtype == "CNAME" && slices.ContainsFunc(c.World.Records, same) {
		return rest.BadField("__all__", "Only one CNAME can be associated with a name.")
	}
	r := &world.DNSRecord{ID: c.World.NextID("dnsrecord"), Name: name, Domain: d, Rrtype: rrtype, Data: c.Field("rrdata"), TTL: ttl}
	c.World.Records = append(c.World.Records, r)
	return rest.OK(viewRecord(r))
}

func recordInPath(c *request.Call) (*world.DNSRecord, *rest.Reply) {
	byID := map[int]*world.DNSRecord{}
	for _, r := range c.World.Records {
		byID[r.ID] = r
	}
	return request.Numbered(c, byID, "DNSData")
}

func readDNSRecord(c *request.Call) rest.Reply {
	r, wrong := recordInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OK(viewRecord(r))
}

// updateDNSRecord leaves what the form does not name (forms/dnsdata.py).
func updateDNSRecord(c *request.Call) rest.Reply {
	r, wrong := recordInPath(c)
	if wrong != nil {
		return *wrong
	}
	rrtype := strings.ToUpper(cmp.Or(c.Field("rrtype"), r.Rrtype))
	if !slices.Contains(recordTypes, rrtype) {
		return rest.BadField("rrtype", fmt.Sprintf("%s is not one of %s.", c.Field("rrtype"), strings.Join(recordTypes, " ")))
	}
	if c.Has("ttl") {
		ttl, problem := readTTL(c.Field("ttl"))
		if problem != "" {
			return rest.BadField("ttl", problem)
		}
		r.TTL = ttl
	}
	r.Rrtype, r.Data = rrtype, cmp.Or(c.Field("rrdata"), r.Data)
	return rest.OK(viewRecord(r))
}

func deleteDNSRecord(c *request.Call) rest.Reply {
	r, wrong := recordInPath(c)
	if wrong != nil {
		return *wrong
	}
	c.World.Records = slices.DeleteFunc(c.World.Records, func(other *world.DNSRecord) bool { return other == r })
	return rest.Deleted()
}

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
	for _, r := range c.World.DNSRecords {
		views = append(views, viewRecord(r))
	}
	return rest.OKReply(views)
}

// recordTypes are the types that users may add. Addresses are not records in MAAS.
var recordTypes = []string{"CNAME", "MX", "NS", "SRV", "SSHFP", "TXT"}

func createDNSRecord(c *request.Call) rest.Reply {
	rrtype := strings.ToUpper(c.Field("rrtype"))
	switch {
	case rrtype == "":
		return rest.BadTextReply("rrtype must be provided.")
	case c.Field("rrdata") == "":
		return rest.BadTextReply("rrdata must be provided.")
	case !slices.Contains(recordTypes, rrtype):
		return rest.BadFieldReply("rrtype", fmt.Sprintf("%s is not one of %s.", c.Field("rrtype"), strings.Join(recordTypes, " ")))
	}
	name, d, wrong := splitName(c)
	if wrong != nil {
		return *wrong
	}
	ttl, problem := readTTL(c.Field("ttl"))
	if problem != "" {
		return rest.BadFieldReply("ttl", problem)
	}
	same := func(r *world.DNSRecord) bool { return r.Name == name && r.Domain == d && r.Rrtype == rrtype }
	if rrtype == "CNAME" && slices.ContainsFunc(c.World.DNSRecords, same) {
		return rest.BadFieldReply("__all__", "Only one CNAME can be associated with a name.")
	}
	r := &world.DNSRecord{ID: c.World.NextID("dnsrecord"), Name: name, Domain: d, Rrtype: rrtype, Data: c.Field("rrdata"), TTL: ttl}
	c.World.DNSRecords = append(c.World.DNSRecords, r)
	return rest.OKReply(viewRecord(r))
}

func recordInPath(c *request.Call) (*world.DNSRecord, *rest.Reply) {
	byID := map[int]*world.DNSRecord{}
	for _, r := range c.World.DNSRecords {
		byID[r.ID] = r
	}
	return request.FindByID(c, byID, "DNSData")
}

func readDNSRecord(c *request.Call) rest.Reply {
	r, wrong := recordInPath(c)
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(viewRecord(r))
}

// updateDNSRecord changes only the fields that the form names (forms/dnsdata.py).
func updateDNSRecord(c *request.Call) rest.Reply {
	r, wrong := recordInPath(c)
	if wrong != nil {
		return *wrong
	}
	rrtype := strings.ToUpper(cmp.Or(c.Field("rrtype"), r.Rrtype))
	if !slices.Contains(recordTypes, rrtype) {
		return rest.BadFieldReply("rrtype", fmt.Sprintf("%s is not one of %s.", c.Field("rrtype"), strings.Join(recordTypes, " ")))
	}
	if c.HasField("ttl") {
		ttl, problem := readTTL(c.Field("ttl"))
		if problem != "" {
			return rest.BadFieldReply("ttl", problem)
		}
		r.TTL = ttl
	}
	r.Rrtype, r.Data = rrtype, cmp.Or(c.Field("rrdata"), r.Data)
	return rest.OKReply(viewRecord(r))
}

func deleteDNSRecord(c *request.Call) rest.Reply {
	r, wrong := recordInPath(c)
	if wrong != nil {
		return *wrong
	}
	c.World.DNSRecords = slices.DeleteFunc(c.World.DNSRecords, func(other *world.DNSRecord) bool { return other == r })
	return rest.DeletedReply()
}

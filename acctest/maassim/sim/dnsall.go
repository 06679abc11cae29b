package sim

import (
	"maps"
	"slices"
	"strings"
)

// impliedNames are what all=true adds to a list of names: an entry without an
// id or addresses of its own for each name of a domain, be it a machine's or a
// user's, with its addresses as records.
func (w *world) impliedNames(d *domain, name string) (views []object) {
	records := map[string][]object{}
	add := func(label, ip string, systemID any) {
		kind := "A"
		if strings.Contains(ip, ":") {
			kind = "AAAA"
		}
		records[label] = append(records[label], object{"rrtype": kind, "rrdata": ip, "ttl": defaultTTL, "system_id": systemID})
	}
	for _, m := range sortedMachines(w.machines) {
		if m.domain == d {
			for _, ip := range m.addresses() {
				add(m.hostname, ip, m.systemID)
			}
		}
	}
	for _, r := range w.dns {
		if r.domain == d {
			for _, ip := range r.ips {
				add(r.name, ip, nil)
			}
		}
	}
	for _, label := range slices.Sorted(maps.Keys(records)) {
		if name != "" && name != label {
			continue
		}
		views = append(views, object{
			"id": -1, "fqdn": label + "." + d.name, "address_ttl": nil, "ip_addresses": nil,
			"resource_records": records[label], "resource_uri": uri("dnsresources", -1),
		})
	}
	return views
}

// defaultTTL is MAAS's, in seconds, where nobody set another one.
const defaultTTL = 30

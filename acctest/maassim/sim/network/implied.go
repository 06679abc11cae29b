package network

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// pointTo gives a name its addresses. Those that nobody has become addresses
// that the user reserved, and stay so when the name is gone.
func pointTo(w *world.World, r *world.DNSResource, ips []string, by *world.User) {
	r.IPs, r.Links = ips, nil
	for _, text := range ips {
		ip := netip.MustParseAddr(text)
		if _, _, l := linkWith(w, ip); l != nil {
			r.Links = append(r.Links, l)
		}
		if !world.IsTaken(w, ip) {
			w.Reserved = append(w.Reserved, &world.ReservedIP{IP: ip, Subnet: w.SubnetOf(ip), Owner: by, Created: time.Now()})
		}
	}
}

// ForgetAddresses drops what names point to and nobody has any more: a user
// released it, or its machine is gone. A name that loses its last address goes
// with it (models/signals/staticipaddress.py, post_delete_clean_up_dns). A name
// points to a machine's link, whatever address that has by now.
func ForgetAddresses(w *world.World) {
	w.DNS = slices.DeleteFunc(w.DNS, func(r *world.DNSResource) bool {
		had := len(r.IPs) + len(r.Links)
		r.Links = slices.DeleteFunc(r.Links, func(l *world.Link) bool { m, _ := addressHolder(w, l); return m == nil })
		r.IPs = slices.DeleteFunc(r.IPs, func(text string) bool {
			ip := netip.MustParseAddr(text)
			_, _, l := linkWith(w, ip)
			return !world.IsTaken(w, ip) || l != nil && !slices.Contains(r.Links, l)
		})
		for _, l := range r.Links {
			if l.IP != "" && !slices.Contains(r.IPs, l.IP) {
				r.IPs = append(r.IPs, l.IP)
			}
		}
		return had > 0 && len(r.IPs)+len(r.Links) == 0
	})
}

// impliedNames are what all=true adds to a list of names: an entry without an
// id or addresses of its own for each name of a domain, be it a machine's or a
// user's, with its addresses as records.
func impliedNames(w *world.World, d *world.Domain, name string) (views []rest.Object) {
	records := map[string][]rest.Object{}
	add := func(label, ip string, systemID any) {
		kind := "A"
		if strings.Contains(ip, ":") {
			kind = "AAAA"
		}
		records[label] = append(records[label], rest.Object{"rrtype": kind, "rrdata": ip, "ttl": defaultTTL, "system_id": systemID})
	}
	for _, m := range world.SortedMachines(w.Machines) {
		if m.Domain == d {
			for _, ip := range m.Addresses() {
				add(m.Hostname, ip, m.SystemID)
			}
		}
	}
	for _, r := range w.DNS {
		if r.Domain == d {
			for _, ip := range r.IPs {
				add(r.Name, ip, nil)
			}
		}
	}
	for _, label := range slices.Sorted(maps.Keys(records)) {
		if name != "" && name != label {
			continue
		}
		views = append(views, rest.Object{
			"id": -1, "fqdn": label + "." + d.Name, "address_ttl": nil, "ip_addresses": nil,
			"resource_records": records[label], "resource_uri": rest.URI("dnsresources", -1),
		})
	}
	return views
}

// defaultTTL is MAAS's, in seconds, where nobody set another one.
const defaultTTL = 30

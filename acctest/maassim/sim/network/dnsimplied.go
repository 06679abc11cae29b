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

// setAddresses sets the addresses of a name. Addresses that nobody has become reserved by
// the user, and stay reserved after the name is deleted.
func setAddresses(w *world.World, r *world.DNSResource, ips []string, by *world.User) {
	r.IPs, r.Links = ips, nil
	for _, text := range ips {
		ip := netip.MustParseAddr(text)
		if _, _, l := linkWithAddress(w, ip); l != nil {
			r.Links = append(r.Links, l)
		}
		if !world.IsAddressTaken(w, ip) {
			w.ReservedIPs = append(w.ReservedIPs, &world.ReservedIP{IP: ip, Subnet: w.SubnetOf(ip), Owner: by, Created: time.Now()})
		}
	}
}

// DropStaleAddresses removes addresses that nobody has any more from names, because a user
// released them or their machine is gone. A name without an address is deleted
// (models/signals/staticipaddress.py, post_delete_clean_up_dns). A name that points to a
// machine's link follows the link to its current address.
func DropStaleAddresses(w *world.World) {
	w.DNSResources = slices.DeleteFunc(w.DNSResources, func(r *world.DNSResource) bool {
		had := len(r.IPs) + len(r.Links)
		r.Links = slices.DeleteFunc(r.Links, func(l *world.Link) bool { m, _ := addressHolder(w, l); return m == nil })
		r.IPs = slices.DeleteFunc(r.IPs, func(text string) bool {
			ip := netip.MustParseAddr(text)
			_, _, l := linkWithAddress(w, ip)
			return !world.IsAddressTaken(w, ip) || l != nil && !slices.Contains(r.Links, l)
		})
		for _, l := range r.Links {
			if l.IP != "" && !slices.Contains(r.IPs, l.IP) {
				r.IPs = append(r.IPs, l.IP)
			}
		}
		return had > 0 && len(r.IPs)+len(r.Links) == 0
	})
}

// impliedRecords collects the names of a domain with their addresses, in order.
type impliedRecords struct {
	labels  []string
	records map[string][]rest.Object
}

// add adds an address to a label. holder tells whose it is.
func (i *impliedRecords) add(label, ip string, ttl *int, holder rest.Object) {
	kind := "A"
	if strings.Contains(ip, ":") {
		kind = "AAAA"
	}
	if i.records[label] == nil {
		i.labels = append(i.labels, label)
	}
	record := rest.Object{"rrtype": kind, "rrdata": ip, "ttl": ttl, "system_id": nil, "node_type": nil, "user_id": nil, "dnsresource_id": nil, "dnsdata_id": nil}
	maps.Copy(record, holder)
	i.records[label] = append(i.records[label], record)
}

// impliedNames are the entries that all=true adds to a list of names. There is one for
// each name of a domain: of a user, a machine or MAAS's own server. An entry has no id,
// and its addresses are records (models/domain.py, render_json_for_related_rrdata).
func impliedNames(w *world.World, d *world.Domain, name string) (views []rest.Object) {
	found := &impliedRecords{records: map[string][]rest.Object{}}
	found.addUsers(w, d)
	found.addMachines(w, d, true)
	if d == w.DefaultDomain() {
		for _, n := range w.Subnets {
			if n.HasRack {
				found.add(world.RackHostname, world.RackAddress(w, n).String(), nil, rest.Object{"system_id": w.RackID, "node_type": rackNodeType})
			}
		}
	}
	found.addMachines(w, d, false)
	for _, label := range found.labels {
		if name != "" && name != label {
			continue
		}
		views = append(views, rest.Object{
			"id": -1, "fqdn": label + "." + d.Name, "address_ttl": nil, "ip_addresses": nil,
			"resource_records": found.records[label], "resource_uri": rest.URI("dnsresources", -1),
		})
	}
	return views
}

// rackNodeType is the type of a region and rack controller (enum.py, NODE_TYPE).
const rackNodeType = 4

// addUsers adds the names that users made. In the default domain it adds a name for each
// reserved address without one, made from the address.
func (i *impliedRecords) addUsers(w *world.World, d *world.Domain) {
	for _, r := range w.DNSResources {
		for _, ip := range r.IPs {
			if r.Domain == d {
				i.add(r.Name, ip, r.TTL, rest.Object{"dnsresource_id": r.ID, "user_id": reserverID(w, ip)})
			}
		}
	}
	for _, r := range w.ReservedIPs {
		if d == w.DefaultDomain() && len(dnsNamesOf(w, r.IP)) == 0 {
			i.add(strings.NewReplacer(".", "-", ":", "-").Replace(r.IP.String()), r.IP.String(), nil, rest.Object{"user_id": userID(w, r.Owner)})
		}
	}
}

// addMachines adds the machines' names. The hostname has the address of the first
// interface that has one. Other interfaces have names of their own.
func (i *impliedRecords) addMachines(w *world.World, d *world.Domain, isHostname bool) {
	for _, m := range world.SortedMachines(w.Machines) {
		if m.Domain != d {
			continue
		}
		isFirst := true
		for _, n := range m.NICs {
			label, holder := m.Hostname, rest.Object{"system_id": m.SystemID, "node_type": 0}
			if !isFirst {
				label, holder["user_id"] = n.Name, userID(w, m.Owner)
			}
			ips := n.Addresses()
			if len(ips) > 0 && isFirst == isHostname {
				for _, ip := range ips {
					i.add(label, ip, nil, holder)
				}
			}
			isFirst = isFirst && len(ips) == 0
		}
	}
}

// reserverID is the id of the user who reserved an address, or nil.
func reserverID(w *world.World, text string) any {
	for _, r := range w.ReservedIPs {
		if r.IP.String() == text {
			return userID(w, r.Owner)
		}
	}
	return nil
}

// userID is a user's id. MAAS's own user has the first one.
func userID(w *world.World, u *world.User) any {
	if i := slices.Index(w.Users, u); u != nil && i >= 0 {
		return i + 2
	}
	return nil
}

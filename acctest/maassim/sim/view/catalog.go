package view

import (
	"cmp"
	"strconv"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Zone is the zone as an answer shows it.
func Zone(z *world.Zone) rest.Object {
	return rest.Object{"id": z.ID, "name": z.Name, "description": z.Description, "resource_uri": rest.URI("zones", z.Name)}
}

// Pool is the resource pool as an answer shows it.
func Pool(p *world.Pool) rest.Object {
	return rest.Object{"id": p.ID, "name": p.Name, "description": p.Description, "resource_uri": rest.URI("resourcepool", p.ID)}
}

// Domain is the domain as an answer shows it.
func Domain(d *world.Domain, w *world.World) rest.Object {
	return rest.Object{
		"id": d.ID, "name": d.Name, "authoritative": d.Authoritative, "ttl": d.TTL,
		"is_default": d == w.DefaultDomain(), "resource_record_count": recordCount(w, d),
		"resource_uri": rest.URI("domains", d.ID),
	}
}

// recordCount is the number of names and other records that users put into a
// domain.
func recordCount(w *world.World, d *world.Domain) (n int) {
	for _, r := range w.DNSResources {
		if r.Domain == d {
			n++
		}
	}
	for _, r := range w.DNSRecords {
		if r.Domain == d {
			n++
		}
	}
	return n
}

// undefinedSpace is the name of the space of VLANs without one (models/space.py).
const undefinedSpace = "undefined"

// SpaceName is the name of a VLAN's space.
func SpaceName(v *world.VLAN) string {
	if v.Space == nil {
		return undefinedSpace
	}
	return v.Space.Name
}

// VLAN is the VLAN as an answer shows it. The name of a fabric's first VLAN is untagged.
// Another one without a name is named after its VID (models/vlan.py, get_name).
func VLAN(v *world.VLAN, w *world.World) rest.Object {
	var rack, relay any
	if v.DHCP {
		rack = w.RackID
	}
	if v.Relay != nil {
		relay = VLAN(v.Relay, w)
	}
	name := cmp.Or(v.Name, strconv.Itoa(v.VID))
	if own := world.VLANsOf(w, v.Fabric); len(own) > 0 && own[0] == v {
		name = "untagged"
	}
	return rest.Object{
		"id": v.ID, "vid": v.VID, "name": name, "mtu": v.MTU, "dhcp_on": v.DHCP,
		"fabric": v.Fabric.Name, "fabric_id": v.Fabric.ID, "space": SpaceName(v),
		"primary_rack": rack, "secondary_rack": nil, "external_dhcp": nil, "relay_vlan": relay,
		"resource_uri": rest.URI("vlans", v.ID),
	}
}

// defaultRDNSMode makes reverse zones for all networks, also for small ones (enum.py,
// RDNS_MODE).
const defaultRDNSMode = 2

// Subnet is the subnet as an answer shows it.
func Subnet(n *world.Subnet, w *world.World) rest.Object {
	return rest.Object{
		"id": n.ID, "name": n.Name, "cidr": n.CIDR.String(), "description": n.Description,
		"vlan": VLAN(n.VLAN, w), "space": SpaceName(n.VLAN), "rdns_mode": defaultRDNSMode + n.RDNSMode,
		"gateway_ip": rest.TextOrNull(n.Gateway), "dns_servers": rest.NonNilList(n.DNSServers),
		"allow_dns": !n.ForbidsDNS, "allow_proxy": !n.ForbidsProxy, "active_discovery": n.IsActivelyLooked, "managed": !n.IsUnmanaged,
		"disabled_boot_architectures": rest.NonNilList(n.DisabledBoot), "resource_uri": rest.URI("subnets", n.ID),
	}
}

// User is the user as an answer shows it.
func User(u *world.User) rest.Object {
	return rest.Object{"username": u.Name, "email": u.Email, "is_superuser": u.Admin, "is_local": true, "resource_uri": rest.URI("users", u.Name)}
}

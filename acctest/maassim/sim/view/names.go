package view

import (
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
	for _, r := range w.DNS {
		if r.Domain == d {
			n++
		}
	}
	for _, r := range w.Records {
		if r.Domain == d {
			n++
		}
	}
	return n
}

// VLAN is the VLAN as an answer shows it.
func VLAN(v *world.VLAN, w *world.World) rest.Object {
	var rack any
	if v.DHCP {
		rack = w.RackID
	}
	return rest.Object{
		"id": v.ID, "vid": v.VID, "name": v.Name, "mtu": v.MTU, "dhcp_on": v.DHCP,
		"fabric": v.Fabric.Name, "fabric_id": v.Fabric.ID, "space": "undefined",
		"primary_rack": rack, "secondary_rack": nil, "external_dhcp": nil, "relay_vlan": nil,
		"resource_uri": rest.URI("vlans", v.ID),
	}
}

// Subnet is the subnet as an answer shows it.
func Subnet(n *world.Subnet, w *world.World) rest.Object {
	return rest.Object{
		"id": n.ID, "name": n.Name, "cidr": n.CIDR.String(), "description": "",
		"vlan": VLAN(n.VLAN, w), "space": "undefined", "rdns_mode": 2,
		"gateway_ip": rest.TextOrNull(n.Gateway), "dns_servers": rest.List(n.DNSServers),
		"allow_dns": true, "allow_proxy": true, "active_discovery": false, "managed": true,
		"disabled_boot_architectures": []string{}, "resource_uri": rest.URI("subnets", n.ID),
	}
}

// User is the user as an answer shows it.
func User(u *world.User) rest.Object {
	return rest.Object{"username": u.Name, "email": u.Email, "is_superuser": u.Admin, "is_local": true, "resource_uri": rest.URI("users", u.Name)}
}

package sim

import (
	"fmt"
	"net/url"
)

// list is a JSON array: [] where Go has nil.
func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

// uri is the resource_uri of an object.
func uri(kind string, id any) string {
	return apiRoot + kind + "/" + url.PathEscape(fmt.Sprint(id)) + "/"
}

// textOrNull is null for an empty text.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// idOrNull is null for 0.
func idOrNull(id int) any {
	if id == 0 {
		return nil
	}
	return id
}

func (z *zone) view() object {
	return object{"id": z.id, "name": z.name, "description": z.description, "resource_uri": uri("zones", z.name)}
}

func (p *pool) view() object {
	return object{"id": p.id, "name": p.name, "description": p.description, "resource_uri": uri("resourcepool", p.id)}
}

func (d *domain) view(w *world) object {
	return object{
		"id": d.id, "name": d.name, "authoritative": d.authoritative, "ttl": d.ttl,
		"is_default": d.id == 0, "resource_record_count": w.recordCount(d),
		"resource_uri": uri("domains", d.id),
	}
}

// recordCount is the number of names and other records that users put into a
// domain.
func (w *world) recordCount(d *domain) (n int) {
	for _, r := range w.dns {
		if r.domain == d {
			n++
		}
	}
	for _, r := range w.records {
		if r.domain == d {
			n++
		}
	}
	return n
}

func (v *vlan) view(w *world) object {
	var rack any
	if v.dhcp {
		rack = w.rackID
	}
	return object{
		"id": v.id, "vid": v.vid, "name": v.name, "mtu": v.mtu, "dhcp_on": v.dhcp,
		"fabric": v.fabric.name, "fabric_id": v.fabric.id, "space": "undefined",
		"primary_rack": rack, "secondary_rack": nil, "external_dhcp": nil, "relay_vlan": nil,
		"resource_uri": uri("vlans", v.id),
	}
}

func (n *subnet) view(w *world) object {
	return object{
		"id": n.id, "name": n.name, "cidr": n.cidr.String(), "description": "",
		"vlan": n.vlan.view(w), "space": "undefined", "rdns_mode": 2,
		"gateway_ip": textOrNull(n.gateway), "dns_servers": list(n.dnsServers),
		"allow_dns": true, "allow_proxy": true, "active_discovery": false, "managed": true,
		"disabled_boot_architectures": []string{}, "resource_uri": uri("subnets", n.id),
	}
}

func (u *user) view() object {
	return object{"username": u.name, "email": u.email, "is_superuser": u.admin, "is_local": true, "resource_uri": uri("users", u.name)}
}

package realmaas

import (
	"context"
	"fmt"
	"slices"
	"strings"

	lxd "github.com/canonical/lxd/client"
)

// Inventory lists what a MAAS has, a line each, to compare before and after. It
// has machines with their status, owner, place, tags and links, and VM hosts.
// It has zones, resource pools, domains and tags. It also has DNS resources,
// reserved addresses and address ranges.
func (c *Client) Inventory(ctx context.Context) ([]string, error) {
	machines, err := c.Machines(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range machines {
		lines = append(lines, m.inventoryLines()...)
	}
	hosts, err := c.VMHosts(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		lines = append(lines, "VM host "+h.Name)
	}
	for _, list := range []string{"zones/", "resourcepools/", "domains/", "tags/"} {
		var all []namedObject
		if err := c.GetJSON(ctx, list, &all); err != nil {
			return nil, err
		}
		for _, o := range all {
			lines = append(lines, list+o.Name)
		}
	}
	addresses, err := c.addressLines(ctx)
	return append(lines, addresses...), err
}

// inventoryLines are the lines for a machine.
func (m Machine) inventoryLines() []string {
	lines := []string{fmt.Sprintf("machine %s: %s of %q in zone %s and pool %s", m.Hostname, m.StatusName, m.Owner, m.Zone.Name, m.Pool.Name)}
	for _, tag := range m.Tags {
		lines = append(lines, TagLine(m.Hostname, tag))
	}
	for _, i := range m.Interfaces {
		links := make([]string, len(i.Links))
		for n, l := range i.Links {
			links[n] = l.String()
		}
		slices.Sort(links)
		lines = append(lines, fmt.Sprintf("machine %s: %s %s %s", m.Hostname, i.Type, i.Name, strings.Join(links, ", ")))
	}
	return lines
}

// TagLine is the line in an inventory for a machine's tag.
func TagLine(hostname, tag string) string {
	return fmt.Sprintf("machine %s has the tag %s", hostname, tag)
}

// addressLines are the lines for the DNS resources, reserved addresses and
// ranges.
func (c *Client) addressLines(ctx context.Context) (lines []string, err error) {
	var records []struct {
		FQDN string `json:"fqdn"`
	}
	if err := c.GetJSON(ctx, "dnsresources/", &records); err != nil {
		return nil, err
	}
	for _, r := range records {
		lines = append(lines, "DNS resource "+r.FQDN)
	}
	var addresses []struct {
		IP   string `json:"ip"`
		Kind string `json:"alloc_type_name"`
	}
	if err := c.GetJSON(ctx, "ipaddresses/?all=true", &addresses); err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if a.Kind == "User reserved" { // the others belong to interfaces
			lines = append(lines, "reserved address "+a.IP)
		}
	}
	var ranges []struct {
		Start string `json:"start_ip"`
		End   string `json:"end_ip"`
		Type  string `json:"type"`
	}
	if err := c.GetJSON(ctx, "ipranges/", &ranges); err != nil {
		return nil, err
	}
	for _, r := range ranges {
		lines = append(lines, fmt.Sprintf("range %s to %s, %s", r.Start, r.End, r.Type))
	}
	return lines, nil
}

// Inventory lists what the LXD has, a line each: its projects with their
// instances, profiles and custom volumes, its networks, and the trusted
// certificates. It leaves out images.
func (l LXD) Inventory(ctx context.Context) ([]string, error) {
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Disconnect()
	lines, err := lxdInventoryLines(s)
	if err != nil {
		return nil, fmt.Errorf("cannot look into the LXD at %s: %w", l.Address, err)
	}
	for n, line := range lines {
		lines[n] = fmt.Sprintf("LXD at %s: %s", l.Address, line)
	}
	return lines, nil
}

// lxdInventoryLines are the lines without the LXD's address.
func lxdInventoryLines(s lxd.InstanceServer) (lines []string, err error) {
	certificates, err := s.GetCertificateFingerprints()
	if err != nil {
		return nil, err
	}
	for _, c := range certificates {
		lines = append(lines, "trusts certificate "+c)
	}
	networks, err := s.GetNetworkNames()
	if err != nil {
		return nil, err
	}
	for _, n := range networks {
		lines = append(lines, "network "+n)
	}
	projects, err := s.GetProjects()
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		lines = append(lines, "project "+p.Name)
		for _, path := range p.UsedBy {
			path, _, _ = strings.Cut(path, "?")
			if !strings.HasPrefix(path, "/1.0/images/") { // LXD deletes images by itself
				lines = append(lines, fmt.Sprintf("project %s: %s", p.Name, strings.TrimPrefix(path, "/1.0/")))
			}
		}
	}
	return lines, nil
}

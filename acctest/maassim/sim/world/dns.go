package world

import "slices"

// NamesIn lists the labels that users made in a domain.
func NamesIn(w *World, d *Domain) (names []string) {
	for _, r := range w.DNSResources {
		if r.Domain == d {
			names = append(names, r.Name)
		}
	}
	for _, r := range w.DNSRecords {
		if r.Domain == d && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// DNSResource is a name with addresses.
type DNSResource struct {
	ID     int
	Name   string
	Domain *Domain
	TTL    *int
	IPs    []string
	Links  []*Link // links of machines: a link stays when its machine releases the address, and gets a new one later
}

// DNSRecord is a name with other data.
type DNSRecord struct {
	ID           int
	Name         string
	Domain       *Domain
	Rrtype, Data string
	TTL          *int
}

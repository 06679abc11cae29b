package maas

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// allocUserReserved is MAAS's number for an address that a user reserved, or that came with
// a name (enum.py, IPADDRESS_TYPE.USER_RESERVED).
const allocUserReserved = 4

// wireDNS is a DNS resource: a name with its addresses.
type wireDNS struct {
	ID         int               `json:"id"`
	FQDN       string            `json:"fqdn"`
	TTLSeconds int               `json:"address_ttl"` // null: MAAS's default
	Addresses  []wireAddress     `json:"ip_addresses"`
	Records    []json.RawMessage `json:"resource_records"` // of other kinds
}

type wireAddress struct {
	IP         wireIP `json:"ip"`
	AllocType  int    `json:"alloc_type"`
	Interfaces []struct {
		ID int `json:"id"`
	} `json:"interface_set"`
}

// wireIP is an address. It is invalid for null, which MAAS sends for a machine that has
// released its address. It is also invalid if MAAS sends an unreadable address, which is
// none of ours.
type wireIP struct{ netip.Addr }

// UnmarshalJSON implements json.Unmarshaler.
func (ip *wireIP) UnmarshalJSON(text []byte) error {
	var read string
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	ip.Addr, _ = netip.ParseAddr(read) // the zero Addr if it fails
	return nil
}

// addresses returns the addresses of the name, sorted.
func (r wireDNS) addresses() []netip.Addr {
	var found []netip.Addr
	for _, a := range r.Addresses {
		if a.IP.IsValid() {
			found = append(found, a.IP.Addr)
		}
	}
	return sortedAddresses(found)
}

func (r wireDNS) record() engine.DNSRecord {
	return engine.DNSRecord{Addresses: r.addresses(), TTLSeconds: r.TTLSeconds}
}

// pointsExactlyTo reports whether the name has exactly these addresses and this TTL. MAAS
// lists addresses in no stable order. A null address belongs to a machine that released it:
// the name would point to that machine again after its next deployment.
func (r wireDNS) pointsExactlyTo(want engine.DNSRecord) bool {
	given := func(a wireAddress) bool { return !a.IP.IsValid() }
	return !slices.ContainsFunc(r.Addresses, given) && r.TTLSeconds == want.TTLSeconds && slices.Equal(r.addresses(), want.Addresses)
}

// sortedAddresses returns a sorted copy without duplicates.
func sortedAddresses(addresses []netip.Addr) []netip.Addr {
	return slices.Compact(slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare))
}

// unwantedAddresses returns the addresses that are not wanted.
func unwantedAddresses(have []wireAddress, wanted []netip.Addr) []wireAddress {
	return slices.DeleteFunc(slices.Clone(have), func(a wireAddress) bool {
		return !a.IP.IsValid() || slices.Contains(wanted, a.IP.Addr)
	})
}

// dnsResource reads a name. The error is ErrNotFound if there is none.
func (c *DNS) dnsResource(ctx context.Context, name engine.DNSName) (wireDNS, error) {
	r := api.NewGet("dnsresources/")
	r.Query = map[string][]string{"name": {name.Label}, "domain": {name.Domain}}
	var found api.Elements[wireDNS]
	err := c.api.Call(ctx, r, &found)
	if api.IsStatus(err, http.StatusNotFound) {
		return wireDNS{}, c.noDomainError(ctx, r, name.Domain)
	}
	if err != nil {
		return wireDNS{}, err
	}
	i := slices.IndexFunc(found.List, func(r wireDNS) bool { return r.ID >= 0 && strings.EqualFold(r.FQDN, name.String()) })
	switch {
	case i < 0:
		return wireDNS{}, fmt.Errorf("MAAS has no name %s: %w", name, engine.ErrNotFound)
	case found.Unreadable[i] != nil:
		return wireDNS{}, fmt.Errorf("cannot read MAAS's answer about the name %s: %w", name, found.Unreadable[i])
	}
	return found.List[i], nil
}

// noDomainError explains a 404 for a list of names: MAAS has no such domain, or this is no
// MAAS.
func (c *DNS) noDomainError(ctx context.Context, r *api.Request, domain string) error {
	known, err := c.names.domains.Reread(ctx)
	names, err := sortedNames(known, err)
	switch {
	case err != nil:
		return err
	case slices.Contains(names, domain):
		return c.api.ForeignAnswerError(r, http.StatusNotFound)
	}
	return &engine.SpecError{
		Field: fieldpath.New("dns", "domain"), Message: fmt.Sprintf("MAAS has no domain %q", domain), Err: engine.ErrNotFound,
		Hint: "Make it in MAAS first, or choose one of: " + strings.Join(names, ", ") + ".",
	}
}

func isSpecError(err error) bool {
	_, is := errors.AsType[*engine.SpecError](err)
	return is
}

// dnsFields maps MAAS's parameters to the parts of a name.
var dnsFields = map[string]string{
	"name": "name", "domain": "domain", "ip_addresses": "addresses", "address_ttl": "ttl", api.AllFields: "name",
}

// dnsRefusalError turns MAAS's error about a parameter into an error of the field that it
// came from. Other errors pass unchanged.
func dnsRefusalError(err error) error {
	e, ok := api.AsError(err)
	if !ok || e.Kind != engine.ErrInvalid {
		return err
	}
	for _, parameter := range slices.Sorted(maps.Keys(e.FieldMessages)) {
		if field, ok := dnsFields[parameter]; ok {
			return &engine.SpecError{Field: fieldpath.New("dns", field), Message: "MAAS says: " + strings.Join(e.FieldMessages[parameter], " "), Err: engine.ErrInvalid}
		}
	}
	return err
}

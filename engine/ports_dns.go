package engine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// DNS publishes names in the domains of MAAS, such as the name of a cluster's API. A domain
// that MAAS does not have is a *SpecError of the field domain. All calls but DNSRecord need the
// key of an administrator: ErrForbidden. Every call may be repeated.
type DNS interface {
	// DNSRecord reads the addresses of a name, as MAAS has them now. ErrNotFound if there is no
	// such name.
	DNSRecord(ctx context.Context, name DNSName) (DNSRecord, error)
	// PublishDNS gives a name exactly these addresses, and reports whether it changed anything.
	// It leaves other data of the name alone.
	//
	// It also releases a dropped address, because MAAS would keep it as reserved. It keeps the
	// address if a machine has it, another name points to it, or another user reserved it. (If
	// the user of this key reserved it by hand, MAAS shows no difference to an address that the
	// name brought.) During the change, the name points to the old and the new addresses, never
	// to none.
	PublishDNS(ctx context.Context, name DNSName, want DNSRecord) (changed bool, err error)
	// RemoveDNS takes all addresses from a name and releases them as PublishDNS does. It then
	// removes the name, unless the name has data of another kind. An absent name is no error.
	RemoveDNS(ctx context.Context, name DNSName) error
}

// DNSName is a name in a domain of MAAS.
type DNSName struct {
	Label  string // "api-c1": one DNS label
	Domain string // "maas"
}

// String is the name in full.
func (n DNSName) String() string { return n.Label + "." + n.Domain }

// DNSRecord holds the addresses of a name.
type DNSRecord struct {
	// Addresses are in no certain order, each once.
	Addresses []netip.Addr
	// TTLSeconds is how long a resolver may keep an answer; zero: MAAS's default.
	TTLSeconds int
}

// dnsField is the path of a name and its record. No field of a machine has the same path.
var dnsField = fieldpath.New("dns")

// maxTTLSeconds is a week. A longer time is almost certainly a mistake.
const maxTTLSeconds = 7 * 24 * 3600

// Validate checks the name without asking MAAS. The error is a *SpecError.
func (n DNSName) Validate() error {
	switch {
	case !dnsLabelPattern.MatchString(n.Label):
		return &SpecError{
			Field: dnsField.Child("name"), Message: fmt.Sprintf("%q is not a DNS label", n.Label), Err: ErrInvalid,
			Hint: "Use 1 to 63 lower-case letters, digits and hyphens, without a dot.",
		}
	case n.Domain == "":
		return &SpecError{Field: dnsField.Child("domain"), Message: "no domain is named", Hint: "Name one of MAAS's domains.", Err: ErrInvalid}
	}
	return nil
}

// Validate checks the record without asking MAAS. It needs at least one address, because only
// RemoveDNS empties a name, and MAAS must be able to read each address. The error is a
// *SpecError.
func (r DNSRecord) Validate() error {
	bad := slices.IndexFunc(r.Addresses, func(ip netip.Addr) bool { return !ip.IsValid() || ip.Zone() != "" || ip.Is4In6() })
	switch {
	case len(r.Addresses) == 0:
		return &SpecError{
			Field: dnsField.Child("addresses"), Message: "there is no address to publish", Err: ErrInvalid,
			Hint: "A name without addresses cuts off everybody who uses it: keep the old addresses, or remove the name.",
		}
	case bad >= 0:
		return &SpecError{
			Field: dnsField.Child("addresses"), Message: fmt.Sprintf("a name cannot point to the address %q", r.Addresses[bad]), Err: ErrInvalid,
			Hint: "Use plain IPv4 or IPv6 addresses.",
		}
	case r.TTLSeconds < 0 || r.TTLSeconds > maxTTLSeconds:
		return &SpecError{
			Field: dnsField.Child("ttl"), Message: fmt.Sprintf("%d s is not a valid time to live", r.TTLSeconds), Err: ErrInvalid,
			Hint: fmt.Sprintf("Use 1 to %d seconds, or 0 for MAAS's default.", maxTTLSeconds),
		}
	}
	return nil
}

// Addresses tells which addresses of MAAS's subnets are free. A query reserves nothing. MAAS
// refuses to link a reserved address, even for the user who reserved it. So a reservation would
// have to be released just before the link.
type Addresses interface {
	// AddressUse says why an address of the subnet cannot be given to a machine. An answer
	// "free" may be some seconds old; any other answer has just been read.
	AddressUse(ctx context.Context, subnet Subnet, ip netip.Addr) (AddressUse, error)
}

// AddressUse is the use of an address. The zero value: it is free.
type AddressUse struct {
	Purpose AddressPurpose
	// First and Last are the ends of the range of the address, if Purpose is AddressDynamic or
	// AddressReserved.
	First, Last netip.Addr
	// SystemID is the machine that has the address; empty: none has.
	SystemID string
	// Holder says in words who has the address, if Purpose is AddressTaken: "machine web-1
	// (4y3h7n)", "the DNS name api.maas".
	Holder string
	// NearbyFree is a free address of the subnet close to it; the zero Addr: there is none.
	NearbyFree netip.Addr
}

// AddressPurpose is why MAAS does not give an address away.
type AddressPurpose string

// The purposes.
const (
	AddressFree     AddressPurpose = ""
	AddressDynamic  AddressPurpose = "dynamic"  // lent to guests by MAAS's DHCP
	AddressReserved AddressPurpose = "reserved" // in a range that was reserved in MAAS
	AddressGateway  AddressPurpose = "gateway"  // of the subnet's router or DNS server
	AddressTaken    AddressPurpose = "taken"    // a machine, a DNS name or a user has it
)

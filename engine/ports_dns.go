package engine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// DNS publishes names in the domains of MAAS, such as the one by which the API
// of a cluster is reached. A domain that MAAS does not have is a *SpecError of
// the field domain. All but DNSRecord need the key of an administrator:
// ErrForbidden. Every call may be repeated.
type DNS interface {
	// DNSRecord reads what a name points to, as MAAS has it now. ErrNotFound if
	// there is no such name.
	DNSRecord(ctx context.Context, name DNSName) (DNSRecord, error)
	// PublishDNS sees that a name points to these addresses and to no others,
	// and reports whether anything had to be changed for that. What a name
	// points to besides addresses is left alone. An address that is dropped is
	// given back, too, for MAAS would keep it as reserved: unless a machine has
	// it, another name points to it, or another user reserved it. (One that the
	// user of this key reserved by hand looks to MAAS like one that the name
	// brought.) While that goes on, the name points to the old addresses as well
	// as to the new ones, and never to none.
	PublishDNS(ctx context.Context, name DNSName, want DNSRecord) (changed bool, err error)
	// RemoveDNS takes all addresses from a name, gives them back as PublishDNS
	// does, and removes the name, unless it has data of another kind. An absent
	// one is no error.
	RemoveDNS(ctx context.Context, name DNSName) error
}

// DNSName is a name in a domain of MAAS.
type DNSName struct {
	Label  string // "api-c1": one DNS label
	Domain string // "maas"
}

// String is the name in full.
func (n DNSName) String() string { return n.Label + "." + n.Domain }

// DNSRecord is what a name points to.
type DNSRecord struct {
	// Addresses in no certain order, each once.
	Addresses []netip.Addr
	// TTLSeconds is how long an answer may be kept; zero: MAAS's default.
	TTLSeconds int
}

// dnsField is where the parts of a name and of its record stand: no field of a machine has the
// same path.
var dnsField = fieldpath.New("dns")

// maxTTLSeconds is a week, beyond which a name is hardly ever right.
const maxTTLSeconds = 7 * 24 * 3600

// Validate checks what can be checked without asking MAAS. The error is a
// *SpecError.
func (n DNSName) Validate() error {
	switch {
	case !dnsLabelPattern.MatchString(n.Label):
		return &SpecError{
			Field: dnsField.Child("name"), Message: fmt.Sprintf("%q is no DNS label", n.Label), Err: ErrInvalid,
			Hint: "Use 1 to 63 lower-case letters, digits and hyphens, without a dot.",
		}
	case n.Domain == "":
		return &SpecError{Field: dnsField.Child("domain"), Message: "there is no domain", Hint: "Name one of MAAS's domains.", Err: ErrInvalid}
	}
	return nil
}

// Validate checks what can be checked without asking MAAS: that there are
// addresses, for a name is never emptied but by being removed, and that MAAS
// can read them. The error is a *SpecError.
func (r DNSRecord) Validate() error {
	bad := slices.IndexFunc(r.Addresses, func(ip netip.Addr) bool { return !ip.IsValid() || ip.Zone() != "" || ip.Is4In6() })
	switch {
	case len(r.Addresses) == 0:
		return &SpecError{
			Field: dnsField.Child("addresses"), Message: "there is no address to publish", Err: ErrInvalid,
			Hint: "A name that points to nothing cuts off all who use it: keep the old addresses, or remove the name.",
		}
	case bad >= 0:
		return &SpecError{
			Field: dnsField.Child("addresses"), Message: fmt.Sprintf("%q is no address for a name", r.Addresses[bad]), Err: ErrInvalid,
			Hint: "Use plain IPv4 or IPv6 addresses.",
		}
	case r.TTLSeconds < 0 || r.TTLSeconds > maxTTLSeconds:
		return &SpecError{
			Field: dnsField.Child("ttl"), Message: fmt.Sprintf("%d s is no time to live", r.TTLSeconds), Err: ErrInvalid,
			Hint: fmt.Sprintf("Use 1 to %d seconds, or 0 for MAAS's default.", maxTTLSeconds),
		}
	}
	return nil
}

// Addresses tells which addresses of MAAS's subnets are to be had. Nothing is
// reserved by asking: MAAS refuses to link an address that is reserved, even to
// the one who reserved it, so that a reservation would have to be given back
// just before it is needed.
type Addresses interface {
	// AddressUse says what stands in the way of giving an address of the subnet
	// to a machine. That it is free may be known for some seconds; that it is
	// not has just been read.
	AddressUse(ctx context.Context, subnet Subnet, ip netip.Addr) (AddressUse, error)
}

// AddressUse is what an address is in use for. The zero value: it is free.
type AddressUse struct {
	Purpose AddressPurpose
	// First and Last are the ends of the range that the address lies in, where
	// Purpose is AddressDynamic or AddressReserved.
	First, Last netip.Addr
	// SystemID is that of the machine which has the address; empty: none has.
	SystemID string
	// Holder says in words who has the address, where Purpose is AddressTaken:
	// "machine web-1 (4y3h7n)", "the DNS name api.maas".
	Holder string
	// NearbyFree is a free address of the subnet close to it; the zero Addr: there is
	// none.
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

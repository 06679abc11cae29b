package engine

import (
	"context"
	"net/netip"
)

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
	// Nearby is a free address of the subnet close to it; the zero Addr: there is
	// none.
	Nearby netip.Addr
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

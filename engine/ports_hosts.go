package engine

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// Metal does what bare metal needs beyond Machines: allocation, annotations,
// bridges. An absent machine is ErrNotFound.
type Metal interface {
	// Allocate acquires this machine for the client's user and leaves a word
	// with it, agent, by which MachinesWhere finds it until it is released.
	// ErrConflict unless it is Ready. MAAS is never asked to choose: where
	// nothing fits it would compose a VM.
	Allocate(ctx context.Context, systemID, agent string) error
	// Annotate sets owner data; an empty value removes its key, other keys
	// stay. ErrConflict unless the machine is acquired.
	Annotate(ctx context.Context, systemID string, data map[string]string) error
	// SetStorageLayout replaces what lies on the machine's disks, which it must have. The
	// layout stays until somebody sets another one or commissions the machine. ErrConflict
	// unless it is Ready: not even an Allocated one can be laid out.
	SetStorageLayout(ctx context.Context, m Machine, l StorageLayout) error
	// CreateBridge makes a bridge on an interface, which loses its links. On an
	// Allocated machine the bridge has them until the release, which takes it away;
	// on others it has none, and stays. Not repeatable: MAAS refuses a second one
	// on the same interface. ErrConflict unless the machine is New, Ready,
	// Allocated or Broken; ErrInvalid for a name that is taken.
	CreateBridge(ctx context.Context, systemID string, interfaceID int, name string) error
	MachineNetwork
}

// MachineNetwork changes the interfaces of a machine that is New, Ready, Allocated or
// Broken; else the error is ErrConflict. An absent machine or interface is ErrNotFound.
type MachineNetwork interface {
	// CreateChild makes a bond, a VLAN interface or a bridge. The parents of a bond or a
	// bridge lose their links. Not repeatable: MAAS refuses a second one of the name.
	// On an Allocated machine a bridge has its parent's links until the release, which
	// takes it away; bonds and VLAN interfaces stay.
	CreateChild(ctx context.Context, systemID string, c ChildInterfaceRequest) error
	// DeleteInterface takes an interface away, with what is made of it alone. Its parents
	// do not get their links back. An absent one is no error.
	DeleteInterface(ctx context.Context, systemID string, interfaceID int) error
	// SetMTU changes the MTU of an interface; 0: that of its VLAN. MAAS makes those above
	// it no larger, and those below it no smaller.
	SetMTU(ctx context.Context, systemID string, interfaceID, mtu int) error
}

// ChildInterfaceRequest is a child interface to be.
type ChildInterfaceRequest struct {
	Kind    ChildKind
	Name    string // at most MaxInterfaceName bytes
	Parents []int  // ids; one, or for a bond several on one VLAN
	VLAN    int    // id of the VLAN of a VLAN interface; 0: the first parent's
	MTU     int    // 0: the VLAN's
	Bond    BondMode
}

// Registrar makes LXD servers known as VM hosts, and makes them forgotten. An
// absent VM host is ErrNotFound, a MAAS that has no VM hosts any more ErrGone,
// where it takes them.
type Registrar interface {
	// AdoptsExistingVMs reports whether a registration hands the VMs that the project
	// holds already over to MAAS, which power-cycles them.
	AdoptsExistingVMs(ctx context.Context) (bool, error)
	// CheckMachineExists looks for the machine of an LXD that runs already, without asking
	// the LXD. Where a host is a machine of MAAS and none has the address, that is
	// a *SpecError of address that wraps ErrNotFound.
	CheckMachineExists(ctx context.Context, e Endpoint) error
	// Register makes a VM host of an LXD server; of what it returns, ID and Name
	// count. MAAS answers with success even if it cannot reach the server; the VM host is
	// then empty, without a version, until a Sync succeeds. MAAS adopts, and
	// power-cycles, all VMs of the project that it does not know. Never
	// repeated by the adapter; ErrUnclear when the reply was lost, ErrConflict
	// if MAAS has that address, project and certificate already.
	Register(ctx context.Context, r Registration) (VMHost, error)
	// Endpoint says how the VM host's LXD is reached.
	Endpoint(ctx context.Context, host VMHost) (Endpoint, error)
	// UpdateHost changes the given fields, and only those. MAAS lists the
	// instances anew, as for Composer.Sync.
	UpdateHost(ctx context.Context, host VMHost, u HostUpdate) error
	// TagHost and UntagHost change one tag of a VM host. VMs get the tags that
	// their host has when they are made.
	TagHost(ctx context.Context, host VMHost, tag string) error
	UntagHost(ctx context.Context, host VMHost, tag string) error
	// Unregister makes MAAS forget the VM host and the VMs on it, whose
	// instances stay in LXD. An absent one is no error.
	Unregister(ctx context.Context, host VMHost) error
}

// Endpoint is where an LXD is managed.
type Endpoint struct {
	Address string // as it was registered: "10.0.0.5", "https://10.0.0.5:8443"
	Project string
}

// URL spells the address in full, as we do for all hosts: "https://10.0.0.5:8443". MAAS
// compares addresses as texts, and would make two VM hosts of one LXD.
func (e Endpoint) URL() string {
	_, rest, found := strings.Cut(e.Address, "://")
	if !found {
		rest = e.Address
	}
	rest = strings.ToLower(strings.TrimSuffix(rest, "/"))
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), strconv.Itoa(cloudinit.DefaultPort)
	}
	return "https://" + net.JoinHostPort(host, port)
}

// Credentials are the key pair by which LXD servers know a fleet's manager.
// Certificate and Key are PEM. The key is left out of what is printed, logged or
// written as JSON.
type Credentials struct {
	Certificate string
	Key         string `json:"-"`
}

// Registration is a VM host to be. Zone and Pool are names; the ratios are
// MAAS's, 0 to 10.
type Registration struct {
	Name string
	// MachineID is the system id of the machine that the LXD runs on; empty: the
	// one that has the address.
	MachineID string
	Endpoint
	Credentials
	Zone             string
	Pool             string
	Tags             []string
	CPUOvercommit    float64
	MemoryOvercommit float64
}

// HostUpdate lists what UpdateHost changes; nil leaves a field alone. The
// project is not among them: MAAS deletes the VMs of the old one.
type HostUpdate struct {
	Name               *string
	Zone               *string
	Pool               *string
	CPUOvercommit      *float64
	MemoryOvercommit   *float64
	DefaultStoragePool *string
	Credentials        *Credentials
}

// Probe asks an LXD server itself, where it can be reached from here.
type Probe interface {
	// Server returns what the LXD shows to the holder of the credentials.
	// pinned is the fingerprint of the certificate that the server must show:
	// with another one it is told nothing, and the error is ErrOtherServer.
	// Empty: whatever it shows is believed. ErrUnavailable if it cannot be
	// reached, ErrForbidden if it does not trust the client's certificate.
	Server(ctx context.Context, e Endpoint, c Credentials, pinned string) (LXDServer, error)
}

// LXDServer is an LXD as it shows itself.
type LXDServer struct {
	Version      string
	Instances    []string // names of all instances in the project
	StoragePools []string
	// Fingerprint is the SHA-256 of the server's certificate, in hex. Empty: the
	// LXD could not be seen from here, and others vouch for it; never where one
	// was demanded.
	Fingerprint string
}

// RegionMarks tells one MAAS from all others. An address does not: one MAAS has several,
// and another one may be behind it tomorrow.
type RegionMarks interface {
	// RegionMark returns the mark of this MAAS, empty if it has none yet.
	RegionMark(ctx context.Context) (string, error)
	// MakeRegionMark returns the mark, and makes it if there is none. Of those who make
	// it at the same moment all get the same.
	MakeRegionMark(ctx context.Context) (string, error)
}

package engine

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// Metal is what bare metal needs beyond Machines: allocation, annotations, storage layouts and
// bridges. An absent machine is ErrNotFound.
type Metal interface {
	// Allocate acquires this machine for the client's user. It stores agent with it, by which
	// MachinesWhere finds the machine until its release. ErrConflict unless it is Ready. MAAS
	// is never asked to choose a machine: if none fits, it would compose a VM.
	Allocate(ctx context.Context, systemID, agent string) error
	// Annotate sets owner data. An empty value removes its key; other keys stay. ErrConflict
	// unless the machine is acquired.
	Annotate(ctx context.Context, systemID string, data map[string]string) error
	// SetStorageLayout replaces the layout of the machine's disks; m must hold them. The layout
	// stays until somebody sets another one or commissions the machine. ErrConflict unless it
	// is Ready: MAAS does not even lay out an Allocated machine.
	SetStorageLayout(ctx context.Context, m Machine, l StorageLayout) error
	// CreateBridge makes a bridge on an interface, which loses its links. On an Allocated
	// machine, the bridge gets these links, and the release removes the bridge. On other
	// machines it gets no links, and stays. It is not repeatable: MAAS refuses a second bridge
	// on the same interface. ErrConflict unless the machine is New, Ready, Allocated or Broken;
	// ErrInvalid for a name that is taken.
	CreateBridge(ctx context.Context, systemID string, interfaceID int, name string) error
	MachineNetwork
}

// MachineNetwork changes the interfaces of a machine that is New, Ready, Allocated or Broken;
// in other states the error is ErrConflict. An absent machine or interface is ErrNotFound.
type MachineNetwork interface {
	// CreateChild makes a bond, a VLAN interface or a bridge. The parents of a bond or a bridge
	// lose their links. It is not repeatable: MAAS refuses a second one of the name. On an
	// Allocated machine, a bridge gets its parent's links, and the release removes the bridge.
	// Bonds and VLAN interfaces stay.
	CreateChild(ctx context.Context, systemID string, c ChildInterfaceRequest) error
	// DeleteInterface removes an interface, and the interfaces that are made of it alone. Its
	// parents do not get their links back. An absent interface is no error.
	DeleteInterface(ctx context.Context, systemID string, interfaceID int) error
	// SetMTU changes the MTU of an interface; 0 means that of its VLAN. MAAS limits the
	// interfaces above it to this MTU, and raises those below it to this MTU.
	SetMTU(ctx context.Context, systemID string, interfaceID, mtu int) error
}

// ChildInterfaceRequest describes a child interface to make.
type ChildInterfaceRequest struct {
	Kind    ChildKind
	Name    string // at most MaxInterfaceName bytes
	Parents []int  // ids; one, or for a bond several on one VLAN
	VLAN    int    // id of the VLAN of a VLAN interface; 0: the first parent's
	MTU     int    // 0: the VLAN's
	Bond    BondMode
}

// Registrar registers LXD servers as VM hosts, and unregisters them. An absent VM host is
// ErrNotFound. A MAAS without VM hosts is ErrGone, if the call needs them.
type Registrar interface {
	// AdoptsExistingVMs reports whether a registration hands the existing VMs of the project to
	// MAAS, which power-cycles them.
	AdoptsExistingVMs(ctx context.Context) (bool, error)
	// CheckMachineExists looks for the machine of a running LXD, without asking the LXD. Where
	// a host must be a machine of MAAS and none has the address, the error is a *SpecError of
	// address that wraps ErrNotFound.
	CheckMachineExists(ctx context.Context, e Endpoint) error
	// Register makes a VM host of an LXD server. Of its result, ID and Name count. MAAS reports
	// success even if it cannot reach the server. The VM host is then empty, without a version,
	// until a SyncHost succeeds. MAAS adopts all unknown VMs of the project, and power-cycles
	// them.
	//
	// The adapter never repeats it. ErrUnclear when the reply was lost, ErrConflict if MAAS has
	// that address, project and certificate already.
	Register(ctx context.Context, r Registration) (VMHost, error)
	// Endpoint returns how the VM host's LXD is reached.
	Endpoint(ctx context.Context, host VMHost) (Endpoint, error)
	// UpdateHost changes the given fields only. MAAS lists the instances anew, as for
	// Composer.SyncHost.
	UpdateHost(ctx context.Context, host VMHost, u HostUpdate) error
	// TagHost and UntagHost change one tag of a VM host. A new VM gets the tags that its host
	// has at that time.
	TagHost(ctx context.Context, host VMHost, tag string) error
	UntagHost(ctx context.Context, host VMHost, tag string) error
	// Unregister makes MAAS forget the VM host and its VMs. Their instances stay in LXD. An
	// absent VM host is no error.
	Unregister(ctx context.Context, host VMHost) error
}

// Endpoint is the address and project of an LXD.
type Endpoint struct {
	Address string // as it was registered: "10.0.0.5", "https://10.0.0.5:8443"
	Project string
}

// URL spells the address in full, in the same way for all hosts: "https://10.0.0.5:8443". MAAS
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

// Credentials are the key pair by which LXD servers know the manager of a fleet. Certificate
// and Key are PEM. The key is left out of printed text, logs and JSON.
type Credentials struct {
	Certificate string
	Key         string `json:"-"`
}

// Registration describes a VM host to register. Zone and Pool are names; the ratios are MAAS's,
// 0 to 10.
type Registration struct {
	Name string
	// MachineID is the system id of the machine that the LXD runs on; empty: the machine that
	// has the address.
	MachineID string
	Endpoint
	Credentials
	Zone             string
	Pool             string
	Tags             []string
	CPUOvercommit    float64
	MemoryOvercommit float64
}

// HostUpdate lists what UpdateHost changes; nil leaves a field alone. It has no project: on a
// change of the project, MAAS deletes the VMs of the old one.
type HostUpdate struct {
	Name               *string
	Zone               *string
	Pool               *string
	CPUOvercommit      *float64
	MemoryOvercommit   *float64
	DefaultStoragePool *string
	Credentials        *Credentials
}

// Probe asks an LXD server directly, if it can be reached from here.
type Probe interface {
	// Server returns what the LXD shows to the holder of the credentials. The server must show
	// the certificate with the fingerprint pinned; empty means any. If it shows another one,
	// Server sends it nothing and returns ErrOtherServer. ErrUnavailable if it cannot be
	// reached, ErrForbidden if it does not trust the client's certificate.
	Server(ctx context.Context, e Endpoint, c Credentials, pinned string) (LXDServer, error)
}

// LXDServer describes an LXD as it shows itself.
type LXDServer struct {
	Version      string
	Instances    []string // names of all instances in the project
	StoragePools []string
	// Fingerprint is the SHA-256 of the server's certificate, in hex. Empty: the LXD could not
	// be reached from here, and others vouch for it. It is never empty if a pinned one was
	// given.
	Fingerprint string
}

// RegionMarks tells one MAAS from all others. An address cannot: one MAAS has several, and
// tomorrow another MAAS may be behind it.
type RegionMarks interface {
	// RegionMark returns the mark of this MAAS; empty: it has none yet.
	RegionMark(ctx context.Context) (string, error)
	// MakeRegionMark returns the mark, and makes it if there is none. Concurrent callers all
	// get the same mark.
	MakeRegionMark(ctx context.Context) (string, error)
}

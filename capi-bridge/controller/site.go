package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// Sites finds the Address that a cluster's machines come from.
type Sites interface {
	// Site returns the Address by the credentials that the cluster names, or by the
	// manager's own. The same one is returned as long as its credentials stay as
	// they are, so that all clusters of a Address share its reads. The error is a
	// *CredentialsError where there are none, or none that may be used.
	Site(ctx context.Context, cluster *infrav1.MaasCluster) (*Site, error)
}

// Site is one Address, as the controllers use it.
type Site struct {
	// Address is its address, however that was written. Two addresses may be of one Address.
	Address string
	// RegionMarks tell it from others, whatever addresses it has.
	RegionMarks engine.RegionMarks

	VMs      engine.Kind[engine.VMSpec, engine.VM]
	Machines engine.Kind[engine.MachineSpec, engine.BareMetal]
	Hosts    engine.Kind[engine.HostSpec, engine.Host]
	// RunningHosts are the hosts whose LXD ran before anybody knew of it, and so is
	// always looked at before it is registered.
	RunningHosts engine.Kind[engine.HostSpec, engine.Host]
	Names        engine.Names
	Catalog      engine.Catalog
	// DNS reads the record of a cluster's API, and publishes it.
	DNS engine.DNS
	// Hostnames tells which names machines bear.
	Hostnames Hostnames
	// Inventory lists the LXD hosts.
	Inventory Inventory
	// UnusedHosts names the VM hosts of Address on which no VMs are made, because LXD
	// was chosen to make them.
	UnusedHosts func(context.Context) ([]string, error)
	// Zones tells where machines can be had.
	Zones Zones
	// Projects tells the LXD projects of VMs.
	Projects Projects
	// Marks changes whose a machine is.
	Marks Marks
	// AllowTakeOver lets objects have machines that were not made for them: what
	// runs already, and what another management cluster left behind.
	AllowTakeOver bool
	// Limits say what of the Address clusters may use.
	Limits infrav1.IdentityLimits
	// Credentials are those by which the LXD of new hosts is to know Address, and
	// us. Zero where the manager has no key of the fleet that can be used: then no
	// host can be made.
	Credentials engine.Credentials
	// CredentialsErr is why there are none; nil where there are.
	CredentialsErr error
	// KeyRecheckAfter is after what time the key for Address is read anew; zero: a minute.
	KeyRecheckAfter time.Duration
}

// Hostnames tells which names machines bear. engine.Machines does.
type Hostnames interface {
	// MachinesNamed lists the machines of this hostname, none if there are none.
	MachinesNamed(ctx context.Context, hostname string) ([]engine.Machine, error)
}

// Inventory lists the LXD hosts of a Address. site.Inventory is one.
type Inventory interface {
	// Hosts lists the hosts with what they have. The list is cached and shared.
	Hosts(ctx context.Context) ([]engine.VMHost, error)
}

// Zones tells where machines can be had.
type Zones interface {
	// ZonesWithRoom lists the availability zones that have LXD hosts with room for
	// what is needed, or Ready machines that fit, and how many of each. None is no
	// error.
	ZonesWithRoom(ctx context.Context, need fleet.ZoneNeed) ([]fleet.ZoneCapacity, error)
	// Forget has the next call list the Ready machines anew: some machine was taken, or
	// given back.
	Forget()
}

// Projects tells the LXD projects of VMs. site.Inventory does.
type Projects interface {
	// ProjectOf is the project of a VM. It takes at most one call for each host.
	// ErrConflict for a machine that is on no host, empty where nobody knows.
	ProjectOf(ctx context.Context, m engine.Machine) (string, error)
}

// Marks changes whose a machine is, as the machine says itself. *site.Site does.
type Marks interface {
	// ChangeMark makes a Deployed machine another key's; an empty from is of a VM that
	// carries no mark. ErrConflict where its mark is neither of the two. A repeat
	// writes nothing.
	ChangeMark(ctx context.Context, systemID string, from, to engine.Key) error
}

// CredentialsError says why no Address can be asked on behalf of a cluster.
type CredentialsError struct {
	Reason  string // of the condition IdentityReady
	Message string // a sentence that names the object which lacks something
	Hint    string // what to do about it
	Err     error  // the cause, may be nil
	// RecheckAfter is after what time credentials are read anew; zero: a minute.
	RecheckAfter time.Duration
}

func (e *CredentialsError) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *CredentialsError) Unwrap() error { return e.Err }

// Workloads gives access to the API servers of workload clusters.
// clustercache.ClusterCache is one.
type Workloads interface {
	// GetClient returns a client for the cluster, or an error while its API
	// server cannot be reached.
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
)

// Sites finds the MAAS that a cluster's machines come from.
type Sites interface {
	// Site returns the MAAS of the credentials that the cluster names, or of
	// the manager's own credentials. It returns the same Site while the
	// credentials stay the same, so that all clusters of a MAAS share its
	// reads. The error is a *CredentialsError where there are no credentials,
	// or none that the cluster may use.
	Site(ctx context.Context, cluster *infrav1.MaasCluster) (*Site, error)
}

// Site is one MAAS, as the controllers use it.
type Site struct {
	// Address is the MAAS's URL in one spelling. Two addresses may lead to the
	// same MAAS.
	Address string
	// RegionMarks tell the MAAS from others, whatever its address.
	RegionMarks engine.RegionMarks

	VMs      engine.Kind[engine.VMSpec, engine.VM]
	Machines engine.Kind[engine.MachineSpec, engine.BareMetal]
	Hosts    engine.Kind[engine.HostSpec, engine.Host]
	// RunningHosts are the hosts whose LXD ran before they became hosts of
	// ours. Their LXD is always inspected before it is registered.
	RunningHosts engine.Kind[engine.HostSpec, engine.Host]
	Names        engine.Names
	Catalog      engine.Catalog
	// DNS reads the record of a cluster's API, and publishes it.
	DNS engine.DNS
	// Hostnames finds machines by their names.
	Hostnames Hostnames
	// Inventory lists the LXD hosts.
	Inventory Inventory
	// UnusedHosts returns the names of MAAS's VM hosts that get no VMs, because
	// LXD was chosen to make them.
	UnusedHosts func(context.Context) ([]string, error)
	// Zones finds the zones that have machines to offer.
	Zones Zones
	// Projects finds the LXD projects of VMs.
	Projects Projects
	// Marks changes the owner mark of a machine.
	Marks Marks
	// AllowTakeOver lets objects take machines that were not made for them:
	// running ones, and those that another management cluster left behind.
	AllowTakeOver bool
	// Limits restrict what clusters may use of the MAAS.
	Limits infrav1.IdentityLimits
	// Credentials are those by which the LXD of new hosts trusts MAAS and us.
	// They are zero where the manager has no usable key of the fleet. Then no
	// host can be made.
	Credentials engine.Credentials
	// CredentialsErr says why Credentials are missing; nil where they are
	// there.
	CredentialsErr error
	// KeyRecheckAfter is when to read the key for MAAS again; zero means a
	// minute.
	KeyRecheckAfter time.Duration
}

// Hostnames finds machines by their names. engine.Machines implements it.
type Hostnames interface {
	// MachinesNamed lists the machines of this hostname; no machine is no
	// error.
	MachinesNamed(ctx context.Context, hostname string) ([]engine.Machine, error)
}

// Inventory lists the LXD hosts of a MAAS. site.Inventory implements it.
type Inventory interface {
	// Hosts lists the hosts and their resources. The list is cached and shared.
	Hosts(ctx context.Context) ([]engine.VMHost, error)
}

// Zones finds the zones that have machines to offer.
type Zones interface {
	// ZonesWithRoom lists the availability zones that have LXD hosts with
	// enough room, or matching Ready machines, and how many of each. No zone is
	// no error.
	ZonesWithRoom(ctx context.Context, need fleet.ZoneNeed) ([]fleet.ZoneCapacity, error)
	// Forget makes the next call list the Ready machines again. Call it after a
	// machine was taken or given back.
	Forget()
}

// Projects finds the LXD projects of VMs. site.Inventory implements it.
type Projects interface {
	// ProjectOf returns the project of a VM. It takes at most one call for each
	// host. It returns ErrConflict for a machine that is on no host, and ""
	// where nobody knows.
	ProjectOf(ctx context.Context, m engine.Machine) (string, error)
}

// Marks changes the owner mark that a machine carries. *site.Site implements
// it.
type Marks interface {
	// ChangeMark gives a Deployed machine to another key. An empty from means a
	// VM without a mark. It returns ErrConflict where the mark is neither from
	// nor to. A repeat writes nothing.
	ChangeMark(ctx context.Context, systemID string, from, to engine.Key) error
}

// CredentialsError says why we cannot ask MAAS on behalf of a cluster.
type CredentialsError struct {
	Reason  string // of the condition IdentityReady
	Message string // a sentence that names the incomplete object
	Hint    string // what to do about it
	Err     error  // the cause, may be nil
	// RecheckAfter is when to read the credentials again; zero means a minute.
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

package operate

import (
	"context"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// VMHosts lists the VM hosts, and lets MAAS look at one.
type VMHosts interface {
	Hosts(ctx context.Context) ([]engine.VMHost, error)
	RefreshHost(ctx context.Context, host engine.VMHost) error
}

// RefreshHost makes MAAS list the storage pools and the VMs of a VM host anew. The name is the
// host's, its id, or the system id of its machine.
func RefreshHost(ctx context.Context, hosts VMHosts, name string) error {
	all, err := hosts.Hosts(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, h := range all {
		if h.MatchesName(name) {
			return refreshKnownHost(ctx, hosts, h)
		}
		names = append(names, h.Name)
	}
	return engine.UnknownNameError(fieldpath.New("vm_host"), "VM host", name, names)
}

// refreshKnownHost refuses a host of which MAAS has no record.
func refreshKnownHost(ctx context.Context, hosts VMHosts, h engine.VMHost) error {
	if !h.MAASMakesVMs() {
		return &engine.SpecError{
			Field: fieldpath.New("vm_host"), Message: "MAAS stores no inventory of VM host " + h.Name, Err: engine.ErrGone,
			Hint: "Its LXD is asked each time, so there is nothing to refresh. Leave the refresh out.",
		}
	}
	return hosts.RefreshHost(ctx, h)
}

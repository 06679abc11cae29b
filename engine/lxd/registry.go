package lxd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// serversTTL is how long the list of servers is used. Only people change hosts, and changes
// by this process count at once.
const serversTTL = time.Minute

// Registry keeps the hosts of a fleet if MAAS has no VM hosts. A machine that runs LXD has
// a tag and owner data in MAAS, so one listing finds all hosts. A release removes both from
// the machine.
type Registry struct {
	machines engine.Machines
	metal    engine.Metal
	names    engine.Names
	now      func() time.Time
	flight   singleflight.Group

	mu           sync.Mutex
	servers      []Server
	readAt       time.Time // when servers was read; zero: never, or dropped
	readingSince time.Time // when the last read began
	changes      int       // number of changes by this process
}

var _ engine.Registrar = (*Registry)(nil)

// NewRegistry returns a Registry. It makes no call.
func NewRegistry(machines engine.Machines, metal engine.Metal, names engine.Names) *Registry {
	return &Registry{machines: machines, metal: metal, names: names, now: time.Now}
}

// Servers lists the hosts, sorted by machine. The list is shared: do not modify it.
func (r *Registry) Servers(ctx context.Context) ([]Server, error) {
	r.mu.Lock()
	if !r.readAt.IsZero() && r.now().Sub(r.readAt) < serversTTL {
		defer r.mu.Unlock()
		return r.servers, nil
	}
	reading := r.flight.DoChan("", func() (any, error) { return r.readServers(context.WithoutCancel(ctx)) })
	r.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case done := <-reading:
		if done.Err != nil {
			return nil, done.Err
		}
		return done.Val.([]Server), nil
	}
}

func (r *Registry) readServers(ctx context.Context) ([]Server, error) {
	r.mu.Lock()
	changes, began := r.changes, r.now()
	r.readingSince = began
	r.mu.Unlock()
	machines, err := r.machines.MachinesWhere(ctx, engine.MachineFilter{Tags: []string{engine.HostTag}})
	if err != nil {
		return nil, fmt.Errorf("cannot list the machines with the tag %s: %w", engine.HostTag, err)
	}
	var servers []Server
	for _, m := range machines {
		record, ok := m.HostRecord()
		if !ok || m.Err != nil {
			continue
		}
		subnets, err := r.names.Subnets(ctx)
		if err != nil {
			return nil, err
		}
		servers = append(servers, newServer(m, record, subnets))
	}
	slices.SortFunc(servers, func(a, b Server) int { return cmp.Compare(a.MachineID, b.MachineID) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if changes == r.changes {
		r.servers, r.readAt = servers, began
	}
	return servers, nil
}

// newServer returns the server that a machine's owner data describes.
func newServer(m engine.Machine, record engine.HostRecord, subnets []engine.Subnet) Server {
	s := Server{
		MachineID: m.SystemID, Name: record.Name, Zone: record.Zone, Pool: record.Pool, Tags: record.Tags,
		Architecture: m.Architecture, Endpoint: record.Endpoint, Fingerprint: record.ServerFingerprint,
		CPUOvercommit: record.CPUOvercommit, MemoryOvercommit: record.MemoryOvercommit, DefaultStoragePool: record.DefaultStoragePool,
	}
	for _, b := range m.Bridges {
		into := Bridge{Name: b.Name}
		for _, n := range subnets {
			if b.IsOn(n) {
				into.Subnets = append(into.Subnets, n)
			}
		}
		s.Bridges = append(s.Bridges, into)
	}
	return s
}

// dropList drops the list, and the one that is being read.
func (r *Registry) dropList() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.readAt = time.Time{}
	r.flight.Forget("")
}

// WrapNames makes Refresh also drop the list of servers.
func (r *Registry) WrapNames(names engine.Names) engine.Names { return relistingNames{names, r} }

type relistingNames struct {
	engine.Names
	registry *Registry
}

// Refresh implements engine.Names.
func (n relistingNames) Refresh(lists ...engine.List) {
	n.Names.Refresh(lists...)
	if engine.ListHosts.IsRefreshedBy(lists) {
		n.registry.expire()
	}
}

// expire drops the list if it, and the read that is active, are older than rereadAfter.
func (r *Registry) expire() {
	r.mu.Lock()
	now := r.now()
	old := now.Sub(r.readAt) > rereadAfter && now.Sub(r.readingSince) > rereadAfter
	r.mu.Unlock()
	if old {
		r.dropList()
	}
}

// AdoptsExistingVMs implements engine.Registrar. Registering a host changes no existing VM.
func (r *Registry) AdoptsExistingVMs(context.Context) (bool, error) { return false, nil }

// Register implements engine.Registrar. The machine must be deployed by MAAS.
func (r *Registry) Register(ctx context.Context, g engine.Registration) (engine.VMHost, error) {
	m, err := r.findMachine(ctx, g)
	if err != nil {
		return engine.VMHost{}, err
	}
	record := engine.HostRecord{
		Name: g.Name, Endpoint: g.Endpoint, Zone: g.Zone, Pool: g.Pool, Tags: g.Tags,
		CPUOvercommit: g.CPUOvercommit, MemoryOvercommit: g.MemoryOvercommit,
	}
	defer r.dropList()
	if err := r.annotateMachine(ctx, m, record.OwnerData()); err != nil {
		return engine.VMHost{}, err
	}
	if err := r.machines.Tag(ctx, m.SystemID, engine.HostTag); err != nil {
		return engine.VMHost{}, fmt.Errorf("cannot tag %s with %q: %w", m.Hostname, engine.HostTag, err)
	}
	return engine.VMHost{Name: g.Name, MachineID: m.SystemID, HostKey: m.SystemID}, nil
}

// CheckMachineExists implements engine.Registrar.
func (r *Registry) CheckMachineExists(ctx context.Context, e engine.Endpoint) error {
	_, err := r.findMachineByAddress(ctx, e.Address)
	return err
}

// findMachine returns the machine that runs the LXD.
func (r *Registry) findMachine(ctx context.Context, g engine.Registration) (engine.Machine, error) {
	if g.MachineID != "" {
		return r.machines.Machine(ctx, g.MachineID)
	}
	m, err := r.findMachineByAddress(ctx, g.Address)
	if err != nil {
		return engine.Machine{}, err
	}
	if record, known := m.HostRecord(); known {
		return engine.Machine{}, fmt.Errorf("machine %s is the host %s already: %w", m.Hostname, record.Name, engine.ErrConflict)
	}
	return m, nil
}

// findMachineByAddress finds the deployed machine that has the address or the name of an
// LXD.
func (r *Registry) findMachineByAddress(ctx context.Context, address string) (engine.Machine, error) {
	at, err := hostPort(address)
	if err != nil {
		return engine.Machine{}, err
	}
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return engine.Machine{}, err
	}
	all, err := r.machines.MachinesWhere(ctx, engine.MachineFilter{Status: engine.StatusDeployed})
	if err != nil {
		return engine.Machine{}, fmt.Errorf("cannot list the deployed machines: %w", err)
	}
	addresses := []string{host}
	if net.ParseIP(host) == nil {
		found, _ := net.DefaultResolver.LookupHost(ctx, host) // on failure, MAAS may still know the machine by this name
		addresses = append(addresses, found...)
	}
	n := slices.IndexFunc(all, func(m engine.Machine) bool {
		return m.Err == nil && (strings.EqualFold(m.FQDN, host) || strings.EqualFold(m.Hostname, host) || haveCommonElement(m.IPAddresses, addresses))
	})
	if n < 0 {
		return engine.Machine{}, &engine.SpecError{
			Field: fieldpath.New("address"), Message: fmt.Sprintf("MAAS knows no deployed machine with the address %s, and a host must be one if MAAS has no VM hosts", host),
			Hint: "Give an address of the machine that MAAS shows, or let MAAS deploy the machine first.", Err: engine.ErrNotFound,
		}
	}
	return all[n], nil
}

// annotateMachine writes the owner data that the machine lacks.
func (r *Registry) annotateMachine(ctx context.Context, m engine.Machine, data map[string]string) error {
	data = maps.Clone(data)
	maps.DeleteFunc(data, func(key, value string) bool { return m.OwnerData[key] == value })
	if len(data) == 0 {
		return nil
	}
	if err := r.metal.Annotate(ctx, m.SystemID, data); err != nil {
		return fmt.Errorf("cannot annotate %s: %w", m.Hostname, err)
	}
	return nil
}

// Endpoint implements engine.Registrar.
func (r *Registry) Endpoint(ctx context.Context, host engine.VMHost) (engine.Endpoint, error) {
	servers, err := r.Servers(ctx)
	if err != nil {
		return engine.Endpoint{}, err
	}
	for _, s := range servers {
		if s.MachineID == host.MachineID {
			return s.Endpoint, nil
		}
	}
	return engine.Endpoint{}, fmt.Errorf("machine %s is not an LXD host: %w", host.MachineID, engine.ErrNotFound)
}

// UpdateHost implements engine.Registrar. It ignores new credentials: MAAS keeps them with
// each VM's machine, so Composer.WrapRegistrar updates them there.
func (r *Registry) UpdateHost(ctx context.Context, host engine.VMHost, u engine.HostUpdate) error {
	return r.editHostRecord(ctx, host, func(record *engine.HostRecord) {
		for _, text := range []struct{ have, want *string }{
			{&record.Name, u.Name}, {&record.Zone, u.Zone}, {&record.Pool, u.Pool}, {&record.DefaultStoragePool, u.DefaultStoragePool},
		} {
			if text.want != nil {
				*text.have = *text.want
			}
		}
		for _, ratio := range []struct{ have, want *float64 }{{&record.CPUOvercommit, u.CPUOvercommit}, {&record.MemoryOvercommit, u.MemoryOvercommit}} {
			if ratio.want != nil {
				*ratio.have = *ratio.want
			}
		}
	})
}

// TagHost implements engine.Registrar.
func (r *Registry) TagHost(ctx context.Context, host engine.VMHost, tag string) error {
	return r.editHostRecord(ctx, host, func(record *engine.HostRecord) {
		if !slices.Contains(record.Tags, tag) {
			record.Tags = append(record.Tags, tag)
		}
	})
}

// UntagHost implements engine.Registrar.
func (r *Registry) UntagHost(ctx context.Context, host engine.VMHost, tag string) error {
	return r.editHostRecord(ctx, host, func(record *engine.HostRecord) {
		record.Tags = slices.DeleteFunc(record.Tags, func(t string) bool { return t == tag })
	})
}

// editHostRecord changes the host record of a machine.
func (r *Registry) editHostRecord(ctx context.Context, host engine.VMHost, change func(*engine.HostRecord)) error {
	m, err := r.machines.Machine(ctx, host.MachineID)
	if err != nil {
		return err
	}
	record, ok := m.HostRecord()
	if !ok {
		return fmt.Errorf("machine %s is not an LXD host: %w", m.Hostname, engine.ErrNotFound)
	}
	change(&record)
	defer r.dropList()
	return r.annotateMachine(ctx, m, record.OwnerData())
}

// Unregister implements engine.Registrar. It removes the tag from the machine. The owner
// data stays until the machine is released.
func (r *Registry) Unregister(ctx context.Context, host engine.VMHost) error {
	defer r.dropList()
	m, err := r.machines.Machine(ctx, host.MachineID)
	if err == nil && slices.Contains(m.Tags, engine.HostTag) {
		err = r.machines.Untag(ctx, m.SystemID, engine.HostTag)
	}
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("cannot remove the tag %q from %s: %w", engine.HostTag, host.Name, err)
	}
	return nil
}

// Package assembly puts the kinds of one MAAS together, on the given ports.
package assembly

import (
	"context"
	"net/netip"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/engine/host"
	"github.com/maaslxd/maaslxd/engine/machine"
	"github.com/maaslxd/maaslxd/engine/region"
	"github.com/maaslxd/maaslxd/engine/vm"
)

// Engine holds the kinds of one MAAS, and the reader of its fleet.
type Engine struct {
	// VMs are LXD virtual machines that MAAS knows.
	VMs engine.Kind[engine.VMSpec, engine.VM]
	// Machines are bare-metal machines of MAAS, allocated and deployed.
	Machines engine.Kind[engine.MachineSpec, engine.BareMetal]
	// Hosts are VM hosts: machines that run LXD, or existing LXD servers.
	Hosts engine.Kind[engine.HostSpec, engine.Host]
	// Reader reads the whole fleet.
	*fleet.Reader

	cfg    engine.Config
	region *region.Region
	maker  *compose.Maker
}

// New returns an Engine on these ports. It makes no call.
func New(cfg engine.Config) (*Engine, error) { return NewIn(region.New(), cfg) }

// NewIn is New for one of several engines of a MAAS in this process, which share the region.
func NewIn(in *region.Region, cfg engine.Config) (*Engine, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	return assemble(cfg, in), nil
}

// WithProbe is an engine that asks LXD servers by p, whatever Config.Probe is. It shares the
// region with this one.
func (e *Engine) WithProbe(p engine.Probe) *Engine {
	cfg := e.cfg
	cfg.Probe = p
	return assemble(cfg, e.region)
}

func assemble(cfg engine.Config, in *region.Region) *Engine {
	maker, machines := compose.New(cfg, in), machine.New(cfg, in)
	return &Engine{
		VMs:      engine.NewKind(vm.New(maker, in).Verbs().WithoutSecrets(cfg.Reports, func(s engine.VMSpec) []string { return s.Deploy.Secrets() })),
		Machines: engine.NewKind(machines.Verbs().WithoutSecrets(cfg.Reports, func(s engine.MachineSpec) []string { return s.Deploy.Secrets() })),
		Hosts:    engine.NewKind(host.New(machines, in).Verbs().WithoutSecrets(cfg.Reports, func(s engine.HostSpec) []string { return s.Machine.Deploy.Secrets() })),
		Reader:   fleet.NewReader(cfg),
		cfg:      cfg, region: in, maker: maker,
	}
}

// ProjectOf is the LXD project of a VM, as in compose.Finder.
func (e *Engine) ProjectOf(ctx context.Context, m engine.Machine) (string, error) {
	return e.maker.ProjectOf(ctx, m)
}

// SubnetOf finds MAAS's subnet of an address; of several, the narrowest. The error is an
// *engine.SpecError of the field ip if there is none.
func (e *Engine) SubnetOf(ctx context.Context, ip netip.Addr) (engine.Subnet, error) {
	return e.cfg.FindSubnetOf(ctx, fieldpath.New("ip"), ip)
}

// ChangeMark changes the mark of a Deployed machine, as in engine.Config.
func (e *Engine) ChangeMark(ctx context.Context, systemID string, from, to engine.Key) error {
	return e.cfg.ChangeMark(ctx, systemID, from, to)
}

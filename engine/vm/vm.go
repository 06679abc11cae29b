// Package vm is the kind VM: LXD virtual machines that MAAS knows. Its rules are one
// table of phases (phases.go); package compose makes the VM.
package vm

import (
	"context"
	"sync"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/region"
	"github.com/maaslxd/maaslxd/engine/settle"
)

// Kind does what engine.Kind promises, for VMs.
type Kind struct {
	*parts
	checks
	network
	renames
	removal
	upkeep
	there    sync.Map // system ids of VMs whose instances were made, or seen, by this process
	released releases
}

// parts is what all steps of the kind use.
type parts struct {
	engine.Config
	maker   *compose.Maker
	region  *region.Region
	settler *settle.Settler
}

// The steps, by what they are about: what a spec names, interfaces, a VM's name, a VM that is to
// go, and the size, power and lock of one that is finished.
type (
	checks  struct{ *parts }
	network struct{ *parts }
	renames struct{ *parts }
	removal struct{ *parts }
	upkeep  struct {
		*parts
		changes changes
	}
)

// New returns the kind VM, whose VMs maker makes. It makes no call.
func New(maker *compose.Maker, in *region.Region) *Kind {
	p := &parts{
		Config: maker.Config, maker: maker, region: in,
		settler: settle.New(maker.Config, settle.Kind{Noun: "VM", HostnameField: fieldpath.Of("name"), NoteHostname: compose.NoteInstanceName}, in.NamesLeft),
	}
	return &Kind{parts: p, checks: checks{p}, network: network{p}, renames: renames{p}, removal: removal{p}, upkeep: upkeep{parts: p}}
}

// Verbs are what the kind VM does.
func (v *Kind) Verbs() engine.Verbs[engine.VMSpec, engine.VM] {
	return engine.Verbs[engine.VMSpec, engine.VM]{Observe: v.observe, Reconcile: v.reconcile, Delete: v.delete, Check: v.obstacles}
}

// observe implements Kind.Observe.
func (v *Kind) observe(ctx context.Context, ref engine.Ref) (engine.VM, error) {
	ref, err := v.maker.Follow(ctx, ref)
	if err != nil {
		return engine.VM{}, err
	}
	m, _, err := v.maker.Look(ctx, ref)
	if err != nil {
		return engine.VM{}, err
	}
	return compose.AsVM(v.Composer.Complete(ctx, m), ref.Key), nil
}

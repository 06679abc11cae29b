// Package vm is the kind VM: LXD virtual machines that MAAS knows. Its rules are one table of
// phases (phases.go); package compose makes the VM.
package vm

import (
	"context"
	"sync"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/engine/region"
)

// Kind implements the verbs of engine.Kind for VMs.
type Kind struct {
	*stepBase
	createChecks
	interfaceSteps
	renameSteps
	deleteSteps
	finishedSteps
	seenInstances sync.Map // system ids of VMs whose instances were made, or seen, by this process
	releases      releases
}

// stepBase is what all steps of the kind use.
type stepBase struct {
	engine.Config
	maker   *compose.Maker
	region  *region.Region
	updater *inplace.Updater
}

// The steps of the kind, by subject: checks of a spec, interfaces, a VM's name, its delete, and
// the size, power and lock of a finished VM.
type (
	createChecks   struct{ *stepBase }
	interfaceSteps struct{ *stepBase }
	renameSteps    struct{ *stepBase }
	deleteSteps    struct{ *stepBase }
	finishedSteps  struct {
		*stepBase
		changes stoppedVMChanges
	}
)

// New returns the kind VM, whose VMs maker makes. It makes no call.
func New(maker *compose.Maker, in *region.Region) *Kind {
	p := &stepBase{
		Config: maker.Config, maker: maker, region: in,
		updater: inplace.New(maker.Config, inplace.KindTraits{Noun: "VM", HostnameField: fieldpath.New("name"), NoteHostname: compose.NoteInstanceName, MarkedHostname: compose.MarkedName}, in.LeavingNames),
	}
	return &Kind{stepBase: p, createChecks: createChecks{p}, interfaceSteps: interfaceSteps{p}, renameSteps: renameSteps{p}, deleteSteps: deleteSteps{p}, finishedSteps: finishedSteps{stepBase: p}}
}

// Verbs returns the verbs of the kind VM.
func (v *Kind) Verbs() engine.Verbs[engine.VMSpec, engine.VM] {
	return engine.Verbs[engine.VMSpec, engine.VM]{Observe: v.observe, Reconcile: v.reconcile, Delete: v.delete, Check: v.obstacles}
}

// observe implements Kind.Observe.
func (v *Kind) observe(ctx context.Context, ref engine.Ref) (engine.VM, error) {
	ref, err := v.maker.FollowMovedVM(ctx, ref)
	if err != nil {
		return engine.VM{}, err
	}
	m, _, err := v.maker.FindVM(ctx, ref)
	if err != nil {
		return engine.VM{}, err
	}
	return compose.AsVM(v.Composer.CompleteMachine(ctx, m), ref.Key), nil
}

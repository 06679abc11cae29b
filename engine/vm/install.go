package vm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// commission lets MAAS take stock of a VM.
func (v *Kind) commission(ctx context.Context, key engine.Key, _ engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	if err := v.copyHostTags(ctx, m); err != nil {
		return engine.Result[engine.VM]{}, err
	}
	if err := v.Machines.Commission(ctx, m.SystemID); err != nil {
		return engine.Result[engine.VM]{}, fmt.Errorf("cannot commission %s: %w", m.Hostname, v.RecheckRefusal(ctx, m, err))
	}
	v.Log.InfoContext(ctx, "commissioning VM", "name", m.Hostname, "system_id", m.SystemID)
	return v.waitResult(ctx, key, m.WithStatus(engine.StatusCommissioning)), nil
}

// install deploys a Ready VM, or finishes one that stays Ready.
func (v *Kind) install(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	if settled, err := v.prepareReady(ctx, key, want, m); err != nil || !settled {
		return v.waitResult(ctx, key, m), err
	}
	if want.Deploy == nil {
		if err := v.linkInterfaces(ctx, want, m); err != nil {
			return engine.Result[engine.VM]{}, err
		}
		return v.finish(ctx, key, want, m)
	}
	if err := checkNotAllocated(ctx, v.Config, m); err != nil {
		return engine.Result[engine.VM]{}, err
	}
	if err := v.CheckImage(ctx, want.Deploy); err != nil {
		return engine.Result[engine.VM]{}, err
	}
	if err := v.linkInterfaces(ctx, want, m); err != nil {
		return engine.Result[engine.VM]{}, err
	}
	if err := v.Machines.Deploy(ctx, m.SystemID, *want.Deploy); err != nil {
		return engine.Result[engine.VM]{}, &engine.Error{
			Type: engine.VMDeploymentFailed, Host: m.HostName,
			Message: fmt.Sprintf("cannot deploy %s", m.Hostname), Err: v.RecheckRefusal(ctx, m, engine.AsSpecErrors(err)),
		}
	}
	v.Log.InfoContext(ctx, "deploying VM", "name", m.Hostname, "system_id", m.SystemID, "image", want.Deploy.Image)
	return v.waitResult(ctx, key, m.WithStatus(engine.StatusDeploying)), nil
}

// reinstall releases a VM so that it is deployed again. MAAS turns it off and takes back its
// automatic addresses. Its static links, MAC addresses and system id stay (models/node.py,
// release_interface_config). The next steps deploy it once it is Ready.
func (v *Kind) reinstall(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	if err := v.Composer.CheckInstanceReachable(ctx, m); err != nil { // otherwise it would stay in Releasing failed
		return resultOf(key, m), fmt.Errorf("cannot redeploy %s, which stays %s: %w", m.Hostname, m.StatusName, err)
	}
	m, err := v.updater.UnlockForChange(ctx, wantedSettingsOf(key, want), m)
	if err != nil {
		return engine.Result[engine.VM]{}, err
	}
	return v.requestStop(ctx, key, m, m.WithStatus(engine.StatusReleasing), "release", func(ctx context.Context, systemID string) error {
		err := v.Machines.Release(ctx, systemID, engine.EraseNone)
		if err == nil {
			v.releases.Store(releaseKey(want, m), true)
		}
		return err
	})
}

// releaseKey says what a VM was released for: its system id, and the name of its installation.
func releaseKey(want engine.VMSpec, m engine.Machine) string {
	return m.SystemID + " " + want.Installation
}

// releases are the installations for which this process has released VMs, by releaseKey.
type releases struct{ sync.Map }

// hasReleased tells whether this process has released a VM for the wanted installation.
func (r *releases) hasReleased(want engine.VMSpec, m engine.Machine) bool {
	_, has := r.Load(releaseKey(want, m))
	return has
}

// checkReinstall checks a VM before it is released for a new installation. It refuses a VM that
// is neither deployed nor in transition, a locked one, a VM host, and an image that MAAS does
// not have.
func (v *Kind) checkReinstall(ctx context.Context, want engine.VMSpec, m engine.Machine) error {
	switch phase := m.Status.Phase(); {
	case !lacksInstallation(want, m) && !v.needsReinstall(want, m):
		return nil
	case m.Status == engine.StatusDeployed && v.releases.hasReleased(want, m):
		return overtakenError(m)
	case v.needsReinstall(want, m) && m.Locked && (want.Locked == nil || *want.Locked):
		return engine.NewLockedError(m, "redeploy")
	case v.needsReinstall(want, m):
		if err := engine.CheckIsNoVMHost(ctx, v.Composer.Hosts, m, "redeploy"); err != nil {
			return err
		}
		return errors.Join(v.CheckImage(ctx, want.Deploy), checkImageForVM(ctx, v.Config, m, want.Deploy))
	case (phase == engine.PhaseFailed || phase == engine.PhaseOther) && !v.releases.hasReleased(want, m):
		return &engine.SpecError{
			Field: fieldpath.New("redeploy_triggers"), Message: fmt.Sprintf("%s cannot be deployed again while it is %s", m.Hostname, m.StatusName),
			Hint: "Bring the VM back to Deployed in MAAS.", Ways: []engine.Way{engine.WayRetry}, Err: engine.ErrConflict,
		}
	}
	return nil
}

// overtakenError says that another run has redeployed a VM just after this one.
func overtakenError(m engine.Machine) error {
	return engine.MarkTerminal(&engine.SpecError{
		Field: fieldpath.New("redeploy_triggers"), Message: fmt.Sprintf("another run redeployed %s meanwhile, for other values", m.Hostname),
		Hint: "Let only one of them redeploy the VM.", Ways: []engine.Way{engine.WayRetry}, Err: engine.ErrConflict,
	})
}

// checkNotAllocated refuses to install on a VM that someone else has allocated in the meantime.
func checkNotAllocated(ctx context.Context, c engine.Config, m engine.Machine) error {
	if m.Owner == "" {
		return nil
	}
	can, err := c.Catalog.Capabilities(ctx)
	if err != nil || can.Username == m.Owner {
		return err
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot deploy %s: it is allocated to the MAAS user %s", m.Hostname, m.Owner),
		Hint:    fmt.Sprintf("Release machine %s in MAAS, or choose another name.", m.SystemID), Err: engine.ErrConflict,
	}
}

// finish marks the machine as finished, after a last look at its settings.
func (v *Kind) finish(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Result[engine.VM], error) {
	if description := engine.DescriptionWithMark(m.Description, key, true); description != m.Description {
		var err error
		if m, err = v.updater.UnlockForChange(ctx, wantedSettingsOf(key, want), m); err != nil {
			return engine.Result[engine.VM]{}, err
		}
		if err := v.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Description: &description}); err != nil {
			return engine.Result[engine.VM]{}, fmt.Errorf("cannot mark %s as finished: %w", m.Hostname, err)
		}
		m.Description = description
	}
	return v.reconcileFinished(ctx, key, want, m)
}

// failedError says in MAAS's words why a VM was not made.
func (v *stepBase) failedError(ctx context.Context, want engine.VMSpec, m engine.Machine) error {
	secrets := want.Deploy.Secrets()
	kind := engine.VMCreationFailed
	if m.Status == engine.StatusFailedDeployment {
		kind = engine.VMDeploymentFailed
	}
	var ways []engine.Way
	if want.Installation != "" {
		ways = append(ways, engine.WayInstallAgain)
	}
	return engine.MarkTerminal(&engine.Error{
		Type: kind, Host: m.HostName, Message: m.Hostname + " " + engine.EndStateText(m, v.Reports, secrets...),
		Hint:     fmt.Sprintf("See the events of machine %s in MAAS.", m.SystemID),
		Ways:     ways,
		Evidence: v.region.Failures.Evidence(ctx, v.Config, m, secrets...),
	})
}

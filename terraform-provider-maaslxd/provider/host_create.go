package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
)

// Create makes the host, or goes on with one that an earlier run began. A
// machine that is on its way when waiting ends goes to the state with a
// warning, and the next apply goes on. One that will not get there goes to the
// state with an error, and so tainted, or is given back.
func (r *hostResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config hostState
	r.client.run.begin()
	diags := &resp.Diagnostics
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	checkWayIn(config, diags) // what was unknown is known by now
	checkUnused(ctx, config, diags)
	checkDefaultPool(ctx, config, diags)
	wait, cancel := within(ctx, plan.Timeouts.Create, hostCreateTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	doing := "create VM host " + plan.Name.ValueString()
	b, spec, err := r.newSpec(ctx, plan, config, diags)
	if err != nil {
		report(diags, doing, err)
	}
	if diags.HasError() {
		return
	}
	spec.AwaitName = true
	key := r.client.hostKey(spec.Name)
	h, err := r.create(wait, b, key, spec)
	switch outcomeOfHost(wait, h, err) {
	case nothingMade:
		reportAt(diags, config.wayIn(), doing, err)
		return
	case unfinished:
		warnHostUnfinished(wait, diags, h, err)
	case useless:
		reportAt(diags, config.wayIn(), doing, err)
		if givesBack(plan, spec, h) {
			r.giveBack(ctx, b, engine.Ref{Key: key, Name: spec.Name, SystemID: h.Machine.SystemID, Release: plan.release(ctx, diags)}, plan, diags)
			return
		}
	case done:
		warnUnusable(h, diags)
		b.warnUnreached(h, diags)
	}
	plan.trusting(ctx, hostState{}, spec, h, diags)
	plan.fill(ctx, h, diags)
	saveHost(ctx, &resp.State, resp.Identity, plan, diags)
	n := hostNotes{Key: key, MAAS: b.markMAAS(ctx, diags), Pending: err != nil, Machine: h.Machine.SystemID}
	if d := decoded[hostDeployModel](ctx, config.Deploy, diags); d != nil {
		n.UserData = installedWith(d.UserDataWO, d.UserDataWOVersion)
	}
	writeHostNotes(ctx, resp.Private, n, diags)
}

// wayIn is the attribute that says what the host is made of.
func (m hostState) wayIn() path.Path {
	switch {
	case set(m.Machine):
		return path.Root("machine")
	case !m.Selector.IsNull():
		return path.Root("selector")
	}
	return path.Root("address")
}

// newSpec is what a new host is to be, with the key of the fleet, which is made
// if there is none.
func (r *hostResource) newSpec(ctx context.Context, plan, config hostState, diags *diag.Diagnostics) (*backend, engine.HostSpec, error) {
	b, err := r.client.use()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	// Asked before anything is made, and outside of Wait and its patience.
	if _, err := b.catalog.Capabilities(ctx); err != nil {
		return nil, engine.HostSpec{}, err
	}
	if err := b.key.mayTravel(); err != nil {
		return nil, engine.HostSpec{}, err
	}
	if err := r.client.owner.keep(); err != nil {
		return nil, engine.HostSpec{}, err
	}
	key, err := b.key.loadOrCreate(func() error { return b.otherFleet(ctx, &r.client.run) })
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	next, err := b.key.next()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	r.client.run.warnNext(b.key, next, diags)
	spec, ds := plan.spec(ctx, config, key.Credentials, next)
	diags.Append(ds...)
	return b, spec, nil
}

func (r *hostResource) create(ctx context.Context, b *backend, key engine.Key, spec engine.HostSpec) (engine.Host, error) {
	if err := r.client.claim(key, "VM host "+spec.Name); err != nil {
		return engine.Host{}, err
	}
	release, err := r.client.hold(ctx, b, key, "VM host", spec.Name)
	if err != nil {
		return engine.Host{}, err
	}
	defer release()
	return engine.Wait(stepping(ctx, spec), b.hosts.Steps(engine.Ref{Key: key, Name: spec.Name}, spec))
}

// stepping is the ctx for the steps towards a host.
func stepping(ctx context.Context, spec engine.HostSpec) context.Context {
	if spec.AdoptExistingVMs || spec.Address == "" && !spec.Machine.Adopt {
		return withUnseen(ctx)
	}
	return ctx
}

// outcomeOfHost judges how waiting for a host within ctx ended.
func outcomeOfHost(ctx context.Context, h engine.Host, err error) outcome {
	switch {
	case err == nil:
		return done
	case h.Machine.SystemID == "" || vanished(err):
		return nothingMade
	case ctx.Err() != nil:
		return unfinished
	case hostHopeless(h, err):
		return useless
	default:
		return unfinished
	}
}

// hostHopeless tells whether the error says that this very host will not get
// there. A key of MAAS that was revoked, or a proxy's page, say nothing of it.
// Once its machine is Deployed nothing does: to make it anew would wipe what
// another setting, key or project mends in place.
func hostHopeless(h engine.Host, err error) bool {
	elsewhere := []error{engine.ErrUnavailable, engine.ErrUnclear, engine.ErrGone, engine.ErrBusy}
	return h.Machine.Status.Phase() != engine.PhaseDeployed && refusedHere(err) &&
		!slices.ContainsFunc(elsewhere, func(s error) bool { return errors.Is(err, s) })
}

// refusedHere tells whether the engine refused what was asked of it.
func refusedHere(err error) bool {
	_, refused := errors.AsType[*engine.Refusal](err)
	_, misspelled := errors.AsType[*engine.SpecError](err)
	return refused || misspelled || errors.Is(err, engine.ErrOtherServer)
}

// givesBack tells whether a machine that will not get there is given back at
// once: if that is asked for, and if nothing was installed on it by us. One
// that is Deployed may hold what nobody wants to lose.
func givesBack(plan hostState, spec engine.HostSpec, h engine.Host) bool {
	phase := h.Machine.Status.Phase()
	return phase != engine.PhaseDeployed &&
		(plan.OnCreateFailure.ValueString() == failureRelease || spec.Address != "" || spec.Machine.Adopt || phase == engine.PhaseAllocated)
}

// giveBack undoes a create that failed.
func (r *hostResource) giveBack(ctx context.Context, b *backend, ref engine.Ref, plan hostState, diags *diag.Diagnostics) {
	wait, cancel := within(ctx, plan.Timeouts.Delete, hostDeleteTimeout, diags)
	defer cancel()
	if err := removeHost(wait, b, ref); err != nil && !vanished(err) {
		report(diags, fmt.Sprintf("give machine %s back; the next apply finds it", ref.SystemID), err)
	}
}

func removeHost(ctx context.Context, b *backend, ref engine.Ref) error {
	_, err := engine.Wait(ctx, func(ctx context.Context) (engine.Result[engine.Host], error) {
		return b.hosts.Delete(ctx, ref)
	})
	return err
}

// warnUnusable tells of a host that is there, and on which no VM can be made.
func warnUnusable(h engine.Host, diags *diag.Diagnostics) {
	if h.VMHost.Err == nil {
		return
	}
	diags.AddWarning(fmt.Sprintf("No VM can be made on VM host %s", h.VMHost.Name),
		explain(h.VMHost.Err)+paragraph("The host itself is finished, and the VMs that are on it can be seen"))
}

// warnUnreached tells that MAAS's word was taken for a host whose LXD is not reached
// from here.
func (b *backend) warnUnreached(h engine.Host, diags *diag.Diagnostics) {
	if b.patient == nil || !b.patient.tookMAASWord(h.Address) {
		return
	}
	diags.AddWarning(fmt.Sprintf("The LXD of VM host %s was not reached from here", h.VMHost.Name), fmt.Sprintf(
		"No connection to %s was answered, so MAAS's inventory of it was believed, and its certificate is not noted. If only MAAS reaches the hosts, set probe = \"maas\" "+
			"in the provider block, which tries no connection. Otherwise open the way from here to the port of LXD.", h.Address))
}

// warnHostUnfinished says that a create stopped waiting, for what, and what
// comes next.
func warnHostUnfinished(ctx context.Context, diags *diag.Diagnostics, h engine.Host, err error) {
	why := explain(err)
	if ctx.Err() != nil {
		why = stoppedWaiting(ctx.Err(), "timeouts.create") + paragraph(said(err))
	}
	if h.Machine.Status.Phase() == engine.PhaseDeployed && !refusedHere(err) {
		why += paragraph("What failed at the first boot stands in /var/log/cloud-init-output.log on the host, and in MAAS's events of the machine")
	}
	diags.AddWarning(
		fmt.Sprintf("The host on machine %s is not finished: %s", h.Machine.Hostname, hostStatus(h)),
		fmt.Sprintf("%s\n\nThe machine is kept in the state as %s, and the next apply goes on from there. "+
			"VMs on this host cannot be made before it is there.", why, h.Machine.SystemID))
}

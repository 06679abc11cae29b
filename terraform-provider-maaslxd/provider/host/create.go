package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Create makes the host, or continues one of an interrupted run. If waiting ends while the
// machine makes progress, the state has it with a warning, and the next apply continues. If
// the create failed for good, the state has the host with an error, and so tainted, or MAAS
// releases the machine.
func (r *hostResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	plan, config := readHostCreate(ctx, req, diags)
	checkNewHost(ctx, config, diags) // all values are known by now
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Create, hostCreateTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	doing := "create VM host " + plan.Name.ValueString()
	b, spec, err := r.newSpec(ctx, plan, config, diags)
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
	}
	if diags.HasError() {
		return
	}
	h, err := r.create(wait, b, spec)
	switch createOutcome(wait, h, err) {
	case diagnostics.NothingCreated:
		diagnostics.ReportErrorAt(diags, config.sourceAttribute(), doing, err)
		return
	case diagnostics.CreateResumable:
		r.reportUnfinished(wait, diags, spec, h, err)
	case diagnostics.CreateFailed:
		diagnostics.ReportErrorAt(diags, config.sourceAttribute(), doing, err)
		if mustReleaseFailedCreate(plan, spec, h) {
			r.releaseFailedCreate(ctx, b, h, plan, diags)
			return
		}
	case diagnostics.CreateSucceeded:
		warnIncomplete(b, h, diags)
	}
	plan.fillCreated(ctx, spec, h, diags)
	n := config.privateStateOfCreate(ctx, b, r.client.Owner.HostKey(spec.Name), h, diags)
	n.Pending = err != nil
	saveNewHost(ctx, resp, plan, n)
}

// saveNewHost writes the state of a new host, its identity and its notes.
func saveNewHost(ctx context.Context, resp *resource.CreateResponse, plan hostModel, n privateState) {
	values.SaveIdentity(ctx, resp.Identity, values.Identity{SystemID: plan.ID.ValueString(), MAAS: n.MAAS}, &resp.Diagnostics)
	saveState(ctx, &resp.State, resp.Identity, plan, &resp.Diagnostics)
	writePrivateState(ctx, resp.Private, n, &resp.Diagnostics)
}

func readHostCreate(ctx context.Context, req resource.CreateRequest, diags *diag.Diagnostics) (plan, config hostModel) {
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	return plan, config
}

// fillCreated completes the plan of a host with what the create saw.
func (m *hostModel) fillCreated(ctx context.Context, spec engine.HostSpec, h engine.Host, diags *diag.Diagnostics) {
	m.fillTrustedFingerprints(ctx, hostModel{}, spec, h, diags)
	m.fill(ctx, h, diags)
}

// privateStateOfCreate are the notes of a host that a configuration made.
func (m hostModel) privateStateOfCreate(ctx context.Context, b *client.Backend, key engine.Key, h engine.Host, diags *diag.Diagnostics) privateState {
	n := privateState{Key: key, MAAS: b.EnsureMAASMark(ctx, diags), Machine: h.Machine.SystemID, Adopted: m.Adopt.ValueBool()}
	if d := values.DecodeObject[values.Deployment](ctx, m.Deploy, diags); d != nil {
		n.UserData = values.NewInstalledUserData(d.UserDataWO, d.UserDataWOVersion)
	}
	return n
}

// sourceAttribute is the attribute that names the host's machine or LXD.
func (m hostModel) sourceAttribute() path.Path {
	switch {
	case values.IsSet(m.Machine):
		return path.Root("machine")
	case !m.Selector.IsNull():
		return path.Root("selector")
	}
	return path.Root("address")
}

// newSpec is the spec of a new host, with the key of the fleet, which it creates if there is
// none.
func (r *hostResource) newSpec(ctx context.Context, plan, config hostModel, diags *diag.Diagnostics) (*client.Backend, engine.HostSpec, error) {
	b, err := r.client.Backend()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	// It is checked before anything is made, and outside of WaitAndLog, which retries.
	if _, err := b.Catalog.Capabilities(ctx); err != nil {
		return nil, engine.HostSpec{}, err
	}
	if err := b.Key.CheckTransport(); err != nil {
		return nil, engine.HostSpec{}, err
	}
	if err := r.client.PersistOwner(); err != nil {
		return nil, engine.HostSpec{}, err
	}
	key, err := b.Key.LoadOrCreate(func() error { return otherFleetError(ctx, b, &r.client.Run, plan.Name.ValueString()) })
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	next, err := b.Key.NextCertificates()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	warnNextKeyPair(&r.client.Run, b.Key, next, diags)
	spec, ds := plan.spec(ctx, config, key.Credentials, next)
	diags.Append(ds...)
	spec.AwaitName = true
	return b, spec, nil
}

func (r *hostResource) create(ctx context.Context, b *client.Backend, spec engine.HostSpec) (engine.Host, error) {
	key := r.client.Owner.HostKey(spec.Name)
	if err := r.client.ClaimKey(key, "VM host "+spec.Name); err != nil {
		return engine.Host{}, err
	}
	release, err := r.client.HoldLease(ctx, b, key, "VM host", spec.Name)
	if err != nil {
		return engine.Host{}, err
	}
	defer release()
	return client.WaitAndLog(stepContext(ctx, spec), "VM host "+spec.Name, b.Hosts.Steps(engine.Ref{Key: key, Name: spec.Name}, spec))
}

// stepContext is the ctx for the steps that make a host.
func stepContext(ctx context.Context, spec engine.HostSpec) context.Context {
	if spec.AdoptExistingVMs || spec.Address == "" && !spec.Machine.Adopt {
		return client.AllowUnprobedLXD(ctx)
	}
	return ctx
}

// createOutcome evaluates how a wait for a host within ctx ended.
func createOutcome(ctx context.Context, h engine.Host, err error) diagnostics.Outcome {
	return diagnostics.OutcomeOf(ctx, h.Machine.SystemID, err, func(err error) bool { return hasCreateFailed(h, err) })
}

// hasCreateFailed tells whether the error means that this host can never be finished. A
// revoked key of MAAS or the page of a proxy does not mean that. Once the machine is Deployed,
// no error does: making the host anew would wipe what another setting, key or project repairs
// in place.
func hasCreateFailed(h engine.Host, err error) bool {
	elsewhere := []error{engine.ErrUnavailable, engine.ErrUnclear, engine.ErrGone, engine.ErrBusy}
	return h.Machine.Status.Phase() != engine.PhaseDeployed && isRefusedByEngine(err) &&
		!slices.ContainsFunc(elsewhere, func(s error) bool { return errors.Is(err, s) })
}

// isRefusedByEngine tells whether the engine refused the request.
func isRefusedByEngine(err error) bool {
	_, refused := errors.AsType[*engine.Refusal](err)
	_, misspelled := errors.AsType[*engine.SpecError](err)
	return refused || misspelled || errors.Is(err, engine.ErrOtherServer)
}

// mustReleaseFailedCreate tells whether the machine of a failed create is released at once.
// That is so if the configuration asks for it, or if we installed nothing on the machine. A
// Deployed machine may hold valuable data, so it stays.
func mustReleaseFailedCreate(plan hostModel, spec engine.HostSpec, h engine.Host) bool {
	phase := h.Machine.Status.Phase()
	return phase != engine.PhaseDeployed &&
		(plan.OnCreateFailure.ValueString() == failureRelease || spec.Address != "" || spec.Machine.Adopt || phase == engine.PhaseAllocated)
}

// releaseFailedCreate undoes a failed create.
func (r *hostResource) releaseFailedCreate(ctx context.Context, b *client.Backend, h engine.Host, plan hostModel, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	ref := engine.Ref{Key: r.client.Owner.HostKey(name), Name: name, SystemID: h.Machine.SystemID, Release: plan.releaseSpec(ctx, diags)}
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Delete, hostDeleteTimeout, diags)
	defer cancel()
	if err := removeHost(wait, b, ref); err != nil && !diagnostics.IsObjectGone(err) {
		diagnostics.ReportError(diags, fmt.Sprintf("release machine %s; the next apply finds it", ref.SystemID), err)
	}
}

func removeHost(ctx context.Context, b *client.Backend, ref engine.Ref) error {
	_, err := client.WaitAndLog(ctx, "VM host "+ref.Name, func(ctx context.Context) (engine.Result[engine.Host], error) {
		return b.Hosts.Delete(ctx, ref)
	})
	return err
}

// warnIncomplete warns of problems of a finished host.
func warnIncomplete(b *client.Backend, h engine.Host, diags *diag.Diagnostics) {
	warnUnusable(h, diags)
	warnLXDUnprobed(b, h, diags)
}

// warnUnusable warns of a host on which no VM can be made.
func warnUnusable(h engine.Host, diags *diag.Diagnostics) {
	if h.VMHost.Err == nil {
		return
	}
	diags.AddWarning(fmt.Sprintf("No VM can be made on VM host %s", h.VMHost.Name),
		diagnostics.ExplainError(h.VMHost.Err)+diagnostics.Paragraph("The host itself is finished, and MAAS shows the VMs that are on it"))
}

// warnLXDUnprobed warns that the provider did not reach a host's LXD and took MAAS's word for
// it.
func warnLXDUnprobed(b *client.Backend, h engine.Host, diags *diag.Diagnostics) {
	if !b.IsLXDUnprobed(h.Address) {
		return
	}
	diags.AddWarning(fmt.Sprintf("The LXD of VM host %s was not reached from here", h.VMHost.Name), fmt.Sprintf(
		"No connection to %s was answered, so the provider took MAAS's inventory of it, and did not record its certificate. If only MAAS reaches the "+
			"hosts, set probe = \"maas\" in the provider block: then it tries no connection. Otherwise open the way from here to the port of LXD.", h.Address))
}

// reportUnfinished says why a create stopped waiting, and what comes next.
func (r *hostResource) reportUnfinished(wait context.Context, diags *diag.Diagnostics, spec engine.HostSpec, h engine.Host, err error) {
	besides := ""
	if h.Machine.Status.Phase() == engine.PhaseDeployed && !isRefusedByEngine(err) {
		besides = diagnostics.Paragraph("Errors of the first boot are in /var/log/cloud-init-output.log on the host, and in MAAS's events of the machine")
	}
	r.client.ReportUnfinished(wait, diags, client.UnfinishedCreate{
		Object: "VM host " + spec.Name + " on machine " + h.Machine.Hostname, KeptObject: "The machine", Phase: hostStatus(h), SystemID: h.Machine.SystemID,
		Secrets: spec.Machine.Deploy.Secrets(), ShowsError: true, ExtraParagraph: besides,
	}, err)
}

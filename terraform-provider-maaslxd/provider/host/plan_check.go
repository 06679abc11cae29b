package host

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// check looks in MAAS whether a plan can be carried out, before it gives a
// machine back: what is replaced and what is made in whole, of what changes in
// place the names alone.
func (r *hostResource) check(ctx context.Context, p hostPlan) {
	b, err := r.client.Use()
	if err != nil || !r.client.Run.ChecksPlans() {
		return
	}
	ref, spec, doing := r.wanted(ctx, p)
	if doing == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, client.CheckTimeout)
	defer cancel()
	v := client.Verdict{What: "VM host " + p.plan.Name.ValueString(), Doing: doing, Run: &r.client.Run, Diags: p.diags}
	v.Report(b.Hosts.Check(ctx, ref, spec), func() bool { return p.again || stands(ctx, b, ref) })
	if doing == "create" {
		r.client.Run.NoteNewHost()
	}
}

// wanted is what a plan asks of the engine, and by which verb; none where it
// asks for nothing that can be looked up.
func (r *hostResource) wanted(ctx context.Context, p hostPlan) (ref engine.Ref, spec engine.HostSpec, doing string) {
	switch {
	case p.state == nil:
		name := p.plan.Name.ValueString()
		ref, doing = engine.Ref{Key: r.client.HostKey(name), Name: name}, "create"
	case len(p.replace) > 0:
		ref, doing = r.ref(*p.state, p.notes), "replace"
	default:
		changed := func(config, state types.String) string {
			if !values.IsSet(config) || config.Equal(state) {
				return ""
			}
			return config.ValueString()
		}
		spec := engine.HostSpec{Zone: changed(p.config.Zone, p.state.Zone), Pool: changed(p.config.Pool, p.state.Pool)}
		if spec.Zone == "" && spec.Pool == "" {
			return ref, spec, ""
		}
		return r.ref(*p.state, p.notes), spec, "update"
	}
	return ref, p.knownSpec(ctx), doing
}

// knownSpec is the spec of a plan as far as the user has said it.
func (p hostPlan) knownSpec(ctx context.Context) engine.HostSpec {
	spec, _ := p.plan.spec(ctx, p.config, engine.Credentials{}, nil)
	if p.config.Machine.IsUnknown() || !values.KnownThroughout(ctx, p.config.Selector) || p.config.Address.IsUnknown() || p.config.Adopt.IsUnknown() {
		spec.Machine, spec.Address = engine.MachineSpec{}, ""
	}
	if !values.KnownThroughout(ctx, p.config.LXD) { // pools that take nothing of the machine's disk
		spec.LXD.StoragePools = map[string]cloudinit.StoragePool{cloudinit.DefaultPool: {Driver: cloudinit.Dir}}
	}
	if !values.KnownThroughout(ctx, p.config.Bridge) || !values.KnownThroughout(ctx, p.config.LXD) {
		spec.Bridge = nil
	}
	return spec
}

// stands tells whether the host that a plan would make is there, finished: then
// Terraform replaces one that it holds for tainted.
func stands(ctx context.Context, b *client.Backend, ref engine.Ref) bool {
	h, err := b.Hosts.Observe(ctx, ref)
	return err == nil && h.Ours && h.Finished
}

// sameMachine tells whether machine still names the machine that the host is on:
// by its system id, its hostname or its FQDN. What cannot be found out is an
// error, since the answer may cost what is on its disks.
func (p *hostPlan) sameMachine(ctx context.Context) bool {
	want, had := p.config.Machine, p.state
	switch {
	case want.IsUnknown():
		return false
	case want.Equal(had.Machine), want.Equal(had.ID), want.Equal(had.Hostname):
		return true
	}
	if hostname, _, qualified := strings.Cut(want.ValueString(), "."); !qualified || hostname != had.Hostname.ValueString() {
		return false
	}
	m, err := p.machine(ctx, had.ID.ValueString())
	switch {
	case errors.Is(err, client.ErrUnknownConfig), errors.Is(err, client.ErrMissingConfig):
		return true
	case err != nil:
		diagnostics.Report(p.diags, "tell whether VM host "+had.Name.ValueString()+" is on "+want.ValueString(), err)
		return true
	}
	return m.FQDN == want.ValueString()
}

// machine reads the machine of a state.
func (r *hostResource) machine(ctx context.Context, systemID string) (engine.Machine, error) {
	b, err := r.client.Use()
	if err != nil {
		return engine.Machine{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	return b.Machines.Machine(ctx, systemID)
}

package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// check looks in MAAS whether a plan can be carried out, before it gives a
// machine back: what is replaced and what is made in whole, of what changes in
// place the names alone.
func (r *hostResource) check(ctx context.Context, p hostPlan) {
	b, err := r.client.use()
	if err != nil || !r.client.run.checks() {
		return
	}
	ref, spec, doing := r.wanted(ctx, p)
	if doing == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	v := verdict{what: "VM host " + p.plan.Name.ValueString(), doing: doing, run: &r.client.run, diags: p.diags}
	v.pass(b.hosts.Check(ctx, ref, spec), func() bool { return p.again || r.stands(ctx, b, ref) })
	if doing == "create" {
		r.client.run.makesHost()
	}
}

// wanted is what a plan asks of the engine, and by which verb; none where it
// asks for nothing that can be looked up.
func (r *hostResource) wanted(ctx context.Context, p hostPlan) (ref engine.Ref, spec engine.HostSpec, doing string) {
	switch {
	case p.state == nil:
		name := p.plan.Name.ValueString()
		ref, doing = engine.Ref{Key: r.client.hostKey(name), Name: name}, "create"
	case len(p.replace) > 0:
		ref, doing = r.ref(*p.state, p.notes), "replace"
	default:
		changed := func(config, state types.String) string {
			if !set(config) || config.Equal(state) {
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
	if p.config.Machine.IsUnknown() || !knownThroughout(ctx, p.config.Selector) || p.config.Address.IsUnknown() || p.config.Adopt.IsUnknown() {
		spec.Machine, spec.Address = engine.MachineSpec{}, ""
	}
	if !knownThroughout(ctx, p.config.LXD) { // pools that take nothing of the machine's disk
		spec.LXD.StoragePools = map[string]cloudinit.StoragePool{cloudinit.DefaultPool: {Driver: cloudinit.Dir}}
	}
	if !knownThroughout(ctx, p.config.Bridge) || !knownThroughout(ctx, p.config.LXD) {
		spec.Bridge = nil
	}
	return spec
}

// stands tells whether the host that a plan would make is there, finished: then
// Terraform replaces one that it holds for tainted.
func (r *hostResource) stands(ctx context.Context, b *backend, ref engine.Ref) bool {
	h, err := b.hosts.Observe(ctx, ref)
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
	case errors.Is(err, errUnknownConfig), errors.Is(err, errMissingConfig):
		return true
	case err != nil:
		report(p.diags, "tell whether VM host "+had.Name.ValueString()+" is on "+want.ValueString(), err)
		return true
	}
	return m.FQDN == want.ValueString()
}

// machine reads the machine of a state.
func (r *hostResource) machine(ctx context.Context, systemID string) (engine.Machine, error) {
	b, err := r.client.use()
	if err != nil {
		return engine.Machine{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return b.machines.Machine(ctx, systemID)
}

package host

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
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
	if !values.KnownThroughout(ctx, p.config.Network) {
		spec.Network = nil
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

// sameMachine tells whether machine still names the machine that the host is on.
func (p *hostPlan) sameMachine(ctx context.Context) bool {
	had := p.state
	same := client.NamedMachine{Object: "VM host " + had.Name.ValueString(), By: had.Machine, ID: had.ID, Hostname: had.Hostname}
	return same.IsCalled(ctx, p.config.Machine, p.machine, p.diags)
}

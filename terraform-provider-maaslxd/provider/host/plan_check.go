package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// checkAgainstMAAS asks MAAS whether the plan can be applied, before a machine is released. It
// checks the whole spec of a new or replaced host, and only the names of a change in place.
func (r *hostResource) checkAgainstMAAS(ctx context.Context, p hostPlan) {
	b, err := r.client.Backend()
	if err != nil {
		return
	}
	ref, spec, doing := r.specToCheck(ctx, p)
	// A tainted host is planned only as new, but the state has it.
	replaces := p.isReplacement || len(p.replace) > 0 || p.state == nil && ref.SystemID != ""
	if !r.client.Run.WantsPlanCheck(replaces) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
	defer cancel()
	checkPlannedName(ctx, r.client, b, p)
	if doing == "" {
		return
	}
	v := client.ObstacleReport{Object: "VM host " + p.plan.Name.ValueString(), Action: doing, Replaces: replaces, Run: &r.client.Run, Diags: p.diags}
	found, remakes := r.client.Run.HostNames.WithoutFreed(ctx, b.Hosts.Check(ctx, ref, spec), p.plan.Name.ValueString())
	v.AddDiagnostics(found, func() bool { return hasFinishedHost(ctx, b, ref) })
	if doing != "create" {
		return
	}
	if slices.ContainsFunc(found.Temporary, isAlreadyFinished) {
		r.client.Run.LostHosts.Add(p.plan.Name.ValueString())
	}
	r.client.Run.NoteNewHost()
	if !p.isReplacement && (remakes || ref.SystemID != "" && r.client.Run.HostNames.Destroys(ctx, ref.SystemID)) {
		client.WarnMadeAnew(v.Object, "Its machine is released, and everything on it is lost.", p.diags)
	}
}

// isAlreadyFinished tells whether an obstacle is the VM host itself, which exists already.
func isAlreadyFinished(err error) bool {
	_, ok := errors.AsType[engine.AlreadyFinishedError](err)
	return ok
}

// checkPlannedName looks for another VM host with the name that the plan gives this one. MAAS allows
// that. Two VM hosts of one owner would have the same key: that is an error if the plan keeps the other
// one's name. Else it is a warning, because a plan that comes later may free the name.
func checkPlannedName(ctx context.Context, c *client.Client, b *client.Backend, p hostPlan) {
	if !values.IsSet(p.plan.Name) || p.state != nil && p.state.Name.Equal(p.plan.Name) || p.isReplacement {
		return
	}
	name := p.plan.Name.ValueString()
	own := c.Run.SystemIDInState("VM host " + name) // of a tainted host
	if p.state != nil {
		own = p.state.ID.ValueString()
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return // other checks say that MAAS does not answer
	}
	for _, h := range hosts {
		if h.Name != name || h.MachineID == own || h.MachineID == "" {
			continue
		}
		planned, isPlanned := c.Run.HostNames.AwaitName(ctx, h.MachineID)
		m, err := b.Machines.Machine(ctx, h.MachineID)
		if isPlanned && planned != name || err != nil {
			continue
		}
		holder := fmt.Sprintf("machine %s (system id %s)", m.Hostname, m.SystemID)
		switch isOwn := c.Owner.HostKey(name) == engine.Key(m.OwnerData[engine.KeyData]); {
		case isOwn && p.state == nil: // it is an obstacle of its own
		case isOwn && isPlanned:
			p.diags.AddAttributeError(path.Root("name"), "Cannot rename VM host "+p.state.Name.ValueString(), fmt.Sprintf(
				"Another VM host of this configuration has the name %s, on %s. Nothing is changed. Give one of them another name. %s", name, holder, client.DestroyAllHint))
		case isOwn:
			p.diags.AddAttributeWarning(path.Root("name"), "MAAS has another VM host "+name, fmt.Sprintf(
				"It is on %s, and has the same owner. If this run does not rename or destroy it, choose another name. If the state of this configuration has lost it, import it first.", holder))
		default:
			p.diags.AddAttributeWarning(path.Root("name"), "MAAS has another VM host "+name, fmt.Sprintf(
				"It is on %s. MAAS allows two VM hosts of one name, but a VM cannot name its VM host by %q then: only by its id. If you can, choose another name.", holder, name))
		}
		return
	}
}

// specToCheck is the part of a plan that the engine can check, with its verb. There is none if
// the plan has nothing to look up.
func (r *hostResource) specToCheck(ctx context.Context, p hostPlan) (ref engine.Ref, spec engine.HostSpec, doing string) {
	switch {
	case p.state == nil:
		name := p.plan.Name.ValueString()
		ref, doing = engine.Ref{Key: r.client.Owner.HostKey(name), Name: name, SystemID: r.client.Run.SystemIDInState("VM host " + name)}, "create"
	case len(p.replace) > 0:
		ref, doing = r.ref(*p.state, p.private), "replace"
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
		return r.ref(*p.state, p.private), spec, "update"
	}
	return ref, p.knownSpec(ctx), doing
}

// knownSpec is the spec of a plan with the values that are known so far.
func (p hostPlan) knownSpec(ctx context.Context) engine.HostSpec {
	spec, _ := p.plan.spec(ctx, p.config, engine.Credentials{}, nil)
	if p.config.Machine.IsUnknown() || !values.IsFullyKnown(ctx, p.config.Selector) || p.config.Address.IsUnknown() || p.config.Adopt.IsUnknown() {
		spec.Machine, spec.Address = engine.MachineSpec{}, ""
	}
	if !values.IsFullyKnown(ctx, p.config.LXD) { // such pools take nothing of the machine's disk
		spec.LXD.StoragePools = map[string]cloudinit.StoragePool{cloudinit.DefaultPool: {Driver: cloudinit.Dir}}
	}
	if !values.IsFullyKnown(ctx, p.config.Network) {
		spec.Network = nil
	}
	if !values.IsFullyKnown(ctx, p.config.Bridge) || !values.IsFullyKnown(ctx, p.config.LXD) {
		spec.Bridge = nil
	}
	return spec
}

// hasFinishedHost tells whether the host of a new plan exists already and is finished. Then
// Terraform replaces a tainted host.
func hasFinishedHost(ctx context.Context, b *client.Backend, ref engine.Ref) bool {
	h, err := b.Hosts.Observe(ctx, ref)
	return err == nil && h.Ours && h.Finished
}

// isSameMachine tells whether the attribute machine still names the machine that the host is
// on.
func (p *hostPlan) isSameMachine(ctx context.Context) bool {
	had := p.state
	same := client.NamedMachine{Object: "VM host " + had.Name.ValueString(), ConfiguredName: had.Machine, ID: had.ID, Hostname: had.Hostname}
	return same.IsNamedBy(ctx, p.config.Machine, p.readMachine, p.diags)
}

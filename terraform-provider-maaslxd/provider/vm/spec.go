package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// spec turns a plan into a spec for the engine. The configuration has the user-data, which a
// plan does not hold. It also shows which names the user chose, and which the plan took from
// the state.
func (m vmModel) spec(ctx context.Context, config vmModel) (engine.VMSpec, diag.Diagnostics) {
	var diags diag.Diagnostics
	spec := engine.VMSpec{
		Name:        m.Name.ValueString(),
		Cores:       int(m.Cores.ValueInt64()),
		MemoryMiB:   m.MemoryMiB.ValueInt64(),
		HugePages:   m.HugePages.ValueBool(),
		Profile:     config.Profile.ValueString(),
		Config:      m.settings().Options(),
		Devices:     m.settings().KnownDevices(ctx, &diags),
		Disks:       diskSpecs(m.disks(ctx, &diags)),
		Interfaces:  interfaceSpecs(ctx, config.interfaces(ctx, &diags)),
		Zone:        config.Zone.ValueString(),
		Pool:        config.Pool.ValueString(),
		Domain:      config.Domain.ValueString(),
		Tags:        m.tags(),
		Locked:      config.Protection.ValueBoolPointer(),
		Description: config.Description.ValueStringPointer(),
		Annotations: values.DeclaredAnnotations(m.Annotations),
		Power:       maasPowerOfState[m.PowerState.ValueString()],
		MayStop:     m.AllowStopping.ValueBool(),
	}
	if p := m.placement(ctx, &diags); p != nil {
		spec.Placement = p.spec()
	} else {
		spec.Host = m.VMHost.ValueString()
	}
	if pinned := pinnedCores(m.PinnedCores); pinned != nil {
		spec.Cores, spec.PinnedCores = 0, pinned
	}
	if d := m.deploy(ctx, &diags); d != nil {
		spec.Deploy = d.spec(config.deploy(ctx, &diags))
	}
	return spec, diags
}

// spec takes the user-data from the configuration, since no plan holds it. The kernel also
// comes from there: that of the plan may belong to the former image.
func (d deployModel) spec(config *deployModel) *engine.Deployment {
	out := &engine.Deployment{Image: d.Image.ValueString(), Ephemeral: d.Ephemeral.ValueBool()}
	if config != nil {
		out.UserData, out.Kernel = []byte(config.UserDataWO.ValueString()), config.Kernel.ValueString()
	}
	return out
}

func diskSpecs(disks map[string]diskModel) []engine.Disk {
	var out []engine.Disk
	for _, name := range diskOrder(disks) {
		d := disks[name]
		out = append(out, engine.Disk{Name: name, SizeGB: d.SizeGB.ValueInt64(), Pool: d.Pool.ValueString()})
	}
	return out
}

// pinnedCores lists the pinned cores, nil if there are none.
func pinnedCores(l types.List) []int {
	var out []int
	for _, e := range l.Elements() {
		if v, ok := e.(types.Int64); ok && values.IsSet(v) {
			out = append(out, int(v.ValueInt64()))
		}
	}
	return out
}

package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// spec turns a plan into a spec for the engine. The configuration has values that a plan does
// not hold, and shows which values the user set and which come from the state.
func (m hostModel) spec(ctx context.Context, config hostModel, pair engine.Credentials, next []string) (engine.HostSpec, diag.Diagnostics) {
	var diags diag.Diagnostics
	spec := engine.HostSpec{
		Name: m.Name.ValueString(), Project: m.projectName(ctx, &diags), Credentials: pair,
		ServerFingerprint: config.ServerFingerprint.ValueString(),
		Zone:              config.Zone.ValueString(), Pool: config.Pool.ValueString(), Tags: m.tags(),
		CPUOvercommit: config.CPUOvercommit.ValueFloat64(), MemoryOvercommit: config.MemoryOvercommit.ValueFloat64(),
		DefaultStoragePool: config.DefaultStoragePool.ValueString(),
		AdoptExistingVMs:   m.AdoptExistingVMs.ValueBool(),
	}
	switch {
	case config.registersRunningLXD():
		spec.Address = config.Address.ValueString()
		return spec, diags
	case m.Adopt.ValueBool():
		spec.Machine = engine.MachineSpec{Machine: m.Machine.ValueString(), Adopt: true}
		spec.LXD.ListenPort = m.firstBoot(ctx, &diags).ListenPort // the address where it listens
		return spec, diags
	}
	spec.Machine = m.machineSpec(ctx, config, &diags)
	spec.Bridge, spec.Network = m.bridgeSpec(ctx, &diags), network.Spec(ctx, m.Network, &diags)
	spec.LXD = m.firstBoot(ctx, &diags)
	trusted, err := fleetkey.TrustedCertificates(time.Now(), pair.Certificate, slices.Concat(m.trustedCertificates(ctx, &diags), next)...)
	if err != nil {
		diagnostics.ReportError(&diags, "make the first boot of "+spec.Name, trustedCertificatesError(err))
	}
	spec.LXD.TrustedCertificates = trusted
	return spec, diags
}

func (m hostModel) machineSpec(ctx context.Context, config hostModel, diags *diag.Diagnostics) engine.MachineSpec {
	spec := engine.MachineSpec{Machine: m.Machine.ValueString(), Select: values.SelectorSpec(ctx, m.Selector, diags), Deploy: &engine.Deployment{}}
	if d := values.DecodeObject[values.Deployment](ctx, config.Deploy, diags); d != nil {
		spec.Deploy = d.Spec()
	}
	return spec
}

// plannedDeployment is the deployment of a plan, with the user-data of the configuration. It
// is for an existing machine: the value of a removed line is only in the plan.
func (m hostModel) plannedDeployment(ctx context.Context, config hostModel, diags *diag.Diagnostics) *engine.Deployment {
	d := values.DecodeDeployment(ctx, m.Deploy, diags)
	d.UserDataWO = values.DecodeDeployment(ctx, config.Deploy, diags).UserDataWO
	return d.Spec()
}

// bridgeSpec is the bridge that MAAS makes: the described one, or the network that is a
// bridge. It is nil if the host has none, or if the attribute network has others.
func (m hostModel) bridgeSpec(ctx context.Context, diags *diag.Diagnostics) *engine.BridgeSpec {
	if !m.Network.IsNull() {
		return nil
	}
	spec := engine.BridgeSpec{Name: maasBridgeName(m.firstBoot(ctx, diags).Networks)}
	if b := values.DecodeObject[bridgeModel](ctx, m.Bridge, diags); b != nil {
		spec.NIC, spec.Subnet = b.NIC.ValueString(), b.Subnet.Canonical()
		switch {
		case values.IsSet(b.Name):
			spec.Name = b.Name.ValueString()
		case spec.Name == "":
			spec.Name = cloudinit.DefaultBridge
		}
	}
	if spec.Name == "" {
		return nil
	}
	return &spec
}

// maasBridgeName is the network that is a bridge of MAAS: the default one, or the only one.
func maasBridgeName(networks map[string]cloudinit.Network) string {
	if len(networks) == 0 {
		return cloudinit.DefaultBridge
	}
	var bridges []string
	for name, n := range networks {
		if n.Kind == "" || n.Kind == cloudinit.Bridge {
			bridges = append(bridges, name)
		}
	}
	switch {
	case slices.Contains(bridges, cloudinit.DefaultBridge):
		return cloudinit.DefaultBridge
	case len(bridges) == 1:
		return bridges[0]
	}
	return ""
}

// releaseSpec says how MAAS releases the machine.
func (m hostModel) releaseSpec(ctx context.Context, diags *diag.Diagnostics) engine.Release {
	return engine.Release{Force: m.ForceDestroy.ValueBool(), Adopted: !m.deploysMachine(), Erase: values.EraseMode(ctx, m.Release, diags)}
}

// trustedCertificatesError turns an error of a certificate into an error of the attribute
// trusted_certificates.
func trustedCertificatesError(err error) error {
	var bad *engine.SpecError
	if !errors.As(err, &bad) {
		return err
	}
	return &engine.SpecError{Field: fieldpath.New("lxd", "trusted_certificates"), Message: "a certificate " + bad.Message, Hint: bad.Hint, Err: bad.Err}
}

package host

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ValidateConfig checks attributes that depend on each other, and what LXD would refuse at the
// first boot.
func (r *hostResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config hostModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &config)...)
	if diags.HasError() {
		return
	}
	if !values.IsWellFormed(ctx, req.Config) { // the types report it
		return
	}
	checkSource(config, diags)
	checkUnusedFirstBoot(ctx, config, diags)
	checkBridgeOrNetwork(config, diags)
	if d := values.DecodeObject[values.Deployment](ctx, config.Deploy, diags); d != nil {
		values.CheckUserData("host", d.UserDataWO, d.UserDataWOVersion, diags)
		checkVendorData(d.UserDataWO, diags)
		if values.IsFullyKnown(ctx, d.StorageLayout) {
			if err := d.Spec().ValidateStorage(); err != nil {
				diagnostics.ReportError(diags, "deploy "+values.ObjectTitle("VM host", config.Name), err)
			}
		}
	}
	checkChannel(ctx, config, diags)
	if !diags.HasError() && areFullyKnown(req.Config, "lxd", "bridge", "network", "deploy", "machine", "selector", "address", "adopt") && isWellFormed(ctx, config, diags) {
		checkFirstBoot(ctx, config, diags)
	}
}

// checkNewHost checks the source of a host, and its setup.
func checkNewHost(ctx context.Context, config hostModel, diags *diag.Diagnostics) {
	checkSource(config, diags)
	checkUnusedFirstBoot(ctx, config, diags)
	checkBridgeOrNetwork(config, diags)
	checkDefaultPool(ctx, config, diags)
}

// checkSource wants exactly one source of the host. A value that is not known yet may still
// turn out to be null.
func checkSource(config hostModel, diags *diag.Diagnostics) {
	var given, perhaps []string
	for _, way := range []struct {
		name          string
		null, unknown bool
	}{
		{"machine", config.Machine.IsNull(), config.Machine.IsUnknown()},
		{"selector", config.Selector.IsNull(), config.Selector.IsUnknown()},
		{"address", config.Address.IsNull(), config.Address.IsUnknown()},
	} {
		switch {
		case way.unknown:
			perhaps = append(perhaps, way.name)
		case !way.null:
			given = append(given, way.name)
		}
	}
	switch {
	case len(given) > 1:
		diags.AddAttributeError(path.Root(given[1]), "More than one source of the host",
			"Both "+strings.Join(given, " and ")+
				" are set. machine names a machine, selector describes one, and address is an LXD that runs already. Keep one of them.")
	case len(given)+len(perhaps) == 0:
		diags.AddAttributeError(path.Root("machine"), "No source of the host",
			"Name a machine with machine, describe one with selector, or give the address of an LXD that runs already.")
	case config.Adopt.ValueBool() && len(given) == 1 && given[0] != "machine":
		diags.AddAttributeError(path.Root("adopt"), "Nothing to adopt", "Only a machine with a name can be adopted: set machine, or remove adopt.")
	}
}

// checkUnusedFirstBoot refuses settings of the first boot if there is none.
func checkUnusedFirstBoot(ctx context.Context, config hostModel, diags *diag.Diagnostics) {
	adopted := config.Adopt.ValueBool()
	if config.Adopt.IsUnknown() || !adopted && !config.registersRunningLXD() {
		return
	}
	refuse := func(at path.Path) {
		diags.AddAttributeError(at, "Nothing is installed on this host",
			"The host is taken as it is, so this would have no effect. Remove it. Or remove adopt and address, to have a machine installed.")
	}
	if !config.Deploy.IsNull() {
		refuse(path.Root("deploy"))
	}
	if !config.Bridge.IsNull() {
		refuse(path.Root("bridge"))
	}
	if !config.Network.IsNull() {
		refuse(path.Root("network"))
	}
	l := values.DecodeObject[lxdModel](ctx, config.LXD, diags)
	if l == nil {
		return
	}
	for name, null := range map[string]bool{
		"channel": l.Channel.IsNull(), "project_features": l.ProjectFeatures.IsNull(), "project_limits": l.ProjectLimits.IsNull(),
		"listen_address": l.ListenAddress.IsNull(), "listen_port": l.ListenPort.IsNull() || adopted, "storage_pools": l.StoragePools.IsNull(),
		"networks": l.Networks.IsNull(), "profile": l.Profile.IsNull(),
	} {
		if !null {
			refuse(path.Root("lxd").AtName(name))
		}
	}
}

// checkBridgeOrNetwork refuses two descriptions of the machine's network.
func checkBridgeOrNetwork(config hostModel, diags *diag.Diagnostics) {
	if values.IsSet(config.Bridge) && values.IsSet(config.Network) {
		diags.AddAttributeError(path.Root("bridge"), "Two descriptions of the network",
			"Both bridge and network are set, and network describes the bridges, too. Remove bridge, and describe its bridge in network.bridges.")
	}
}

// checkVendorData warns of user-data that replaces MAAS's settings for the machine, and of
// user-data that cannot be checked.
func checkVendorData(data types.String, diags *diag.Diagnostics) {
	if warnings := cloudinit.Warnings([]byte(data.ValueString())); len(warnings) > 0 {
		diags.AddAttributeWarning(path.Root("deploy").AtName("user_data_wo"), "The user-data has side effects", strings.Join(warnings, "\n\n"))
	}
}

// checkDefaultPool refuses a default pool that the first boot of a new host does not make. Its
// operator may make one later.
func checkDefaultPool(ctx context.Context, config hostModel, diags *diag.Diagnostics) {
	name := config.DefaultStoragePool.ValueString()
	if name == "" || config.Adopt.IsUnknown() || !config.deploysMachine() || config.LXD.IsUnknown() {
		return
	}
	pools := []string{cloudinit.DefaultPool}
	if l := values.DecodeObject[lxdModel](ctx, config.LXD, diags); l != nil && !l.StoragePools.IsNull() {
		if l.StoragePools.IsUnknown() {
			return
		}
		if described := l.StoragePools.Elements(); len(described) > 0 {
			pools = slices.Sorted(maps.Keys(described))
		}
	}
	if !slices.Contains(pools, name) {
		diags.AddAttributeError(path.Root("default_storage_pool"), "No such storage pool", fmt.Sprintf(
			"The host is made without a storage pool %q; it has: %s. Name one of these, or describe it in lxd.storage_pools. If you make one on the "+
				"host yourself, name it after the host is there.", name, strings.Join(pools, ", ")))
	}
}

// checkChannel warns of an LXD on which MAAS cannot compose. LXD from 6.7 on refuses
// security.secureboot, which MAAS up to 3.8 always sends.
func checkChannel(ctx context.Context, config hostModel, diags *diag.Diagnostics) {
	l := values.DecodeObject[lxdModel](ctx, config.LXD, diags)
	if l == nil {
		return
	}
	if cloudinit.IsTooNewForMAAS(l.Channel.ValueString()) {
		diags.AddAttributeWarning(path.Root("lxd").AtName("channel"), "An LXD that MAAS may not be able to use", fmt.Sprintf(
			"%s will bring LXD 6.7 or newer, on which MAAS up to 3.8 cannot make VMs. %s is the newest long-term channel on which it can. With "+
				"composer = \"lxd\", VMs are made in LXD itself, of any version.",
			l.Channel.ValueString(), cloudinit.DefaultChannel))
	}
}

// isWellFormed tells whether the validators of single attributes will pass. They run later and
// report their own errors, so that each error appears once.
func isWellFormed(ctx context.Context, config hostModel, diags *diag.Diagnostics) bool {
	hasRatio := func(f types.Float64) bool { return f.ValueFloat64() >= 0 && f.ValueFloat64() <= maxOvercommit }
	if !hasRatio(config.CPUOvercommit) || !hasRatio(config.MemoryOvercommit) {
		return false
	}
	if !network.IsWellFormed(ctx, config.Network, diags) {
		return false
	}
	l := values.DecodeObject[lxdModel](ctx, config.LXD, diags)
	if l == nil {
		return true
	}
	if _, err := fleetkey.TrustedCertificates(time.Now(), "", config.trustedCertificates(ctx, diags)...); err != nil {
		return false
	}
	oneOf := func(v types.String, names []string) bool {
		return v.IsNull() || slices.Contains(names, v.ValueString())
	}
	for _, p := range values.DecodeMap[lxdPoolModel](ctx, l.StoragePools, diags) {
		if !oneOf(p.Driver, poolDrivers) || !p.SizeGB.IsNull() && p.SizeGB.ValueInt64() < cloudinit.MinPoolSizeGB {
			return false
		}
	}
	for _, n := range values.DecodeMap[lxdNetworkModel](ctx, l.Networks, diags) {
		if !oneOf(n.Kind, networkKinds) {
			return false
		}
	}
	port := l.ListenPort
	return port.IsNull() || port.ValueInt64() >= 1 && port.ValueInt64() <= maxPort
}

// checkFirstBoot lets the engine check the whole setup, and renders the first boot with a
// placeholder for the key.
func checkFirstBoot(ctx context.Context, config hostModel, diags *diag.Diagnostics) {
	const doing = "make such a host"
	spec, ds := config.spec(ctx, config, engine.Credentials{Certificate: placeholderCertificate(), Key: "the fleet's own certificate"}, nil)
	diags.Append(ds...)
	if diags.HasError() {
		return
	}
	spec.ServerFingerprint = "" // its validator reports it
	if err := spec.Validate(); err != nil {
		diagnostics.ReportError(diags, doing, err)
		return
	}
	if !config.deploysMachine() {
		return
	}
	if _, err := spec.UserData(); err != nil {
		diagnostics.ReportError(diags, doing, err)
	}
}

// areFullyKnown tells whether all values in the attributes are known.
func areFullyKnown(config tfsdk.Config, attributes ...string) bool {
	var values map[string]tftypes.Value
	if err := config.Raw.As(&values); err != nil {
		return false
	}
	for _, name := range attributes {
		if v := values[name]; !v.IsFullyKnown() {
			return false
		}
	}
	return true
}

// placeholderCertificate is a certificate without an owner, for a first boot that is only
// checked.
var placeholderCertificate = sync.OnceValue(func() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return ""
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return ""
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
})

// isSameFirstBoot tells whether two descriptions result in the same first boot.
func isSameFirstBoot(a, b cloudinit.Host) bool {
	a.TrustedCertificates, b.TrustedCertificates = []string{placeholderCertificate()}, []string{placeholderCertificate()}
	x, errX := a.Render()
	y, errY := b.Render()
	return errX == nil && errY == nil && string(x) == string(y)
}

package host

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// lxdModel is the attribute lxd: how a machine sets LXD up at its first boot.
type lxdModel struct {
	Channel             types.String `tfsdk:"channel"`
	Project             types.String `tfsdk:"project"`
	ProjectFeatures     types.Map    `tfsdk:"project_features"`
	ProjectLimits       types.Map    `tfsdk:"project_limits"`
	ListenAddress       texttype.IP  `tfsdk:"listen_address"`
	ListenPort          types.Int64  `tfsdk:"listen_port"`
	StoragePools        types.Map    `tfsdk:"storage_pools"`
	Networks            types.Map    `tfsdk:"networks"`
	Profile             types.Object `tfsdk:"profile"`
	TrustedCertificates types.List   `tfsdk:"trusted_certificates"`
}

type lxdPoolModel struct {
	Driver types.String `tfsdk:"driver"`
	SizeGB types.Int64  `tfsdk:"size_gb"`
	Source types.String `tfsdk:"source"`
	Wipe   types.Bool   `tfsdk:"wipe"`
	Ceph   types.Object `tfsdk:"ceph"`
}

type lxdCephModel struct {
	Cluster types.String `tfsdk:"cluster"`
	Pool    types.String `tfsdk:"pool"`
	User    types.String `tfsdk:"user"`
}

type lxdNetworkModel struct {
	Kind        types.String    `tfsdk:"kind"`
	Parent      types.String    `tfsdk:"parent"`
	IPv4Address texttype.Prefix `tfsdk:"ipv4_address"`
	IPv6Address texttype.Prefix `tfsdk:"ipv6_address"`
	NAT         types.Bool      `tfsdk:"nat"`
}

type lxdProfileModel struct {
	Name    types.String `tfsdk:"name"`
	Pool    types.String `tfsdk:"pool"`
	Network types.String `tfsdk:"network"`
	Config  types.Map    `tfsdk:"config"`
}

var (
	lxdCephType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"cluster": types.StringType, "pool": types.StringType, "user": types.StringType,
	}}
	lxdPoolType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"driver": types.StringType, "size_gb": types.Int64Type, "source": types.StringType, "wipe": types.BoolType, "ceph": lxdCephType,
	}}
	lxdNetworkType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"kind": types.StringType, "parent": types.StringType, "ipv4_address": texttype.PrefixType, "ipv6_address": texttype.PrefixType, "nat": types.BoolType,
	}}
	lxdProfileType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"name": types.StringType, "pool": types.StringType, "network": types.StringType, "config": types.MapType{ElemType: types.StringType},
	}}
	lxdType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"channel": types.StringType, "project": types.StringType,
		"project_features": types.MapType{ElemType: types.BoolType}, "project_limits": types.MapType{ElemType: types.StringType},
		"listen_address": texttype.IPType, "listen_port": types.Int64Type,
		"storage_pools": types.MapType{ElemType: lxdPoolType}, "networks": types.MapType{ElemType: lxdNetworkType},
		"profile": lxdProfileType, "trusted_certificates": types.ListType{ElemType: types.StringType},
	}}
)

// lxdModelOfProject is an lxd object with only the project.
func lxdModelOfProject(project string) lxdModel {
	return lxdModel{
		Project: types.StringValue(project), ProjectFeatures: types.MapNull(types.BoolType), ProjectLimits: types.MapNull(types.StringType),
		StoragePools: types.MapNull(lxdPoolType), Networks: types.MapNull(lxdNetworkType),
		Profile: types.ObjectNull(lxdProfileType.AttrTypes), TrustedCertificates: types.ListNull(types.StringType),
	}
}

// projectName is the LXD project in which MAAS makes VMs.
func (m hostModel) projectName(ctx context.Context, diags *diag.Diagnostics) string {
	if l := values.DecodeObject[lxdModel](ctx, m.LXD, diags); l != nil && l.Project.ValueString() != "" {
		return l.Project.ValueString()
	}
	return cloudinit.DefaultProject
}

// firstBoot is the setup of LXD, without the certificates to trust. If the bridge does not
// have LXD's default name and no network is described, the bridge becomes the network.
func (m hostModel) firstBoot(ctx context.Context, diags *diag.Diagnostics) cloudinit.Host {
	var h cloudinit.Host
	if l := values.DecodeObject[lxdModel](ctx, m.LXD, diags); l != nil {
		h = l.cloudInitHost(ctx, diags)
	}
	h.Project.Name = m.projectName(ctx, diags)
	if b := values.DecodeObject[bridgeModel](ctx, m.Bridge, diags); b != nil && len(h.Networks) == 0 && values.IsSet(b.Name) {
		h.Networks = map[string]cloudinit.Network{b.Name.ValueString(): {}}
	}
	if n := network.Spec(ctx, m.Network, diags); n != nil && len(h.Networks) == 0 {
		for name := range n.Bridges {
			h.Networks = setMapEntry(h.Networks, name, cloudinit.Network{})
		}
	}
	return h
}

func (l lxdModel) cloudInitHost(ctx context.Context, diags *diag.Diagnostics) cloudinit.Host {
	h := cloudinit.Host{
		Channel: l.Channel.ValueString(), ListenAddress: l.ListenAddress.Canonical(), ListenPort: int(l.ListenPort.ValueInt64()),
		Project: cloudinit.Project{
			Features: values.DecodeMap[bool](ctx, l.ProjectFeatures, diags), Limits: values.DecodeMap[string](ctx, l.ProjectLimits, diags),
		},
	}
	for name, p := range values.DecodeMap[lxdPoolModel](ctx, l.StoragePools, diags) {
		h.StoragePools = setMapEntry(h.StoragePools, name, p.storagePool(ctx, diags))
	}
	for name, n := range values.DecodeMap[lxdNetworkModel](ctx, l.Networks, diags) {
		h.Networks = setMapEntry(h.Networks, name, cloudinit.Network{
			Kind: cloudinit.NetworkKind(n.Kind.ValueString()), Parent: n.Parent.ValueString(),
			IPv4Address: n.IPv4Address.Canonical(), IPv6Address: n.IPv6Address.Canonical(), NAT: n.NAT.ValueBool(),
		})
	}
	if p := values.DecodeObject[lxdProfileModel](ctx, l.Profile, diags); p != nil {
		h.Profile = cloudinit.Profile{
			Name: p.Name.ValueString(), Pool: p.Pool.ValueString(), Network: p.Network.ValueString(),
			Config: values.DecodeMap[string](ctx, p.Config, diags),
		}
	}
	return h
}

func setMapEntry[T any](m map[string]T, name string, v T) map[string]T {
	if m == nil {
		m = map[string]T{}
	}
	m[name] = v
	return m
}

func (p lxdPoolModel) storagePool(ctx context.Context, diags *diag.Diagnostics) cloudinit.StoragePool {
	out := cloudinit.StoragePool{
		Driver: cloudinit.Driver(p.Driver.ValueString()), SizeGB: p.SizeGB.ValueInt64(), Source: p.Source.ValueString(), Wipe: p.Wipe.ValueBool(),
	}
	if c := values.DecodeObject[lxdCephModel](ctx, p.Ceph, diags); c != nil {
		out.Ceph = &cloudinit.CephPool{Cluster: c.Cluster.ValueString(), Pool: c.Pool.ValueString(), User: c.User.ValueString()}
	}
	return out
}

// trustedCertificates lists the additional certificates, in PEM.
func (m hostModel) trustedCertificates(ctx context.Context, diags *diag.Diagnostics) []string {
	l := values.DecodeObject[lxdModel](ctx, m.LXD, diags)
	if l == nil || !values.IsSet(l.TrustedCertificates) {
		return nil
	}
	var texts []string
	for _, e := range l.TrustedCertificates.Elements() {
		if s, ok := e.(types.String); ok && values.IsSet(s) {
			texts = append(texts, s.ValueString())
		}
	}
	return texts
}

// Package network is the attribute network of a VM host: bonds, VLAN interfaces and bridges,
// which MAAS makes on its machine.
package network

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

type networkModel struct {
	Bonds   types.Map `tfsdk:"bonds"`
	VLANs   types.Map `tfsdk:"vlans"`
	Bridges types.Map `tfsdk:"bridges"`
}

type bondModel struct {
	Interfaces types.List   `tfsdk:"interfaces"`
	Mode       types.String `tfsdk:"mode"`
	LACPRate   types.String `tfsdk:"lacp_rate"`
	HashPolicy types.String `tfsdk:"xmit_hash_policy"`
	MTU        types.Int64  `tfsdk:"mtu"`
	Links      types.List   `tfsdk:"links"`
}

type vlanModel struct {
	Parent types.String `tfsdk:"parent"`
	VLAN   types.Int64  `tfsdk:"vlan"`
	MTU    types.Int64  `tfsdk:"mtu"`
	Links  types.List   `tfsdk:"links"`
}

type bridgeModel struct {
	Parent types.String `tfsdk:"parent"`
	MTU    types.Int64  `tfsdk:"mtu"`
	Links  types.List   `tfsdk:"links"`
}

type linkModel struct {
	Mode           types.String    `tfsdk:"mode"`
	Subnet         texttype.Subnet `tfsdk:"subnet"`
	IP             texttype.IP     `tfsdk:"ip"`
	DefaultGateway types.Bool      `tfsdk:"default_gateway"`
}

var (
	linksType = types.ListType{ElemType: types.ObjectType{AttrTypes: map[string]attr.Type{
		"mode": types.StringType, "subnet": texttype.SubnetType, "ip": texttype.IPType, "default_gateway": types.BoolType,
	}}}
	bondType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"interfaces": types.ListType{ElemType: types.StringType}, "mode": types.StringType, "lacp_rate": types.StringType,
		"xmit_hash_policy": types.StringType, "mtu": types.Int64Type, "links": linksType,
	}}
	vlanType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"parent": types.StringType, "vlan": types.Int64Type, "mtu": types.Int64Type, "links": linksType,
	}}
	bridgeType = types.ObjectType{AttrTypes: map[string]attr.Type{"parent": types.StringType, "mtu": types.Int64Type, "links": linksType}}
)

// Type is the type of the attribute.
var Type = types.ObjectType{AttrTypes: map[string]attr.Type{
	"bonds": types.MapType{ElemType: bondType}, "vlans": types.MapType{ElemType: vlanType}, "bridges": types.MapType{ElemType: bridgeType},
}}

// Spec converts the attribute for the engine. It is nil if the attribute is null, or has
// values that are not known yet.
func Spec(ctx context.Context, o types.Object, diags *diag.Diagnostics) *engine.NetworkSpec {
	if o.IsNull() || !values.IsFullyKnown(ctx, o) {
		return nil
	}
	m := values.DecodeObject[networkModel](ctx, o, diags)
	if m == nil {
		return nil
	}
	spec := &engine.NetworkSpec{Bonds: map[string]engine.BondSpec{}, VLANs: map[string]engine.VLANSpec{}, Bridges: map[string]engine.NetworkBridgeSpec{}}
	for name, b := range values.DecodeMap[bondModel](ctx, m.Bonds, diags) {
		bond := engine.BondSpec{
			BondMode:        engine.BondMode{Mode: b.Mode.ValueString(), LACPRate: b.LACPRate.ValueString(), HashPolicy: b.HashPolicy.ValueString()},
			NetworkSettings: interfaceSettings(ctx, b.MTU, b.Links, diags),
		}
		for _, i := range b.Interfaces.Elements() {
			if name, ok := i.(types.String); ok {
				bond.Interfaces = append(bond.Interfaces, name.ValueString())
			}
		}
		spec.Bonds[name] = bond
	}
	for name, v := range values.DecodeMap[vlanModel](ctx, m.VLANs, diags) {
		spec.VLANs[name] = engine.VLANSpec{Parent: v.Parent.ValueString(), VID: int(v.VLAN.ValueInt64()), NetworkSettings: interfaceSettings(ctx, v.MTU, v.Links, diags)}
	}
	for name, b := range values.DecodeMap[bridgeModel](ctx, m.Bridges, diags) {
		spec.Bridges[name] = engine.NetworkBridgeSpec{Parent: b.Parent.ValueString(), NetworkSettings: interfaceSettings(ctx, b.MTU, b.Links, diags)}
	}
	return spec
}

func interfaceSettings(ctx context.Context, mtu types.Int64, links types.List, diags *diag.Diagnostics) engine.NetworkSettings {
	s := engine.NetworkSettings{MTU: int(mtu.ValueInt64())}
	if links.IsNull() || links.IsUnknown() {
		return s
	}
	var all []*linkModel
	diags.Append(links.ElementsAs(ctx, &all, false)...)
	for _, l := range all {
		if l == nil { // a validator refuses it
			continue
		}
		link := engine.LinkSpec{Mode: l.Mode.ValueString(), Subnet: l.Subnet.Canonical(), DefaultGateway: l.DefaultGateway.ValueBool()}
		if ip, err := netip.ParseAddr(l.IP.ValueString()); err == nil {
			link.IP = ip
		}
		s.Links = append(s.Links, link)
	}
	return s
}

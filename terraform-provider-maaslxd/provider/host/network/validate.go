package network

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// IsWellFormed tells whether the validators of the single attributes will pass. They run later
// and report their own errors, so that each error appears once. All values must be known.
func IsWellFormed(ctx context.Context, o types.Object, diags *diag.Diagnostics) bool {
	m := values.DecodeObject[networkModel](ctx, o, diags)
	if m == nil {
		return true
	}
	for _, all := range []types.Map{m.Bonds, m.VLANs, m.Bridges} {
		if slices.ContainsFunc(slices.Collect(maps.Values(all.Elements())), attr.Value.IsNull) {
			return false
		}
	}
	for _, b := range values.DecodeMap[bondModel](ctx, m.Bonds, diags) {
		empty := func(v attr.Value) bool { return v.IsNull() || isBlank(v.(types.String)) }
		if len(b.Interfaces.Elements()) == 0 || slices.ContainsFunc(b.Interfaces.Elements(), empty) || !isOneOf(b.Mode, engine.BondModes) ||
			!isOneOf(b.LACPRate, engine.BondLACPRates) || !isOneOf(b.HashPolicy, engine.BondHashPolicies) || !isInterfaceWellFormed(ctx, b.MTU, b.Links, diags) {
			return false
		}
	}
	for _, v := range values.DecodeMap[vlanModel](ctx, m.VLANs, diags) {
		if isBlank(v.Parent) || v.VLAN.ValueInt64() < 1 || v.VLAN.ValueInt64() > engine.MaxVID || !isInterfaceWellFormed(ctx, v.MTU, v.Links, diags) {
			return false
		}
	}
	for _, b := range values.DecodeMap[bridgeModel](ctx, m.Bridges, diags) {
		if isBlank(b.Parent) || !isInterfaceWellFormed(ctx, b.MTU, b.Links, diags) {
			return false
		}
	}
	return true
}

func isBlank(s types.String) bool { return strings.TrimSpace(s.ValueString()) == "" }

func isOneOf(s types.String, words []string) bool {
	return s.IsNull() || slices.Contains(words, s.ValueString())
}

// isInterfaceWellFormed checks the attributes that all interfaces have.
func isInterfaceWellFormed(ctx context.Context, mtu types.Int64, links types.List, diags *diag.Diagnostics) bool {
	if n := mtu.ValueInt64(); !mtu.IsNull() && (n < engine.MinMTU || n > engine.MaxMTU) || !links.IsNull() && len(links.Elements()) == 0 {
		return false
	}
	var all []*linkModel
	if !links.IsNull() {
		diags.Append(links.ElementsAs(ctx, &all, false)...)
	}
	return !slices.ContainsFunc(all, func(l *linkModel) bool {
		return l == nil || l.Mode.IsNull() || !isOneOf(l.Mode, engine.LinkModes)
	})
}

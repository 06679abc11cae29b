package providertest

import (
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// UpgradeState lets the provider read a state of an earlier version of the schema.
func (r *Resource) UpgradeState(version int64, state Object) (Object, []*tfprotov6.Diagnostic) {
	r.t.Helper()
	resp, err := r.Server.UpgradeResourceState(r.t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: r.Name, Version: version, RawState: &tfprotov6.RawState{JSON: state.DynamicValue(r.t).JSON},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.UpgradedState == nil {
		return nil, resp.Diagnostics
	}
	value, err := resp.UpgradedState.Unmarshal(r.Type)
	if err != nil {
		r.t.Fatal(err)
	}
	upgraded, _ := r.jsonValue(value).(Object)
	return upgraded, resp.Diagnostics
}

// jsonValue is a value for JSON.
func (r *Resource) jsonValue(v tftypes.Value) any {
	r.t.Helper()
	if v.IsNull() {
		return nil
	}
	switch {
	case v.Type().Is(tftypes.Object{}), v.Type().Is(tftypes.Map{}):
		parts, out := map[string]tftypes.Value{}, Object{}
		r.decode(v, &parts)
		for name, part := range parts {
			out[name] = r.jsonValue(part)
		}
		return out
	case v.Type().Is(tftypes.List{}), v.Type().Is(tftypes.Set{}):
		parts, out := []tftypes.Value{}, []any{}
		r.decode(v, &parts)
		for _, part := range parts {
			out = append(out, r.jsonValue(part))
		}
		return out
	default:
		return r.jsonScalar(v)
	}
}

// jsonScalar is a value without members, for JSON.
func (r *Resource) jsonScalar(v tftypes.Value) any {
	r.t.Helper()
	switch {
	case v.Type().Is(tftypes.Bool):
		var out bool
		r.decode(v, &out)
		return out
	case v.Type().Is(tftypes.Number):
		out := new(big.Float)
		r.decode(v, &out)
		number, _ := out.Float64()
		return number
	default:
		var out string
		r.decode(v, &out)
		return out
	}
}

func (r *Resource) decode(v tftypes.Value, into any) {
	r.t.Helper()
	if err := v.As(into); err != nil {
		r.t.Fatal(err)
	}
}

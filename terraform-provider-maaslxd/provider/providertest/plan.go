package providertest

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Plan is a plan as the provider returned it.
type Plan struct {
	Diagnostics []*tfprotov6.Diagnostic

	resource *Resource
	resp     *tfprotov6.PlanResourceChangeResponse
	value    tftypes.Value
}

// Attributes are the planned values.
func (p *Plan) Attributes() map[string]tftypes.Value {
	p.resource.t.Helper()
	var attributes map[string]tftypes.Value
	if err := p.value.As(&attributes); err != nil {
		p.resource.t.Fatal(err)
	}
	return attributes
}

// AppliedState is the state that an apply of the plan would write. Unknown values come from
// seen, or are any value.
func (p *Plan) AppliedState(seen Object) Object {
	p.resource.t.Helper()
	known, err := tftypes.Transform(p.value, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		return someValue(v.Type()), nil
	})
	if err != nil {
		p.resource.t.Fatal(err)
	}
	state, _ := p.resource.jsonValue(known).(Object)
	return state.WithChanges(seen)
}

// someValue is any known value of a type.
func someValue(of tftypes.Type) tftypes.Value {
	switch {
	case of.Is(tftypes.String):
		return tftypes.NewValue(of, "seen")
	case of.Is(tftypes.Number):
		return tftypes.NewValue(of, 1)
	case of.Is(tftypes.Bool):
		return tftypes.NewValue(of, false)
	case of.Is(tftypes.Map{}):
		return tftypes.NewValue(of, map[string]tftypes.Value{})
	case of.Is(tftypes.List{}), of.Is(tftypes.Set{}):
		return tftypes.NewValue(of, []tftypes.Value{})
	}
	return tftypes.NewValue(of, nil)
}

// UnknownAttributes lists the attributes that are not known, or not wholly.
func (p *Plan) UnknownAttributes() []string {
	p.resource.t.Helper()
	var names []string
	for name, v := range p.Attributes() {
		if !v.IsFullyKnown() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ReplacingAttributes lists the attributes that replace the resource.
func (p *Plan) ReplacingAttributes() []string {
	var names []string
	for _, at := range p.resp.RequiresReplace {
		names = append(names, string(at.Steps()[0].(tftypes.AttributeName)))
	}
	slices.Sort(names)
	return names
}

// ChangedAttributes lists the attributes whose planned values differ from the state.
func (p *Plan) ChangedAttributes(state Object) []string {
	p.resource.t.Helper()
	before, err := state.DynamicValue(p.resource.t).Unmarshal(p.resource.Type)
	if err != nil {
		p.resource.t.Fatal(err)
	}
	var had map[string]tftypes.Value
	if err := before.As(&had); err != nil {
		p.resource.t.Fatal(err)
	}
	var names []string
	for name, v := range p.Attributes() {
		if !v.Equal(had[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

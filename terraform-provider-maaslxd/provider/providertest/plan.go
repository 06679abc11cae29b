package providertest

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Plan is a plan as the provider answered it.
type Plan struct {
	Diagnostics []*tfprotov6.Diagnostic

	of    *Resource
	resp  *tfprotov6.PlanResourceChangeResponse
	value tftypes.Value
}

// Attributes are the planned values.
func (p *Plan) Attributes() map[string]tftypes.Value {
	p.of.t.Helper()
	var attributes map[string]tftypes.Value
	if err := p.value.As(&attributes); err != nil {
		p.of.t.Fatal(err)
	}
	return attributes
}

// Applied is the state that an apply of the plan would write. What the plan leaves open is what
// seen says of its attribute, else some value.
func (p *Plan) Applied(seen Object) Object {
	p.of.t.Helper()
	known, err := tftypes.Transform(p.value, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		return someValue(v.Type()), nil
	})
	if err != nil {
		p.of.t.Fatal(err)
	}
	state, _ := p.of.plain(known).(Object)
	return state.With(seen)
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

// Unknown lists the attributes that are not known, or not wholly.
func (p *Plan) Unknown() []string {
	p.of.t.Helper()
	var names []string
	for name, v := range p.Attributes() {
		if !v.IsFullyKnown() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Replaces lists the attributes that replace the resource.
func (p *Plan) Replaces() []string {
	var names []string
	for _, at := range p.resp.RequiresReplace {
		names = append(names, string(at.Steps()[0].(tftypes.AttributeName)))
	}
	slices.Sort(names)
	return names
}

// Changed lists the attributes that are planned to differ from the state.
func (p *Plan) Changed(state Object) []string {
	p.of.t.Helper()
	before, err := state.Dynamic(p.of.t).Unmarshal(p.of.Type)
	if err != nil {
		p.of.t.Fatal(err)
	}
	var had map[string]tftypes.Value
	if err := before.As(&had); err != nil {
		p.of.t.Fatal(err)
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

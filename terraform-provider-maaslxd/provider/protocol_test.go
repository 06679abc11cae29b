package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// object is a resource as Terraform's JSON has it.
type object map[string]any

// with returns a copy with some attributes changed; nil takes one away.
func (o object) with(changes object) object {
	out := maps.Clone(o)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

func (o object) dynamic(t *testing.T) *tfprotov6.DynamicValue {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.DynamicValue{JSON: raw}
}

// computed are the attributes that Terraform takes over from the state where
// the configuration has none, on whatever level they stand.
var computed = []string{
	"id", "vm_host", "strategy", "vm_host_id", "vm_host_name", "cores", "memory_mib", "hugepages", "disks", "zone", "pool", "domain",
	"fqdn", "status", "ip_addresses", "mac_address", "image", "ephemeral", "interfaces", "kernel",
	// of VM hosts
	"system_id", "adopt", "lxd_address", "adopt_existing_vms", "cpu_overcommit", "memory_overcommit", "default_storage_pool", "force_destroy",
	"on_create_failure", "hostname", "lxd_version", "storage_pools", "certificate_fingerprint", "trusted_fingerprints", "erase",
}

// proposed is what Terraform proposes to a provider: the configuration, and
// the state where it is computed and not configured.
func proposed(config, prior object) object {
	out := maps.Clone(config)
	for _, name := range computed {
		if config[name] == nil && prior[name] != nil {
			out[name] = prior[name]
		}
	}
	for name, v := range config {
		if name == "lxd" {
			continue // nothing in it is computed
		}
		inner, ok := v.(object)
		had, hadOK := prior[name].(object)
		if ok && hadOK {
			out[name] = proposed(inner, had)
		}
	}
	return out
}

func vmType(t *testing.T) tftypes.Type {
	return vmSchema(t.Context()).Type().TerraformType(t.Context())
}

// planOf asks the provider for a plan, over its protocol and without a MAAS. A
// nil state is a create.
func planOf(t *testing.T, config, state object, n notes) *planned {
	t.Helper()
	return planOfType(t, "maaslxd_vm", vmType(t), config, state, map[string]any{notesKey: n})
}

// hostPlanOf is planOf for a VM host.
func hostPlanOf(t *testing.T, config, state object, n hostNotes) *planned {
	t.Helper()
	ty := hostSchema(t.Context()).Type().TerraformType(t.Context())
	return planOfType(t, "maaslxd_vm_host", ty, config, state, map[string]any{hostNotesKey: n})
}

func planOfType(t *testing.T, name string, ty tftypes.Type, config, state object, notes map[string]any) *planned {
	t.Helper()
	prior, err := tfprotov6.NewDynamicValue(ty, tftypes.NewValue(ty, nil))
	if err != nil {
		t.Fatal(err)
	}
	if state != nil {
		prior = *state.dynamic(t)
	}
	raw := map[string][]byte{}
	for key, n := range notes {
		if raw[key], err = json.Marshal(n); err != nil {
			t.Fatal(err)
		}
	}
	private, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := providerserver.NewProtocol6(New("test")())().PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: name, PriorState: &prior, PriorPrivate: private,
		Config: config.dynamic(t), ProposedNewState: proposed(config, state).dynamic(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	value, err := resp.PlannedState.Unmarshal(ty)
	if err != nil {
		t.Fatal(err)
	}
	return &planned{t: t, ty: ty, resp: resp, value: value}
}

// planned is a plan as the provider answered it.
type planned struct {
	t     *testing.T
	ty    tftypes.Type
	resp  *tfprotov6.PlanResourceChangeResponse
	value tftypes.Value
}

func (p *planned) attributes() map[string]tftypes.Value {
	p.t.Helper()
	var attributes map[string]tftypes.Value
	if err := p.value.As(&attributes); err != nil {
		p.t.Fatal(err)
	}
	return attributes
}

// unknown lists the attributes that are not known, or not wholly.
func (p *planned) unknown() []string {
	p.t.Helper()
	var names []string
	for name, v := range p.attributes() {
		if !v.IsFullyKnown() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *planned) replaces() []string {
	var names []string
	for _, at := range p.resp.RequiresReplace {
		names = append(names, string(at.Steps()[0].(tftypes.AttributeName)))
	}
	slices.Sort(names)
	return names
}

// changed lists the attributes that are planned to differ from the state.
func (p *planned) changed(state object) []string {
	p.t.Helper()
	before, err := state.dynamic(p.t).Unmarshal(p.ty)
	if err != nil {
		p.t.Fatal(err)
	}
	var had map[string]tftypes.Value
	if err := before.As(&had); err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for name, v := range p.attributes() {
		if !v.Equal(had[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stepText is a step of an attribute's path as people write it.
func stepText(step tftypes.AttributePathStep) string {
	switch s := step.(type) {
	case tftypes.AttributeName:
		return string(s)
	case tftypes.ElementKeyString:
		return string(s)
	default:
		return fmt.Sprint(s)
	}
}

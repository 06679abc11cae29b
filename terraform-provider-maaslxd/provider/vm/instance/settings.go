package instance

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Settings are the attributes config and devices of a configuration, a plan or a state.
type Settings struct {
	Config  types.Map
	Devices types.Map
}

// deviceModel is an element of devices.
type deviceModel struct {
	Type       types.String `tfsdk:"type"`
	Properties types.Map    `tfsdk:"properties"`
}

// IsNull tells whether neither is set.
func (s Settings) IsNull() bool { return s.Config.IsNull() && s.Devices.IsNull() }

// Equal tells whether both have the same values.
func (s Settings) Equal(other Settings) bool {
	return s.Config.Equal(other.Config) && s.Devices.Equal(other.Devices)
}

// Options are the options whose values are known; nil if there are none.
func (s Settings) Options() map[string]string { return knownTexts(s.Config) }

// knownTexts are the elements of a map that are known; nil if there are none.
func knownTexts(m types.Map) map[string]string {
	var out map[string]string
	for key, v := range m.Elements() {
		if text, ok := v.(types.String); ok && values.IsSet(text) {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = text.ValueString()
		}
	}
	return out
}

// KnownDevices are the devices whose values are all known; nil if there are none.
func (s Settings) KnownDevices(ctx context.Context, diags *diag.Diagnostics) map[string]engine.Device {
	var out map[string]engine.Device
	for name, m := range values.DecodeMap[deviceModel](ctx, s.Devices, diags) {
		if m.Type.IsUnknown() || !values.IsFullyKnown(ctx, m.Properties) {
			continue
		}
		if out == nil {
			out = map[string]engine.Device{}
		}
		out[name] = engine.Device{Type: m.Type.ValueString(), Properties: knownTexts(m.Properties)}
	}
	return out
}

// Validate refuses options and devices that a VM cannot have. vm names the VM in the error.
func (s Settings) Validate(ctx context.Context, vm string, diags *diag.Diagnostics) {
	devices := s.KnownDevices(ctx, diags)
	maps.DeleteFunc(devices, func(_ string, d engine.Device) bool { // its validator reports it
		return !slices.Contains(engine.DeviceTypes(), d.Type)
	})
	if err := engine.ValidateInstance(s.optionsByKey(), devices); err != nil {
		diagnostics.ReportError(diags, "give options and devices to "+vm, err)
	}
}

// optionsByKey are the options. An option with an invalid key and an unknown value is there
// with an empty value.
func (s Settings) optionsByKey() map[string]string {
	options := map[string]string{}
	for key, v := range s.Config.Elements() {
		if v.IsUnknown() && !engine.IsInstanceOptionAllowed(key) {
			options[key] = ""
		}
	}
	maps.Copy(options, s.Options())
	return options
}

// RemovedKeys are the keys and names that only the former settings have.
func (s Settings) RemovedKeys(before Settings) (config, devices []string) {
	return values.Difference(keysOf(before.Config), keysOf(s.Config)), values.Difference(keysOf(before.Devices), keysOf(s.Devices))
}

func keysOf(m types.Map) []string { return slices.Sorted(maps.Keys(m.Elements())) }

// ChangeNeedingStop names the first attribute, and the part of it, that changes in a plan and
// needs a stopped VM; empty: none does.
func (s Settings) ChangeNeedingStop(before Settings) (attribute, what string) {
	for _, key := range changedKeys(s.Config, before.Config) {
		if !engine.IsInstanceOptionLive(key) {
			return "config", key
		}
	}
	for _, name := range changedKeys(s.Devices, before.Devices) {
		if !isHotPlugged(s.Devices.Elements()[name]) || !isHotPlugged(before.Devices.Elements()[name]) {
			return "devices", "device " + name
		}
	}
	return "", ""
}

// LostTPMs are the names of TPMs that are removed, or become devices of another type.
func (s Settings) LostTPMs(before Settings) []string {
	var lost []string
	for _, name := range keysOf(before.Devices) {
		if deviceTypeOf(before.Devices.Elements()[name]) == "tpm" && !s.Devices.IsUnknown() && deviceTypeOf(s.Devices.Elements()[name]) != "tpm" {
			lost = append(lost, name)
		}
	}
	return lost
}

// deviceTypeOf is the type of an element of devices; empty if there is none.
func deviceTypeOf(element attr.Value) string {
	object, ok := element.(types.Object)
	if !ok {
		return ""
	}
	kind, _ := object.Attributes()["type"].(types.String)
	return kind.ValueString()
}

// changedKeys are the keys of the elements in which two maps differ, sorted.
func changedKeys(a, b types.Map) []string {
	all := slices.Concat(keysOf(a), keysOf(b))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(key string) bool {
		x, y := a.Elements()[key], b.Elements()[key]
		return x != nil && y != nil && x.Equal(y)
	})
}

// isHotPlugged tells whether LXD adds and removes such a device while the VM runs. It is true
// for a null element.
func isHotPlugged(element attr.Value) bool {
	return element == nil || engine.Device{Type: deviceTypeOf(element)}.IsHotPlugged()
}

// RefreshFrom are the declared settings with the VM's current values. Those that are gone are
// left out. If LXD does not answer, they stay.
func (s Settings) RefreshFrom(ctx context.Context, vm engine.Machine, diags *diag.Diagnostics) Settings {
	if !s.Config.IsNull() && vm.Config != nil {
		seen := maps.Clone(vm.Config)
		maps.DeleteFunc(seen, func(key, _ string) bool { return s.Config.Elements()[key] == nil })
		s.Config = optionsMap(seen)
	}
	if !s.Devices.IsNull() && vm.Devices != nil {
		seen := maps.Clone(vm.Devices)
		maps.DeleteFunc(seen, func(name string, _ engine.Device) bool { return s.Devices.Elements()[name] == nil })
		s.Devices = devicesMap(ctx, seen, diags)
	}
	return s
}

// JoinedWith are these settings and those that only the others have, so that the state knows
// all that may be on the VM.
func (s Settings) JoinedWith(others Settings) Settings {
	return Settings{Config: joinMaps(s.Config, others.Config), Devices: joinMaps(s.Devices, others.Devices)}
}

// joinMaps are the elements of both maps; null if neither has any.
func joinMaps(m, other types.Map) types.Map {
	if m.IsNull() {
		return other
	}
	all := maps.Clone(other.Elements())
	maps.Copy(all, m.Elements())
	return types.MapValueMust(m.ElementType(context.Background()), all)
}

func optionsMap(options map[string]string) types.Map {
	elements := map[string]attr.Value{}
	for key, value := range options {
		elements[key] = types.StringValue(value)
	}
	return types.MapValueMust(types.StringType, elements)
}

func devicesMap(ctx context.Context, devices map[string]engine.Device, diags *diag.Diagnostics) types.Map {
	models := map[string]deviceModel{}
	for name, d := range devices {
		m := deviceModel{Type: types.StringValue(d.Type), Properties: types.MapNull(types.StringType)}
		if len(d.Properties) > 0 {
			m.Properties = optionsMap(d.Properties)
		}
		models[name] = m
	}
	return values.EncodeMap(ctx, DeviceType, models, diags)
}

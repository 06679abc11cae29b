package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// GenerateResourceConfig lets the framework write the configuration of an imported object, without
// the values that only the existing object can have. A configuration with them could not make the
// object again: a new LXD server has another certificate, and MAAS gives a new VM other MAC
// addresses.
func (f contextReleasingServer) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	resp, err := f.frameworkServer.GenerateResourceConfig(ctx, req)
	if err != nil || resp == nil || resp.Config == nil {
		return resp, err
	}
	config, err := withoutValuesOfObject(req, resp.Config, f.schemas()[req.TypeName])
	if err != nil {
		return nil, err
	}
	resp.Config = config
	return resp, nil
}

// withoutValuesOfObject removes these values from a generated configuration.
func withoutValuesOfObject(req *tfprotov6.GenerateResourceConfigRequest, generated *tfprotov6.DynamicValue, schema *tfprotov6.Schema) (*tfprotov6.DynamicValue, error) {
	if schema == nil {
		return generated, nil
	}
	of := schema.ValueType()
	state, err := req.State.Unmarshal(of)
	if err != nil {
		return nil, err
	}
	config, err := generated.Unmarshal(of)
	if err != nil {
		return nil, err
	}
	isLeftOut := leftOutAttributes(req.TypeName, state)
	config, err = tftypes.Transform(config, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if steps := at.Steps(); len(steps) > 0 && isLeftOut(steps) {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
	if err != nil {
		return nil, err
	}
	changed, err := tfprotov6.NewDynamicValue(of, config)
	return &changed, err
}

// leftOutAttributes tells which attributes a generated configuration leaves out. Only a VM that MAAS
// has composed has a number of its VM host. LXD gives a new VM the MAC address that you want.
func leftOutAttributes(resource string, state tftypes.Value) func([]tftypes.AttributePathStep) bool {
	isLast := func(steps []tftypes.AttributePathStep, name string) bool {
		return steps[len(steps)-1] == tftypes.AttributePathStep(tftypes.AttributeName(name))
	}
	switch resource {
	case "maaslxd_vm_host":
		return func(steps []tftypes.AttributePathStep) bool {
			return len(steps) == 1 && isLast(steps, "server_fingerprint")
		}
	case "maaslxd_vm":
		host, _, err := tftypes.WalkAttributePath(state, tftypes.NewAttributePath().WithAttributeName("vm_host_id"))
		if id, ok := host.(tftypes.Value); err == nil && ok && !id.IsNull() {
			return func(steps []tftypes.AttributePathStep) bool { return isLast(steps, "mac_address") }
		}
	}
	return func([]tftypes.AttributePathStep) bool { return false }
}

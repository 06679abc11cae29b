package providertest

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// proposedState is what Terraform proposes to a provider: the configuration, with the state's
// values for computed attributes that are not configured (objchange.ProposedNew in Terraform).
func proposedState(attributes map[string]schema.Attribute, config, prior map[string]any) Object {
	out := Object(maps.Clone(config))
	for name, a := range attributes {
		switch had := prior[name]; {
		case had == nil:
		case config[name] == nil && a.IsComputed():
			out[name] = had
		case config[name] != nil:
			out[name] = proposedMembers(a, config[name], had)
		}
	}
	return out
}

// proposedMembers is what Terraform proposes for a configured attribute.
func proposedMembers(a schema.Attribute, config, prior any) any {
	switch a := a.(type) {
	case schema.SingleNestedAttribute:
		return proposedState(a.Attributes, membersOf(config), membersOf(prior))
	case schema.MapNestedAttribute:
		all, had := Object{}, membersOf(prior)
		for key, v := range membersOf(config) {
			all[key] = proposedState(a.NestedObject.Attributes, membersOf(v), membersOf(had[key]))
		}
		return all
	case schema.ListNestedAttribute:
		elements, ok := config.([]any)
		had, _ := prior.([]any)
		if !ok {
			return config
		}
		all := make([]any, len(elements))
		for n, v := range elements {
			all[n] = proposedState(a.NestedObject.Attributes, membersOf(v), nil)
			if n < len(had) {
				all[n] = proposedState(a.NestedObject.Attributes, membersOf(v), membersOf(had[n]))
			}
		}
		return all
	}
	return config
}

// membersOf are the members of an object or a map; nil if there are none.
func membersOf(v any) map[string]any {
	switch v := v.(type) {
	case Object:
		return v
	case map[string]any:
		return v
	}
	return nil
}

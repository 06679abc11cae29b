package acctest_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// blockKind is a kind of block with a type, such as "resource maaslxd_vm".
// The provider's own block is "provider maaslxd".
type blockKind string

// functionKind has the provider's functions instead of attributes.
const functionKind blockKind = "function"

// attributeNode is an attribute that a configuration can set, and those in it.
type attributeNode struct {
	nesting tfprotov6.SchemaObjectNestingMode
	inside  map[string]*attributeNode
}

// configurableSchemas are the attributes that a configuration can set, by the
// block that takes them.
func configurableSchemas(t *testing.T) map[blockKind]*attributeNode {
	t.Helper()
	server := providerserver.NewProtocol6(provider.New("acctest")())()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[blockKind]*attributeNode{"provider maaslxd": rootOf(schemas.Provider)}
	for word, kind := range map[string]map[string]*tfprotov6.Schema{
		"resource": schemas.ResourceSchemas, "data": schemas.DataSourceSchemas,
		"ephemeral": schemas.EphemeralResourceSchemas, "list": schemas.ListResourceSchemas,
	} {
		for name, schema := range kind {
			all[blockKind(word+" "+name)] = rootOf(schema)
		}
	}
	for name, action := range schemas.ActionSchemas {
		all[blockKind("action "+name)] = rootOf(action.Schema)
	}
	functions := map[string]*attributeNode{}
	for name := range schemas.Functions {
		functions[name] = &attributeNode{}
	}
	all[functionKind] = &attributeNode{inside: functions}
	return all
}

func rootOf(s *tfprotov6.Schema) *attributeNode {
	root := &attributeNode{inside: configurable(s.Block.Attributes)}
	for _, b := range s.Block.BlockTypes {
		root.inside[b.TypeName] = rootOf(&tfprotov6.Schema{Block: b.Block})
	}
	return root
}

// configurable are those of the attributes that a configuration can set.
func configurable(attributes []*tfprotov6.SchemaAttribute) map[string]*attributeNode {
	all := map[string]*attributeNode{}
	for _, a := range attributes {
		if !a.Required && !a.Optional {
			continue
		}
		node := &attributeNode{}
		if a.NestedType != nil {
			node.nesting, node.inside = a.NestedType.Nesting, configurable(a.NestedType.Attributes)
		}
		all[a.Name] = node
	}
	return all
}

// collectPaths calls collect with the path of each attribute below the node.
func (n *attributeNode) collectPaths(path string, collect func(path string)) {
	for name, node := range n.inside {
		collect(path + name)
		node.collectPaths(path+name+".", collect)
	}
}

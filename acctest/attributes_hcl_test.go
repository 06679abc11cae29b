package acctest_test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// attributeUses are the attributes that some configuration sets, as in
// "resource maaslxd_vm disks.size_gb".
type attributeUses struct {
	schemas map[blockKind]*attributeNode
	set     map[string]bool
}

// verbs are the places where Go's fmt puts something in.
var verbs = regexp.MustCompile(`^%(\[\d+\])?[a-z]`)

// fillVerbs replaces what is open in a configuration's text, so that HCL can
// parse the rest: a word in a string, a value after "=", nothing elsewhere.
func fillVerbs(text string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		if text[i] == '"' && (i == 0 || text[i-1] != '\\') {
			quoted = !quoted
		}
		verb := verbs.FindString(text[i:])
		if verb == "" {
			out.WriteByte(text[i])
			continue
		}
		i += len(verb) - 1
		before := strings.TrimRight(out.String(), " ")
		switch {
		case quoted:
			out.WriteString("x")
		case strings.HasSuffix(verb, "q"):
			out.WriteString(`"x"`)
		case before != "" && strings.ContainsAny(before[len(before)-1:], "=([,:?"):
			out.WriteString("null")
		}
	}
	return out.String()
}

// functionCall is a call of a function of the provider.
var functionCall = regexp.MustCompile(`provider::maaslxd::(\w+)\(`)

// recordText records what the blocks in the text set. HCL keeps what it can
// parse of a text with errors.
func (u attributeUses) recordText(text string) {
	for _, match := range functionCall.FindAllStringSubmatch(text, -1) {
		u.set[string(functionKind)+" "+match[1]] = true
	}
	file, _ := hclsyntax.ParseConfig([]byte(fillVerbs(text)), "text", hcl.InitialPos)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return
	}
	for _, block := range body.Blocks {
		if root, kind := u.schemaOf(block); root != nil {
			inner := block.Body
			if i := slices.IndexFunc(inner.Blocks, func(b *hclsyntax.Block) bool { return b.Type == "config" }); i >= 0 {
				inner = inner.Blocks[i].Body
			}
			u.recordBody(kind, root, inner)
		}
	}
}

// schemaOf is the schema of the block, or nil for another provider's block.
func (u attributeUses) schemaOf(block *hclsyntax.Block) (*attributeNode, blockKind) {
	if len(block.Labels) == 0 {
		return nil, ""
	}
	kind := blockKind(block.Type + " " + block.Labels[0])
	return u.schemas[kind], kind
}

// recordBody records what a body of a block of that kind sets.
func (u attributeUses) recordBody(kind blockKind, root *attributeNode, body *hclsyntax.Body) {
	for path := range pathsInBody(root, body) {
		u.set[string(kind)+" "+path] = true
	}
}

// recordFragment records attributes without their block. They count for the
// only one of the kinds that has all of them; if there are several, for none.
func (u attributeUses) recordFragment(text string, kinds []blockKind) {
	file, _ := hclsyntax.ParseConfig([]byte(fillVerbs(text)), "text", hcl.InitialPos)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || len(body.Attributes) == 0 {
		return
	}
	fits := slices.DeleteFunc(slices.Clone(kinds), func(k blockKind) bool {
		return pathsInBody(u.schemas[k], body)[unknownAttribute]
	})
	if len(fits) == 1 {
		u.recordBody(fits[0], u.schemas[fits[0]], body)
	}
}

// unknownAttribute stands among paths for attributes that the schema lacks.
const unknownAttribute = "?"

// metaArguments are attributes that Terraform itself reads.
var metaArguments = []string{"count", "for_each", "provider", "depends_on", "include_resource", "limit"}

func pathsInBody(root *attributeNode, body *hclsyntax.Body) map[string]bool {
	paths := map[string]bool{}
	for name, a := range body.Attributes {
		addPaths(paths, root, "", name, a.Expr)
	}
	for _, b := range body.Blocks {
		if node := root.inside[b.Type]; node != nil {
			for path := range pathsInBody(node, b.Body) {
				paths[b.Type+"."+path] = true
			}
		}
	}
	return paths
}

// addPaths adds the path of the attribute, and of those in its value. Null sets
// nothing.
func addPaths(paths map[string]bool, parent *attributeNode, prefix, name string, value hclsyntax.Expression) {
	node := parent.inside[name]
	if node == nil {
		if !slices.Contains(metaArguments, name) {
			paths[unknownAttribute] = true
		}
		return
	}
	if literal, ok := value.(*hclsyntax.LiteralValueExpr); ok && literal.Val.IsNull() {
		return
	}
	paths[prefix+name] = true
	if node.inside == nil {
		return
	}
	for _, object := range objectsIn(value, node.nesting) {
		for _, item := range object.Items {
			if key := hcl.ExprAsKeyword(item.KeyExpr); key != "" {
				addPaths(paths, node, prefix+name+".", key, item.ValueExpr)
			}
		}
	}
}

// objectsIn are the objects of an attribute's value: itself, the elements of
// its list or set, or the values of its map.
func objectsIn(value hclsyntax.Expression, nesting tfprotov6.SchemaObjectNestingMode) (objects []*hclsyntax.ObjectConsExpr) {
	switch v := value.(type) {
	case *hclsyntax.ParenthesesExpr:
		return objectsIn(v.Expression, nesting)
	case *hclsyntax.ConditionalExpr:
		return append(objectsIn(v.TrueResult, nesting), objectsIn(v.FalseResult, nesting)...)
	case *hclsyntax.ForExpr:
		return objectsIn(v.ValExpr, tfprotov6.SchemaObjectNestingModeSingle)
	case *hclsyntax.TupleConsExpr:
		for _, e := range v.Exprs {
			objects = append(objects, objectsIn(e, tfprotov6.SchemaObjectNestingModeSingle)...)
		}
	case *hclsyntax.ObjectConsExpr:
		if nesting != tfprotov6.SchemaObjectNestingModeMap {
			return []*hclsyntax.ObjectConsExpr{v}
		}
		for _, item := range v.Items {
			objects = append(objects, objectsIn(item.ValueExpr, tfprotov6.SchemaObjectNestingModeSingle)...)
		}
	}
	return objects
}

package acctest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// attributesWithoutStory are the attributes that no test sets in a
// configuration that is applied, with the reason.
var attributesWithoutStory = map[string]string{}

// TestEveryAttributeIsSet: each attribute that a configuration can set, at any
// depth, is set by an acceptance test or an example. Tests of bad input do not
// count.
//
// The tests' configurations are read from their source: constants, formats,
// and calls of functions that return text are followed. What stays open, such
// as an environment variable, is a blank in the configuration. An attribute
// counts for the type of the block that it is in. Lines without a block count
// for the only type that the function mentions and that has all of them.
func TestEveryAttributeIsSet(t *testing.T) {
	t.Parallel()
	uses := attributeUses{schemas: configurableSchemas(t), set: map[string]bool{}}
	uses.recordTests(t, ".")
	uses.recordExamples(t, "../examples")
	for _, problem := range uses.problems(attributesWithoutStory) {
		t.Error(problem)
	}
}

// problems are the attributes that are not set and no exception, and the
// exceptions that are none.
func (u attributeUses) problems(exceptions map[string]string) (list []string) {
	known := map[string]bool{}
	for kind, root := range u.schemas {
		root.collectPaths("", func(path string) {
			name := string(kind) + " " + path
			known[name] = true
			if !u.set[name] && exceptions[name] == "" {
				list = append(list, name+" is set by no acceptance test and no example")
			}
		})
	}
	for name := range exceptions {
		switch {
		case !known[name]:
			list = append(list, name+" is an exception, and no attribute")
		case u.set[name]:
			list = append(list, name+" is set: it needs no exception")
		}
	}
	slices.Sort(list)
	return list
}

// recordExamples records what the examples set.
func (u attributeUses) recordExamples(t *testing.T, root string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".tf") && !strings.HasSuffix(name, ".tfquery.hcl") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		u.recordText(strings.ReplaceAll(string(text), "%", "%%"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// refusals are words in the names of tests whose configurations are refused.
var refusals = regexp.MustCompile(`Bad|Typo|Refused|Unknown`)

// recordTests records what the acceptance tests in the folder set, and the
// functions that they call.
func (u attributeUses) recordTests(t *testing.T, folder string) {
	t.Helper()
	set := token.NewFileSet()
	r := textReader{functions: map[string][]*ast.FuncDecl{}, globals: map[string]ast.Expr{}}
	names, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		r.addFile(file)
	}
	reached := map[*ast.FuncDecl]bool{}
	for name, functions := range r.functions {
		if strings.HasPrefix(name, "TestAcc") && !refusals.MatchString(name) {
			r.reach(functions[0], reached)
		}
	}
	for f := range reached {
		u.recordFunction(r, f)
	}
}

// addFile adds the functions, constants and variables of a file.
func (r textReader) addFile(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.functions[d.Name.Name] = append(r.functions[d.Name.Name], d)
		case *ast.GenDecl:
			for name, values := range withAssignments(nil, d) {
				r.globals[name] = values[0]
			}
		}
	}
}

// reach adds the function to those reached, and the functions of the package
// that it calls.
func (r textReader) reach(f *ast.FuncDecl, reached map[*ast.FuncDecl]bool) {
	if reached[f] {
		return
	}
	reached[f] = true
	ast.Inspect(f, func(node ast.Node) bool {
		if ident, ok := node.(*ast.Ident); ok {
			for _, called := range r.functions[ident.Name] {
				if !strings.HasPrefix(ident.Name, "Test") {
					r.reach(called, reached)
				}
			}
		}
		return true
	})
}

// namedBlock is the head of a block of the provider.
var namedBlock = regexp.MustCompile(`(?m)^\s*(resource|data|ephemeral|list|action|provider) "(maaslxd\w*)"`)

// recordFunction records the texts in a function. A step whose configuration is
// refused does not count.
func (u attributeUses) recordFunction(r textReader, f *ast.FuncDecl) {
	scope := textScope{assigned: withAssignments(nil, f)}
	kinds, texts := map[blockKind]bool{}, map[string]bool{}
	called, settings := map[blockKind]bool{}, map[string]bool{}
	ast.Inspect(f, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CompositeLit:
			if slices.ContainsFunc(n.Elts, isRefusal) {
				return false
			}
			if text := attributesOfMap(n); text != "" {
				settings[text] = true
			}
		case *ast.CallExpr:
			u.recordCall(n, called)
			u.collectTexts(r.textsOf(n, scope), kinds, texts)
		case *ast.BasicLit, *ast.BinaryExpr:
			u.collectTexts(r.textsOf(n.(ast.Expr), scope), kinds, texts)
		}
		return true
	})
	for text := range texts {
		u.recordText(text)
		u.recordFragment(text, slices.Collect(maps.Keys(kinds)))
	}
	for text := range settings {
		u.recordFragment(text, slices.Collect(maps.Keys(called)))
	}
}

// collectTexts adds the texts, and the kinds of blocks in them.
func (u attributeUses) collectTexts(more []string, kinds map[blockKind]bool, texts map[string]bool) {
	for _, text := range more {
		for _, match := range namedBlock.FindAllStringSubmatch(text, -1) {
			if kind := blockKind(match[1] + " " + match[2]); u.schemas[kind] != nil {
				kinds[kind] = true
			}
		}
		if strings.Contains(text, "=") {
			texts[text] = true
		}
	}
}

// isRefusal reports whether the element is a step's ExpectError.
func isRefusal(element ast.Expr) bool {
	pair, ok := element.(*ast.KeyValueExpr)
	if !ok {
		return false
	}
	key, ok := pair.Key.(*ast.Ident)
	return ok && key.Name == "ExpectError"
}

// recordCall records the attributes in a call over the provider's protocol,
// and adds the kind of the action or list resource that it names.
func (u attributeUses) recordCall(call *ast.CallExpr, kinds map[blockKind]bool) {
	name := fmt.Sprint(call.Fun)
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		name = selector.Sel.Name
	}
	word := ""
	switch {
	case strings.HasPrefix(name, "invoke"):
		word = "action"
	case strings.HasPrefix(name, "list"):
		word = "list"
	}
	var kind blockKind
	for _, arg := range call.Args {
		switch a := arg.(type) {
		case *ast.BasicLit:
			if word != "" && strings.HasPrefix(a.Value, `"maaslxd_`) {
				kind = blockKind(word + " " + strings.Trim(a.Value, `"`))
				kinds[kind] = true
			}
		case *ast.CompositeLit:
			if u.schemas[kind] != nil {
				u.recordFragment(attributesOfMap(a), []blockKind{kind})
			}
		}
	}
}

// attributesOfMap is a map[string]any of the source as lines of a
// configuration, or empty.
func attributesOfMap(literal *ast.CompositeLit) string {
	kind, ok := literal.Type.(*ast.MapType)
	if !ok || fmt.Sprint(kind.Key, kind.Value) != "string any" {
		return ""
	}
	var lines strings.Builder
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		value := "1"
		if inner, ok := pair.Value.(*ast.CompositeLit); ok && attributesOfMap(inner) != "" {
			value = "{\n" + attributesOfMap(inner) + "}"
		}
		if key, ok := pair.Key.(*ast.BasicLit); ok {
			fmt.Fprintf(&lines, "%s = %s\n", strings.Trim(key.Value, `"`), value)
		}
	}
	return lines.String()
}

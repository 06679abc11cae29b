package v1beta1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestConditionsAreDocumented: each condition type and each reason has a
// sentence of its own, and a value that the API server takes.
func TestConditionsAreDocumented(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("conditions_*.go")
	if err != nil {
		t.Fatal(err)
	}
	types, reasons := 0, 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			for _, spec := range decl.(*ast.GenDecl).Specs {
				constant := spec.(*ast.ValueSpec)
				name := constant.Names[0].Name
				switch {
				case strings.HasSuffix(name, "Condition"):
					types++
				case strings.HasSuffix(name, "Reason"):
					reasons++
				default:
					t.Errorf("%s is neither a condition type nor a reason", name)
				}
				if doc := constant.Doc.Text(); !strings.HasPrefix(doc, name+": ") && !strings.HasPrefix(doc, name+" ") || !strings.HasSuffix(doc, ".\n") {
					t.Errorf("%s has no sentence that begins with its name: %q", name, doc)
				}
				value := strings.Trim(constant.Values[0].(*ast.BasicLit).Value, `"`)
				if errs := validation.IsQualifiedName(value); len(errs) > 0 {
					t.Errorf("%s is %q: %v", name, value, errs)
				}
			}
		}
	}
	if types < 15 || reasons < 50 {
		t.Errorf("found %d condition types and %d reasons; the files are not where they were", types, reasons)
	}
}

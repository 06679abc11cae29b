package controller

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
)

// parseFiles are the files of a pattern, without tests.
func parseFiles(t *testing.T, pattern string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "zz_") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// stringConstants are the string constants of files whose name or type ends so, by name.
func stringConstants(files map[string]*ast.File, ending string) map[string]string {
	found := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			value, ok := spec.Values[0].(*ast.BasicLit)
			if name := spec.Names[0].Name; ok && (strings.HasSuffix(name, ending) || kind != nil && kind.Name == ending) {
				found[name] = strings.Trim(value.Value, `"`)
			}
			return true
		})
	}
	return found
}

// visitUsedNames calls f with each name that a function of the file uses as a value: not
// what it compares others with.
func visitUsedNames(file *ast.File, f func(name string)) {
	var walk func(ast.Node) bool
	walk = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return false
		case *ast.BinaryExpr:
			return n.Op != token.EQL && n.Op != token.NEQ
		case *ast.CaseClause:
			for _, statement := range n.Body {
				ast.Inspect(statement, walk)
			}
			return false
		case *ast.Ident:
			f(n.Name)
		}
		return true
	}
	ast.Inspect(file, walk)
}

// TestReasonsAreSetAndDocumented: each reason is set somewhere and explained to
// users, and they are told of no other.
func TestReasonsAreSetAndDocumented(t *testing.T) {
	t.Parallel()
	api := parseFiles(t, "../api/v1beta1/conditions_*.go")
	reasons, types := stringConstants(api, "Reason"), stringConstants(api, "Condition")
	if len(reasons) < 50 || len(types) < 15 {
		t.Fatalf("found %d reasons and %d conditions; they are not where they were", len(reasons), len(types))
	}
	set := map[string]bool{}
	for _, pattern := range []string{"*.go", "*/*.go", "../identity/*.go", "../api/v1beta1/tolerant.go"} {
		for _, file := range parseFiles(t, pattern) {
			visitUsedNames(file, func(name string) { set[reasons[name]] = true })
		}
	}
	for name, kind := range stringConstants(parseFiles(t, "../../engine/errors.go"), "ErrorType") {
		if !slices.Contains(slices.Collect(maps.Values(reasons)), kind) {
			t.Errorf("the engine's error %s becomes a reason that the API does not have", name)
		}
		set[kind] = true
	}
	documented, sections := map[string]bool{}, map[string]bool{}
	for kind, conditions := range controllertest.DocumentedConditions(t) {
		for condition, why := range conditions {
			if !slices.Contains(slices.Collect(maps.Values(types)), condition) {
				t.Errorf("the documentation of %s tells of %s, which is no condition", kind, condition)
			}
			sections[condition] = true
			for _, reason := range why {
				documented[reason] = true
				if !slices.Contains(slices.Collect(maps.Values(reasons)), reason) {
					t.Errorf("the documentation of %s tells of %s of %s, which is no reason", kind, reason, condition)
				}
			}
		}
	}
	for name, condition := range types {
		if !sections[condition] {
			t.Errorf("no section of the documentation is about %s, %s", condition, name)
		}
	}
	for name, reason := range reasons {
		if !set[reason] {
			t.Errorf("%s is never set", name)
		}
		if !documented[reason] && name != "UnspecifiedReason" { // that is no reason of ours
			t.Errorf("no table of the documentation has %s", reason)
		}
	}
}

// documentedKinds are the kinds whose conditions a package sets.
var documentedKinds = map[string]string{"cluster": "MaasCluster", "machine": "MaasMachine"}

// TestReasonsOfConditions: the section of a condition has each reason that the code
// gives it by name.
func TestReasonsOfConditions(t *testing.T) {
	t.Parallel()
	api := parseFiles(t, "../api/v1beta1/conditions_*.go")
	reasons, types := stringConstants(api, "Reason"), stringConstants(api, "Condition")
	documented, pairs := controllertest.DocumentedConditions(t), 0
	for name, file := range parseFiles(t, "*/*.go") {
		visitConditionCalls(file, func(kind, reason, message ast.Expr) {
			condition, why := types[lastIdentifier(kind)], reasons[lastIdentifier(reason)]
			if condition == "" || why == "" {
				return // it is a variable
			}
			pairs++
			if of := documentedKinds[filepath.Dir(name)]; !slices.Contains(documented[of][condition], why) {
				t.Errorf("%s: the section of %s, of %q, has no %s", name, condition, of, why)
			}
			text, literal := message.(*ast.BasicLit)
			silent := condition == infrav1.DNSAttachedCondition || condition == infrav1.LXDVMDeployedCondition || why == infrav1.ReadyReason || why == infrav1.NotDeletingReason
			if literal && text.Value == `""` && !silent && outbox.NoteForCondition(&metav1.Condition{Reason: why}) == why {
				t.Errorf("%s: an event of %s would only say %s", name, condition, why)
			}
		})
	}
	if pairs < 30 {
		t.Errorf("only %d conditions are set by name", pairs)
	}
}

// visitConditionCalls calls f with each condition that is set, and with what.
func visitConditionCalls(file *ast.File, f func(kind, reason, message ast.Expr)) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		last := len(call.Args)
		switch lastIdentifier(call.Fun) {
		case "setTrue", "setFalse":
			f(call.Args[0], call.Args[last-2], call.Args[last-1])
		case "setCondition":
			if last == 4 {
				f(call.Args[0], call.Args[last-2], call.Args[last-1])
			}
		}
		return true
	})
}

// lastIdentifier is the last part of a name; empty for other expressions.
func lastIdentifier(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

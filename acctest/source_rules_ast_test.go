package acctest_test

import (
	"go/ast"
	"go/token"
	"slices"
)

// todoContexts is where the file calls context.TODO.
func todoContexts(s sourceFile) []string {
	var places []string
	ast.Inspect(s.file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && isSelector(selector, "context", "TODO") {
			places = append(places, s.positionOf(node))
		}
		return true
	})
	return places
}

// textMatchers are functions and methods that compare text.
var textMatchers = []string{
	"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Index", "EqualFold", "Split", "Cut",
	"MatchString", "FindString", "FindStringSubmatch",
}

// errorTextMatches is where the file decides by the text of err.Error().
func errorTextMatches(s sourceFile) []string {
	var places []string
	ast.Inspect(s.file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			selector, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains(textMatchers, selector.Sel.Name) && slices.ContainsFunc(n.Args, callsError) {
				places = append(places, s.positionOf(node))
			}
		case *ast.BinaryExpr:
			compares := n.Op == token.EQL || n.Op == token.NEQ
			if compares && (isErrorCall(n.X) || isErrorCall(n.Y)) {
				places = append(places, s.positionOf(node))
			}
		}
		return true
	})
	return places
}

// callsError reports whether the expression calls something.Error().
func callsError(expr ast.Expr) bool {
	found := false
	ast.Inspect(expr, func(node ast.Node) bool {
		e, ok := node.(ast.Expr)
		found = found || ok && isErrorCall(e)
		return !found
	})
	return found
}

// isErrorCall reports whether the expression is something.Error().
func isErrorCall(expr ast.Expr) bool {
	call, ok := expr.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Error"
}

// isSelector reports whether the selector is pkg.name.
func isSelector(selector *ast.SelectorExpr, pkg, name string) bool {
	ident, ok := selector.X.(*ast.Ident)
	return ok && ident.Name == pkg && selector.Sel.Name == name
}

// selfEvidentMethods are methods whose meaning the language defines.
var selfEvidentMethods = []string{"Error", "Unwrap"}

// undocumentedNames lists the file's exported names without a comment:
// functions, methods of exported types, types, constants and variables. A
// comment on a group covers its names. Error and Unwrap need none.
func undocumentedNames(s sourceFile) []string {
	if s.file.Name.Name == "main" {
		return nil // nobody can import package main
	}
	var places []string
	missing := func(node ast.Node, name *ast.Ident) {
		if name.IsExported() {
			places = append(places, s.positionOf(node)+": "+name.Name)
		}
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && isReachable(d) && !slices.Contains(selfEvidentMethods, d.Name.Name) {
				missing(d, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				reportUndocumentedSpec(d, spec, missing)
			}
		}
	}
	return places
}

// reportUndocumentedSpec reports the names of one type, constant or variable.
func reportUndocumentedSpec(group *ast.GenDecl, spec ast.Spec, missing func(ast.Node, *ast.Ident)) {
	switch n := spec.(type) {
	case *ast.ValueSpec:
		if group.Doc == nil && n.Doc == nil && n.Comment == nil {
			for _, name := range n.Names {
				missing(n, name)
			}
		}
	case *ast.TypeSpec:
		if group.Doc == nil && n.Doc == nil && n.Comment == nil {
			missing(n, n.Name)
		}
	}
}

// isReachable reports whether the declaration is a function, or a method of an
// exported type.
func isReachable(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}

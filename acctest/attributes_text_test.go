package acctest_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxTexts limits the texts of one expression that depends on variables with
// several values.
const maxTexts = 32

// maxCalls limits how deep calls are followed.
const maxCalls = 12

// textReader reads the texts that expressions of tests can have, without
// running them. Where it cannot know a part, the text has the verb %s.
type textReader struct {
	functions map[string][]*ast.FuncDecl // of the package, by name: methods of several types can share one
	globals   map[string]ast.Expr        // constants and variables of the package
}

// textScope is what names mean in a function: parameters with their texts, and
// expressions assigned to variables.
type textScope struct {
	texts    map[string][]string
	assigned map[string][]ast.Expr
	depth    int
	active   []*ast.FuncDecl // whose calls are being read: none is read within itself
}

// open is the text of what is not known.
var open = []string{"%s"}

// textsOf are the texts that the expression can have.
func (r textReader) textsOf(expr ast.Expr, in textScope) []string {
	if in.depth > maxCalls {
		return open
	}
	switch e := expr.(type) {
	case *ast.ParenExpr:
		return r.textsOf(e.X, in)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
		return []string{e.Value}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return combine("", r.textsOf(e.X, in), r.textsOf(e.Y, in))
		}
	case *ast.Ident:
		return r.textsOfName(e.Name, in)
	case *ast.SelectorExpr:
		return r.textsOfName(fieldName(e.Sel.Name), in)
	case *ast.CallExpr:
		return r.textsOfCall(e, in)
	case *ast.CompositeLit:
		return combine("\n", r.textsOfAll(e.Elts, in)...)
	}
	return open
}

// combine joins one text of each list, in all ways up to maxTexts.
func combine(separator string, lists ...[]string) []string {
	all := []string{""}
	for i, list := range lists {
		if i > 0 {
			list = prefixed(separator, list)
		}
		var longer []string
		for _, text := range all {
			for _, more := range list {
				longer = append(longer, text+more)
			}
		}
		all = longer[:min(len(longer), maxTexts)]
	}
	return all
}

func prefixed(prefix string, list []string) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = prefix + text
	}
	return out
}

// textsOfAll are the texts of each expression.
func (r textReader) textsOfAll(exprs []ast.Expr, in textScope) [][]string {
	var all [][]string
	for _, e := range exprs {
		all = append(all, r.textsOf(e, in))
	}
	return all
}

// textsOfName are the texts of a parameter, a variable or a constant.
func (r textReader) textsOfName(name string, in textScope) []string {
	if texts, ok := in.texts[name]; ok {
		return texts
	}
	in.depth++
	var all []string
	for _, value := range in.assigned[name] {
		all = append(all, r.textsOf(value, in)...)
	}
	if global := r.globals[name]; all == nil && global != nil {
		all = r.textsOf(global, textScope{depth: in.depth, active: in.active})
	}
	if all == nil {
		return open
	}
	return all[:min(len(all), maxTexts)]
}

// textsOfCall are the texts that a call returns: of the functions of fmt and
// strings that build texts, and of functions here that return an expression.
// Other functions are taken to return their arguments.
func (r textReader) textsOfCall(call *ast.CallExpr, in textScope) []string {
	in.depth++
	var name string
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
		if texts := r.textsOfClosures(in.assigned[name], call, in); texts != nil {
			return texts
		}
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if x, ok := f.X.(*ast.Ident); ok && (x.Name == "fmt" || x.Name == "strings") {
			return r.textsOfBuilder(name, r.textsOfAll(call.Args, in))
		}
		if texts := r.textsOfClosures(in.assigned[fieldName(name)], call, in); texts != nil {
			return texts
		}
	}
	for _, f := range r.functions[name] {
		if slices.Contains(in.active, f) {
			continue
		}
		scope := textScope{active: append(slices.Clone(in.active), f)}
		if texts := r.textsReturned(f.Type, f.Body, call, in, scope); strings.Trim(strings.Join(texts, ""), "%s") != "" {
			return texts
		}
	}
	return combine("\n", r.textsOfAll(call.Args, in)...)
}

// textsOfClosures are the texts that each of the functions returns.
func (r textReader) textsOfClosures(values []ast.Expr, call *ast.CallExpr, in textScope) (all []string) {
	for _, value := range values {
		switch f := value.(type) {
		case *ast.FuncLit:
			all = append(all, r.textsReturned(f.Type, f.Body, call, in, in)...)
		case *ast.Ident:
			if r.functions[f.Name] != nil && in.depth <= maxCalls {
				all = append(all, r.textsOfCall(&ast.CallExpr{Fun: f, Args: call.Args}, in)...)
			}
		}
	}
	return all[:min(len(all), maxTexts)]
}

// textsOfBuilder are the texts that a function of fmt or strings returns.
func (r textReader) textsOfBuilder(name string, args [][]string) []string {
	switch {
	case name == "Sprintf":
		return fillFormats(args[0], args[1:])
	case (name == "Replace" || name == "ReplaceAll") && len(args) >= 3:
		var out []string
		for _, text := range args[0] {
			for _, replacement := range args[2] {
				out = append(out, text, strings.ReplaceAll(text, args[1][0], replacement))
			}
		}
		return out[:min(len(out), maxTexts)]
	}
	return combine("\n", args...)
}

// formatVerb is a verb of fmt for a text.
var formatVerb = regexp.MustCompile(`%(?:\[(\d+)\])?([sv])`)

// anyVerb is a verb of fmt.
var anyVerb = regexp.MustCompile(`%(?:\[(\d+)\])?[a-z]`)

// fillFormats puts the arguments' texts into the formats, for %s and %v.
func fillFormats(formats []string, args [][]string) []string {
	var out []string
	for _, format := range formats {
		last, n := 0, 0
		parts := [][]string{}
		for _, at := range anyVerb.FindAllStringSubmatchIndex(format, -1) {
			verb := format[at[0]:at[1]]
			if at[2] >= 0 {
				n, _ = strconv.Atoi(format[at[2]:at[3]])
				n--
			}
			part := []string{verb}
			if formatVerb.MatchString(verb) && n < len(args) {
				part = args[n]
			}
			n++
			parts = append(parts, []string{format[last:at[0]]}, part)
			last = at[1]
		}
		out = append(out, combine("", append(parts, []string{format[last:]})...)...)
	}
	return out[:min(len(out), maxTexts)]
}

// textsReturned are the texts of the function's return statements, with the
// call's arguments for its parameters.
func (r textReader) textsReturned(ft *ast.FuncType, body *ast.BlockStmt, call *ast.CallExpr, caller, scope textScope) []string {
	scope = textScope{texts: map[string][]string{}, assigned: scope.assigned, active: scope.active, depth: caller.depth}
	at := 0
	for _, field := range ft.Params.List {
		_, variadic := field.Type.(*ast.Ellipsis)
		for _, name := range field.Names {
			switch {
			case variadic:
				scope.texts[name.Name] = combine("\n", r.textsOfAll(call.Args[min(at, len(call.Args)):], caller)...)
			case at < len(call.Args):
				scope.texts[name.Name] = r.textsOf(call.Args[at], caller)
			}
			at++
		}
	}
	if body == nil {
		return open
	}
	scope.assigned = withAssignments(scope.assigned, body)
	var all []string
	ast.Inspect(body, func(node ast.Node) bool {
		if _, inner := node.(*ast.FuncLit); inner {
			return false
		}
		if ret, ok := node.(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
			all = append(all, r.textsOf(ret.Results[0], scope)...)
		}
		return true
	})
	return all[:min(len(all), maxTexts)]
}

// fieldName is the name of a field among the names of variables.
func fieldName(field string) string { return "." + field }

// addFields adds the values that a table of structs gives to each field.
func addFields(table *ast.CompositeLit, add func(name string, value ast.Expr)) {
	var element ast.Expr
	switch kind := table.Type.(type) {
	case *ast.MapType:
		element = kind.Value
	case *ast.ArrayType:
		element = kind.Elt
	}
	row, ok := element.(*ast.StructType)
	if !ok {
		return
	}
	var fields []string
	for _, f := range row.Fields.List {
		for _, name := range f.Names {
			fields = append(fields, fieldName(name.Name))
		}
	}
	for _, element := range table.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			element = pair.Value
		}
		values, ok := element.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for i, value := range values.Elts {
			if pair, ok := value.(*ast.KeyValueExpr); ok {
				add(fieldName(fmt.Sprint(pair.Key)), pair.Value)
			} else if i < len(fields) {
				add(fields[i], value)
			}
		}
	}
}

// withAssignments are the assignments, and those in the body. Tables of structs
// assign their fields.
func withAssignments(outer map[string][]ast.Expr, body ast.Node) map[string][]ast.Expr {
	all := map[string][]ast.Expr{}
	for name, exprs := range outer {
		all[name] = exprs
	}
	add := func(name string, value ast.Expr) { all[name] = append(all[name], value) }
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CompositeLit:
			addFields(n, add)
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if ident, ok := left.(*ast.Ident); ok && len(n.Rhs) == len(n.Lhs) {
					add(ident.Name, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					add(name.Name, n.Values[i])
				}
			}
		}
		return true
	})
	return all
}

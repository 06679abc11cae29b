// Package surface compares what a client offers with what a package's tests call.
package surface

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// ListMethods returns the methods of all interfaces of one package that a type leads to:
// by its fields and by what its methods return. An example is "Machine.Deploy".
func ListMethods(root reflect.Type, pkg string) []string {
	var methods []string
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				if f := t.Field(i); f.Type.Kind() == reflect.Interface {
					walk(f.Type)
				}
			}
		case reflect.Interface:
			if seen[t] || t.PkgPath() != pkg {
				return
			}
			seen[t] = true
			for i := range t.NumMethod() {
				m := t.Method(i)
				methods = append(methods, t.Name()+"."+m.Name)
				for j := range m.Type.NumOut() {
					walk(m.Type.Out(j))
				}
			}
		}
	}
	walk(root)
	slices.Sort(methods)
	return methods
}

// CalledMethods returns the methods of a package's interfaces that the tests of the
// current directory call. It names them as [ListMethods] does.
func CalledMethods(pkg string) (map[string]bool, error) {
	fset := token.NewFileSet()
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	exports, err := exportFiles()
	if err != nil {
		return nil, err
	}
	info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s was not built", path)
		}
		return os.Open(exports[path])
	})}
	if _, err := config.Check("tests", fset, files, &info); err != nil {
		return nil, err
	}
	return collectCalls(files, &info, pkg), nil
}

// collectCalls collects the methods of a package's interfaces that files call.
func collectCalls(files []*ast.File, info *types.Info, pkg string) map[string]bool {
	called := map[string]bool{}
	for _, f := range files {
		for node := range ast.Preorder(f) {
			call, isCall := node.(*ast.CallExpr)
			if !isCall {
				continue
			}
			selector, isSelector := call.Fun.(*ast.SelectorExpr)
			if !isSelector || info.Selections[selector] == nil {
				continue
			}
			named, isNamed := info.Selections[selector].Recv().(*types.Named)
			if isNamed && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == pkg {
				called[named.Obj().Name()+"."+selector.Sel.Name] = true
			}
		}
	}
	return called
}

// exportFiles returns, for each package that the current directory's tests import, the
// file in which the compiler notes its types.
func exportFiles() (map[string]string, error) {
	var stdout, stderr bytes.Buffer
	list := exec.Command("go", "list", "-test", "-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	list.Stdout, list.Stderr = &stdout, &stderr
	if err := list.Run(); err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	exports := map[string]string{}
	for line := range strings.Lines(stdout.String()) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return exports, nil
}

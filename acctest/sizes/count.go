package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// size is how large a package is.
type size struct {
	folder    string         // path below the root, with slashes
	files     int            // without tests
	lines     int            // of those files
	testLines int            // of test files
	methods   map[string]int // number by type
	long      []function     // functions with more than maxLines
}

// function is a function or method, and its position.
type function struct {
	name  string
	file  string
	line  int
	lines int // from the line of "func" to that of the closing brace, inclusive
}

// countPackages counts all packages below the root, in the order of their
// folders.
func countPackages(root string) ([]*size, error) {
	sizes := map[string]*size{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != root && isSkipped(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		return countFile(sizes, root, path)
	})
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("there is no Go file below %s", root)
	}
	return slices.SortedFunc(maps.Values(sizes), func(a, b *size) int { return cmp.Compare(a.folder, b.folder) }), nil
}

// isSkipped reports whether a folder of that name is not counted: the go
// command ignores it, or it holds builds.
func isSkipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		slices.Contains([]string{"testdata", "bin", "dist"}, name)
}

// countFile adds a file to its package.
func countFile(sizes map[string]*size, root, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) || strings.HasPrefix(filepath.Base(path), "zz_") {
		return nil
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	folder = filepath.ToSlash(folder)
	if sizes[folder] == nil {
		sizes[folder] = &size{folder: folder, methods: map[string]int{}}
	}
	sizes[folder].addFile(set, file, bytes.Count(text, []byte("\n")))
	return nil
}

// addFile counts the lines of a file, and its declarations unless it is a test
// file.
func (s *size) addFile(set *token.FileSet, file *ast.File, lines int) {
	name := filepath.Base(set.Position(file.Package).Filename)
	if strings.HasSuffix(name, "_test.go") || importsTesting(file) {
		s.testLines += lines
		return
	}
	s.files++
	s.lines += lines
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			s.addFunction(set, d, name)
		case *ast.GenDecl:
			s.addInterfaces(d)
		}
	}
}

// importsTesting reports whether the file is for tests although its name does
// not say so.
func importsTesting(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` })
}

// addFunction counts a function, and as a method if it has a receiver.
func (s *size) addFunction(set *token.FileSet, d *ast.FuncDecl, file string) {
	name := d.Name.Name
	if d.Recv != nil {
		receiver := receiverName(d.Recv.List[0].Type)
		s.methods[receiver]++
		name = receiver + "." + name
	}
	begin := set.Position(d.Pos()).Line
	lines := set.Position(d.End()).Line - begin + 1
	if lines > maxLines {
		s.long = append(s.long, function{name: name, file: file, line: begin, lines: lines})
	}
}

// addInterfaces counts the methods that interfaces list themselves, without
// those of embedded interfaces.
func (s *size) addInterfaces(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, isType := spec.(*ast.TypeSpec)
		if !isType {
			continue
		}
		port, isInterface := t.Type.(*ast.InterfaceType)
		if !isInterface {
			continue
		}
		for _, field := range port.Methods.List {
			s.methods[t.Name.Name] += len(field.Names)
		}
	}
}

// receiverName is the type of a receiver, without its star and its type
// parameters.
func receiverName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

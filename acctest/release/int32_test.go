package release_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goPackage is a package as go list describes it.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	ImportMap               map[string]string
	Standard                bool
	Module                  *struct{ Main bool }
}

// TestIntOf32Bit: no constant of ours is too large for the 32-bit int of the
// targets 386 and arm. It only checks types, so it needs no second build.
func TestIntOf32Bit(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	checked := 0
	for _, p := range packages {
		if p.Module == nil || !p.Module.Main {
			continue
		}
		checked++
		for _, err := range checkTypes(t, p, packages) {
			t.Errorf("%s does not build for 386: %v", p.ImportPath, err)
		}
	}
	if checked == 0 {
		t.Error("no package of ours was checked")
	}
}

// listPackages lists the packages of the provider and the simulator, by import
// path.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-trimpath", "-deps", "-export",
		"-json=ImportPath,Dir,Export,GoFiles,ImportMap,Standard,Module", "./terraform-provider-maaslxd", "./acctest/maassim")
	list.Dir, list.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]goPackage{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// checkTypes returns what the compiler for 386 would refuse in the package.
func checkTypes(t *testing.T, p goPackage, packages map[string]goPackage) (refused []error) {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{
		Sizes: types.SizesFor("gc", "386"),
		Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(packages[path].Export)
		}),
		Error: func(err error) { refused = append(refused, err) },
	}
	config.Check(p.ImportPath, set, files, nil) //nolint:errcheck // the callback gets all errors
	return refused
}

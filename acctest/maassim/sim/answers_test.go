package sim_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fileWords are the words of os and io/fs that the simulator may use: interfaces to files,
// none of which opens a file.
var fileWords = []string{
	"fs.DirEntry", "fs.ErrNotExist", "fs.FileInfo", "fs.FileMode", "fs.ModeDir", "fs.PathError",
	"os.FileMode", "os.O_APPEND", "os.O_CREATE", "os.O_RDWR", "os.O_WRONLY",
}

// TestAnswersFromState checks that the simulator answers from its state. It opens no
// files, so it cannot contain recorded answers. It embeds only the list of MAAS's
// operations.
func TestAnswersFromState(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"surface/operations.go": true}
	forbidden := []string{"embed", "io/ioutil", "path/filepath", "os/exec"}
	files := 0
	for _, name := range sources(t) {
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imports := map[string]bool{} // os and fs, by their names in the file
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || slices.Contains(forbidden, path) && !allowed[name] {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
			if (path == "os" || path == "io/fs") && spec.Name != nil {
				t.Errorf("%s gives %s another name", name, path)
			}
			imports["os"] = imports["os"] || path == "os"
			imports["fs"] = imports["fs"] || path == "io/fs"
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if s, ok := node.(*ast.SelectorExpr); ok {
				if from, ok := s.X.(*ast.Ident); ok && imports[from.Name] && !slices.Contains(fileWords, from.Name+"."+s.Sel.Name) {
					t.Errorf("%s uses %s.%s", name, from.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
	if files < 100 {
		t.Errorf("only %d sources here", files)
	}
}

// sources are the non-test files of all packages of the simulator.
func sources(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

package sim_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fileWords are what the simulator may say of os and io/fs: the words of an
// interface to files, none of which opens one.
var fileWords = []string{
	"fs.DirEntry", "fs.ErrNotExist", "fs.FileInfo", "fs.FileMode", "fs.ModeDir", "fs.PathError",
	"os.FileMode", "os.O_APPEND", "os.O_CREATE", "os.O_RDWR", "os.O_WRONLY",
}

// TestAnswersFromState holds the simulator to answering from its state: it
// reads no files and embeds none, so no recorded answer can be in it.
func TestAnswersFromState(t *testing.T) {
	t.Parallel()
	forbidden := []string{"embed", "io/ioutil", "path/filepath", "os/exec"}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
			if (path == "os" || path == "io/fs") && spec.Name != nil {
				t.Errorf("%s gives %s another name", name, path)
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if s, ok := node.(*ast.SelectorExpr); ok {
				if from, ok := s.X.(*ast.Ident); ok && (from.Name == "os" || from.Name == "fs") && !slices.Contains(fileWords, from.Name+"."+s.Sel.Name) {
					t.Errorf("%s uses %s.%s", name, from.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
	if files == 0 {
		t.Error("no sources here")
	}
}

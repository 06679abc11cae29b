package acctest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/cli"
)

// maxLines is the most lines of a file. A longer file holds more than one
// concept.
const maxLines = 450

// sourceFile is a non-test, hand-written Go file of the module.
type sourceFile struct {
	name  string // path below the root
	lines int
	set   *token.FileSet
	file  *ast.File
}

// positionOf is the position of the node, for people.
func (s sourceFile) positionOf(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.set.Position(node.Pos()).Line)
}

// TestFilesAreShort limits the length of files.
func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, s := range ourSources(t) {
		if s.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by concept or verb", s.name, s.lines, maxLines)
		}
	}
}

// TestNoContextTODO: code without a context has a design question, not a TODO.
func TestNoContextTODO(t *testing.T) {
	t.Parallel()
	for _, s := range ourSources(t) {
		for _, place := range todoContexts(s) {
			t.Errorf("%s: context.TODO(); take a ctx as the first parameter", place)
		}
	}
}

// TestErrorsAreMatchedByType: the text of an error is for people and may
// change.
func TestErrorsAreMatchedByType(t *testing.T) {
	t.Parallel()
	for _, s := range ourSources(t) {
		for _, place := range errorTextMatches(s) {
			t.Errorf("%s: an error is matched by its text; use errors.Is or errors.As", place)
		}
	}
}

// TestExportedIsDocumented wants a comment for every exported name and every
// package.
func TestExportedIsDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{} // packages with a comment, by folder
	for _, s := range ourSources(t) {
		folder := filepath.Dir(s.name)
		documented[folder] = documented[folder] || s.file.Doc.Text() != ""
		for _, place := range undocumentedNames(s) {
			t.Errorf("%s is exported and has no comment", place)
		}
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment", folder)
		}
	}
}

// TestPackageNames refuses package names that say nothing.
func TestPackageNames(t *testing.T) {
	t.Parallel()
	vague := []string{"util", "utils", "common", "shared", "helper", "helpers", "misc", "base"}
	for _, p := range ourPackages(t) {
		for part := range strings.SplitSeq(p.folder()+"/"+p.Name, "/") {
			if slices.Contains(vague, part) {
				t.Errorf("%s: the name %q says nothing about the contents; name the concept", p.folder(), part)
			}
		}
	}
}

// programWrites finds the call by which a test writes a program itself, if it is on one line.
var programWrites = regexp.MustCompile(`os\.WriteFile\(.*, 0o7[0-7]{2}\)`)

// TestProgramsAreWritten wants the programs of tests written by
// executable.WriteProgram. A test that writes one itself fails once in a thousand
// runs.
func TestProgramsAreWritten(t *testing.T) {
	t.Parallel()
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(repositoryRoot(t), name))
		if os.IsNotExist(err) {
			continue // it is deleted and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range programWrites.FindAll(text, -1) {
			t.Errorf("%s: %s: use executable.WriteProgram", name, found)
		}
	}
}

// TestTopLevel: the list of the repository's top level is fixed. Dotfiles and
// untracked files do not count.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "GNUmakefile", "LICENSE", "NOTICE", "go.mod", "go.sum", "terraform-registry-manifest.json",
		"terraform-provider-maaslxd", "capi-bridge", "engine", "cloudinit", "acctest", "examples", "docs",
	}
	seen := map[string]bool{}
	for _, file := range repositoryFiles(t) {
		name, _, _ := strings.Cut(file, "/")
		if seen[name] {
			continue
		}
		seen[name] = true
		if !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) {
			t.Errorf("%s does not belong at the top level; allowed are %s", name, strings.Join(allowed, ", "))
		}
	}
}

// TestHouseRulesBite breaks each rule on purpose.
func TestHouseRulesBite(t *testing.T) {
	t.Parallel()
	bad := parseSource(t, "bad.go", []byte(`package bad
import ("context"; "regexp"; "strings")
var re = regexp.MustCompile("x")
func Naked(err error) bool {
	_ = context.TODO()
	return strings.Contains(strings.ToLower(err.Error()), "x") || err.Error() == "x" || re.MatchString(err.Error())
}
type Bare struct{}
func (Bare) Method() {}
type Port interface { Read() }
func (Bare) Error() string { return "" }
const Limit = 1
`))
	if got := len(todoContexts(bad)); got != 1 {
		t.Errorf("found %d context.TODO, want 1", got)
	}
	if got := len(errorTextMatches(bad)); got != 3 {
		t.Errorf("found %d matches of error text, want 3", got)
	}
	if got := undocumentedNames(bad); len(got) != 5 {
		t.Errorf("found %d undocumented names, want 5: %q", len(got), got)
	}
	if planted := "os.Write" + "File(path, nil, 0o755)"; !programWrites.MatchString(planted) {
		t.Errorf("%s is not found", planted)
	}
	good := parseSource(t, "good.go", []byte(`package good
import "errors"
// Documented is.
func Documented(err error) string { if errors.Is(err, nil) { return "" }; return err.Error() }
// The limits.
const ( Low = 1; High = 2 )
type hidden struct{}
func (hidden) Method() {}
`))
	if got := slices.Concat(todoContexts(good), errorTextMatches(good), undocumentedNames(good)); len(got) != 0 {
		t.Errorf("found fault with clean code: %q", got)
	}
}

// ourSources are the hand-written files that are not tests, for any platform or
// build tag.
func ourSources(t *testing.T) []sourceFile {
	t.Helper()
	sources, err := allSources()
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// allSources parses the files once for all tests, which only read them.
var allSources = sync.OnceValues(func() ([]sourceFile, error) {
	root, err := cli.Root(context.Background())
	if err != nil {
		return nil, err
	}
	packages, err := allPackages()
	if err != nil {
		return nil, err
	}
	var sources []sourceFile
	for _, p := range packages {
		of, err := sourcesIn(root, p.Dir)
		if err != nil {
			return nil, err
		}
		sources = append(sources, of...)
	}
	if len(sources) == 0 {
		return nil, errors.New("no Go file was found to check")
	}
	return sources, nil
})

// sourcesIn parses the files of a folder.
func sourcesIn(root, folder string) ([]sourceFile, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var sources []sourceFile
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "zz_") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		short, err := filepath.Rel(root, name)
		if err != nil {
			return nil, err
		}
		s, err := parseText(short, text)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// parseSource parses a file that a test gives.
func parseSource(t *testing.T, name string, text []byte) sourceFile {
	t.Helper()
	s, err := parseText(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parseText(name string, text []byte) (sourceFile, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	return sourceFile{name: name, lines: bytes.Count(text, []byte("\n")), set: set, file: file}, err
}

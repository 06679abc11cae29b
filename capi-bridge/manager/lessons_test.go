package manager_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLessonsAreHeld: each row of docs/design/lessons.md names tests, and all of them are
// there.
func TestLessonsAreHeld(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/design/lessons.md")
	if err != nil {
		t.Fatal(err)
	}
	have := listTests(t, "../..")
	named, rows := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`"), 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| CAPMaaS") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test holds the lesson %s", line)
		}
		for _, test := range tests {
			if !have[test[1]] {
				t.Errorf("there is no %s, which is to hold the lesson %s", test[1], line)
			}
		}
	}
	if rows < 13 {
		t.Errorf("there are %d lessons; some were lost", rows)
	}
}

// listTests are the names of all tests below a folder.
func listTests(t *testing.T, root string) map[string]bool {
	t.Helper()
	all, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(text, -1) {
			all[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Package controllertest holds what the tests of several controllers share.
package controllertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ConditionRows returns the documentation's table rows about conditions.
func ConditionRows(t *testing.T) []string {
	t.Helper()
	var rows []string
	for file, begin := range map[string]string{"states.md": "## MaasMachine\n", "manager.md": "## Conditions of a MaasCluster\n"} {
		text, err := os.ReadFile(filepath.Join(docsFolder(t), file))
		if err != nil {
			t.Fatal(err)
		}
		_, section, ok := strings.Cut(string(text), begin)
		if !ok {
			t.Fatalf("%s has no section %q", file, begin)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "|") {
				rows = append(rows, line)
			}
		}
	}
	return rows
}

// docsFolder is the folder of the documentation.
func docsFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for range strings.Count(dir, string(filepath.Separator)) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "docs")
}

var capitalisedWord = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// CapitalisedWords returns the capitalised words in the rows.
func CapitalisedWords(rows []string) map[string]bool {
	all := map[string]bool{}
	for _, row := range rows {
		for _, word := range capitalisedWord.FindAllString(row, -1) {
			all[word] = true
		}
	}
	return all
}

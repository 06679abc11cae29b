// Package controllertest holds what the tests of several controllers share.
package controllertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// DocumentedConditions are the reasons that the documentation lists, by kind and
// condition.
func DocumentedConditions(t *testing.T) map[string]map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(documentation(t), "reference", "conditions.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]map[string][]string{}
	kind, condition := "", ""
	for line := range strings.Lines(string(text)) {
		if heading := kindHeading.FindStringSubmatch(line); heading != nil {
			kind, condition = heading[1], ""
			kinds[kind] = map[string][]string{}
		}
		if heading := conditionHeading.FindStringSubmatch(line); heading != nil && kind != "" {
			condition = heading[1]
			kinds[kind][condition] = []string{}
		}
		if condition == "" || !strings.HasPrefix(line, "| `") {
			continue
		}
		if row := reasonRow.FindStringSubmatch(line); row != nil {
			kinds[kind][condition] = append(kinds[kind][condition], row[1])
		} else {
			t.Errorf("%s of %s has no reason, status, sentence and advice in the row %s", condition, kind, line)
		}
	}
	return kinds
}

var (
	kindHeading      = regexp.MustCompile(`^## (\w+)\s`)
	conditionHeading = regexp.MustCompile("^### `(\\w+)`\\s")
	reasonRow        = regexp.MustCompile("^\\| `(\\w+)` \\| (?:True|False|Unknown) \\| \\S.*[.] \\| \\S.*[.] \\|\\s")
)

// documentation is the folder of the documentation.
func documentation(t *testing.T) string {
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

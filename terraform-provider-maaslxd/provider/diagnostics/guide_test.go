package diagnostics

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuideURLs: each section of a guide that a message names exists.
func TestGuideURLs(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`GuideURL\("([^"]+)", "([^"]+)"\)`)
	count := 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			count++
			page, err := os.ReadFile("../../../docs/guides/" + found[1] + ".md")
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			heading := regexp.MustCompile(`(?mi)^#+ ` + strings.ReplaceAll(found[2], "-", "[ -]") + `$`)
			if !heading.Match(page) {
				t.Errorf("%s: the guide %s has no section %q", path, found[1], found[2])
			}
		}
		return err
	})
	if err != nil || count < 4 {
		t.Errorf("found %d sections of guides, want 4 or more: %v", count, err)
	}
}

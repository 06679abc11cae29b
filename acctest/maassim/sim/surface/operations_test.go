package surface

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
)

// TestOperationsDocumented compares the list with MAAS's own document, that of 3.4.10, if
// a folder of recordings has it.
func TestOperationsDocumented(t *testing.T) {
	folder := os.Getenv("MAAS_RECORDINGS")
	if folder == "" {
		t.Skip("MAAS_RECORDINGS names no folder with MAAS's openapi.yaml")
	}
	text, err := os.ReadFile(filepath.Join(folder, "openapi.yaml"))
	if err != nil {
		t.Skipf("no document of MAAS: %v", err)
	}
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, o := range Operations() {
		if o.ExistsIn(versions.V34) {
			listed[o.key()] = true
		}
	}
	documented := 0
	for path, methods := range document.Paths {
		for method := range methods {
			if !slices.Contains([]string{"get", "post", "put", "delete"}, method) {
				continue
			}
			documented++
			base, op := splitDocumented(path)
			if key := keyOf(strings.ToUpper(method), base, op); !listed[key] {
				t.Errorf("operations.txt lacks %s", key)
			}
		}
	}
	if documented < 300 {
		t.Errorf("only %d operations found in the document", documented)
	}
}

var documentedOp = regexp.MustCompile(`^(.*[/}])op-(\w+)$`)

// splitDocumented splits a path of the document: "/users/op-whoami" is op=whoami of
// users/.
func splitDocumented(path string) (base, op string) {
	path = strings.TrimPrefix(path, "/")
	if parts := documentedOp.FindStringSubmatch(path); parts != nil {
		return parts[1], parts[2]
	}
	return path, ""
}

func TestOperationsOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, o := range Operations() {
		if seen[o.key()] {
			t.Errorf("%s is listed twice", o)
		}
		seen[o.key()] = true
		if !versions.IsAtLeast(o.last, o.first) {
			t.Errorf("%s ends in %s, before %s", o, o.last, o.first)
		}
	}
}

func TestParseOperationRefuses(t *testing.T) {
	t.Parallel()
	for reason, line := range map[string]string{
		"a field is missing":          "GET users/ -",
		"there are too many fields":   "GET users/ - * 410 x",
		"no such status":              "GET users/ - * 404",
		"no such version":             "GET users/ - 2.9..3.8",
		"the last version is unknown": "GET users/ - 3.4..9",
	} {
		if o, err := parseOperation(strings.Fields(line)); err == nil {
			t.Errorf("%s: %q is read as %v", reason, line, o)
		}
	}
}

package manager

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// ledgerMetrics are the names in the source of the ledger service.
var ledgerMetrics = regexp.MustCompile(`Name: "(maaslxd_ledger_\w+)"`)

// TestMetricsAreDocumented: the page has each metric of the manager and of the ledger
// service, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{} // its labels
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\w+ \\| *([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = strings.NewReplacer("`", "", " ", "").Replace(row[2])
	}
	want := managerMetrics(t)
	for name, labels := range want {
		if got, ok := documented[name]; !ok || got != labels {
			t.Errorf("the page says of %s the labels %q (%v), want %q", name, got, ok, labels)
		}
	}
	names := slices.Collect(maps.Keys(want))
	sources, err := filepath.Glob("../ledger/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no source of the ledger service: %v", err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range ledgerMetrics.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("metrics (-code +page):\n%s", diff)
	}
}

// managerMetrics are the labels of the manager's metrics, by name.
func managerMetrics(t *testing.T) map[string]string {
	t.Helper()
	var has collectors
	if err := NewMetrics().Register(&has); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	parts := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{(.*?)\}`)
	for _, c := range has.all {
		described := make(chan *prometheus.Desc, 8)
		c.Describe(described)
		close(described)
		for d := range described {
			found := parts.FindStringSubmatch(d.String())
			if found == nil {
				t.Fatalf("%s has no name", d)
			}
			all[found[1]] = found[2]
		}
	}
	return all
}

// collectors keeps what is registered.
type collectors struct {
	prometheus.Registerer
	all []prometheus.Collector
}

func (c *collectors) Register(one prometheus.Collector) error {
	c.all = append(c.all, one)
	return nil
}

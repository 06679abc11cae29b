package realmaas_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// TestSweep removes what has the prefix of the run, and leaves MAAS as it was found:
// an operator's web, and metal of any name.
func TestSweep(t *testing.T) {
	t.Parallel()
	const prefix = "tf-acc-0001-"
	m := lentWorld()
	m.Tags = []string{"rack", "web"}
	c, s := open(t, m)
	compose := func(name string) {
		if _, err := c.Do(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", url.Values{"hostname": {name}, "skip_commissioning": {"true"}}); err != nil {
			t.Fatal(err)
		}
	}
	compose("web-1") // an operator's VM
	before, instances := inventory(t, c), s.Instances()
	compose(prefix + "web")
	for path, name := range map[string]string{"zones/": "z", "resourcepools/": "p", "domains/": "d", "tags/": "t"} {
		if _, err := c.Do(t.Context(), http.MethodPost, path, url.Values{"name": {prefix + name}}); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := c.Sweep(t.Context(), prefix)
	if err != nil || len(removed) != 5 {
		t.Errorf("removed %q, %v", removed, err)
	}
	if diff := cmp.Diff(before, inventory(t, c)); diff != "" {
		t.Errorf("MAAS is not as it was (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(instances, s.Instances()); diff != "" {
		t.Errorf("LXD is not as it was (-before +after):\n%s", diff)
	}
	if _, err := c.Sweep(t.Context(), ""); err == nil {
		t.Error("a sweep without a prefix is no error")
	}
}

// inventory is what a MAAS has.
func inventory(t *testing.T, c *realmaas.Client) []string {
	t.Helper()
	lines, err := c.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

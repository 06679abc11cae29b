package realmaas_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// TestSweepLeavesLent leaves a lent machine alone by its id, even a VM that a
// story has renamed.
func TestSweepLeavesLent(t *testing.T) {
	t.Parallel()
	const prefix = "tf-acc-0001-"
	c, s := openMAAS(t, lentModel())
	for _, name := range []string{"node7", "web-1"} {
		form := url.Values{"hostname": {name}, "skip_commissioning": {"true"}}
		if _, err := c.Send(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", form); err != nil {
			t.Fatal(err)
		}
	}
	lent := findMachine(t, c, "node7")
	if lent.PowerType != "lxd" {
		t.Fatalf("its power is %s", lent.PowerType)
	}
	if err := c.Change(t.Context(), lent.SystemID, url.Values{"hostname": {prefix + "renamed"}, "description": {"maaslxd-0a tf-acc/" + prefix + "renamed"}}); err != nil {
		t.Fatal(err)
	}
	before, instances := readInventory(t, c), s.Instances()
	removed, err := c.Sweep(t.Context(), prefix, lent.SystemID)
	if want := []string{"tag tf-acc-0001-a"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v, want %q", removed, err, want)
	}
	before = slices.DeleteFunc(before, func(line string) bool { return line == "tags/tf-acc-0001-a" })
	if diff := cmp.Diff(before, readInventory(t, c)); diff != "" {
		t.Errorf("MAAS is not as it was (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(instances, s.Instances()); diff != "" {
		t.Errorf("LXD is not as it was (-before +after):\n%s", diff)
	}
}

// TestSweepFindsParked removes a VM that has its parking name when the run
// ends. It leaves such VMs of other runs and of other owners.
func TestSweepFindsParked(t *testing.T) {
	t.Parallel()
	const prefix = "tf-acc-0001-"
	m := lentModel()
	m.Tags = []string{"rack", "web"}
	c, _ := openMAAS(t, m)
	for name, description := range map[string]string{
		"maaslxd-aaaaaa": "a note\nmaaslxd-0a1b tf-acc/" + prefix + "web (in progress)",
		"maaslxd-bbbbbb": "maaslxd-0a1b tf-acc/tf-acc-0002-web",
		"maaslxd-cccccc": "see tf-acc/" + prefix + "web",
		"maaslxd-dddddd": "",
	} {
		form := url.Values{"hostname": {name}, "skip_commissioning": {"true"}}
		if _, err := c.Send(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", form); err != nil {
			t.Fatal(err)
		}
		if err := c.Change(t.Context(), findMachine(t, c, name).SystemID, url.Values{"description": {description}}); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := c.Sweep(t.Context(), prefix)
	if want := []string{"machine maaslxd-aaaaaa"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v, want %q", removed, err, want)
	}
}

// TestSweepGoesOn removes as much as it can where MAAS refuses something.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	const prefix = "tf-acc-0001-"
	c, s := openMAAS(t, lentModel())
	if _, err := c.Send(t.Context(), http.MethodPost, "zones/", url.Values{"name": {prefix + "z"}}); err != nil {
		t.Fatal(err)
	}
	s.AddFault(sim.Fault{Method: http.MethodGet, Path: "machines/", Kind: sim.FaultStatus, Status: http.StatusInternalServerError})
	removed, err := c.Sweep(t.Context(), prefix)
	if want := []string{"tag tf-acc-0001-a", "zone tf-acc-0001-z"}; err == nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v, want %q and the error", removed, err, want)
	}
}

// TestSweep removes what has the prefix of the run, and leaves the rest of
// MAAS: an operator's VM, and bare metal of any name.
func TestSweep(t *testing.T) {
	t.Parallel()
	const prefix = "tf-acc-0001-"
	m := lentModel()
	m.Tags = []string{"rack", "web"}
	c, s := openMAAS(t, m)
	compose := func(name string) {
		if _, err := c.Send(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", url.Values{"hostname": {name}, "skip_commissioning": {"true"}}); err != nil {
			t.Fatal(err)
		}
	}
	compose("web-1") // an operator's VM
	before, instances := readInventory(t, c), s.Instances()
	compose(prefix + "web")
	for path, name := range map[string]string{"zones/": "z", "resourcepools/": "p", "domains/": "d", "tags/": "t"} {
		if _, err := c.Send(t.Context(), http.MethodPost, path, url.Values{"name": {prefix + name}}); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := c.Sweep(t.Context(), prefix)
	if err != nil || len(removed) != 5 {
		t.Errorf("removed %q, %v", removed, err)
	}
	if diff := cmp.Diff(before, readInventory(t, c)); diff != "" {
		t.Errorf("MAAS is not as it was (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(instances, s.Instances()); diff != "" {
		t.Errorf("LXD is not as it was (-before +after):\n%s", diff)
	}
	if _, err := c.Sweep(t.Context(), ""); err == nil {
		t.Error("a sweep without a prefix is no error")
	}
}

// readInventory is the inventory of a MAAS.
func readInventory(t *testing.T, c *realmaas.Client) []string {
	t.Helper()
	lines, err := c.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

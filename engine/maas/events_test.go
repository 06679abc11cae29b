package maas

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestFirstBootFailures reads what failed since the last deployment, and
// nothing else.
func TestFirstBootFailures(t *testing.T) {
	t.Parallel()
	const events = `{"count":6,"events":[
		{"type":"Node post-installation failure","description":"'cloudinit' maaslxd: there is no pool"},
		{"type":"Node post-installation failure","description":"'cloudinit' running config-lxd"},
		{"type":"Node post-installation failure","description":"'curtin' something else"},
		{"type":"Marked broken","description":"'cloudinit' by hand"},
		{"type":"Deployed","description":""},
		{"type":"Node post-installation failure","description":"'cloudinit' of an earlier deployment"}]}`
	f := always(200, "application/json", events)
	got, err := testClient(t, f).Events.FirstBootFailures(t.Context(), "abc")
	want := []string{"running config-lxd", "maaslxd: there is no pool"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("-want +got:\n%s%v", diff, err)
	}
	if diff := cmp.Diff([]string{"GET events/?id=abc&level=INFO&limit=200&op=query"}, f.routes()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFirstBootFailuresOfTheSimulator: a machine that says nothing.
func TestFirstBootFailuresOfTheSimulator(t *testing.T) {
	t.Parallel()
	c := simulated(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1", Cores: 1, MemoryMiB: 1024, Status: "Deployed"}}})
	m := only(t, c, engine.MachineFilter{Status: engine.StatusDeployed})
	if got, err := c.Events.FirstBootFailures(t.Context(), m.SystemID); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

package acctest_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowActionTimeouts limits each action. When MAAS does not answer in
// time, the error names the limit.
func TestAccWorkflowActionTimeouts(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	withHosts := newSimulatedTarget(t)
	for _, world := range []*sim.Server{x.simulatorOrSkip(), withHosts.simulatorOrSkip()} {
		for _, path := range []string{"machines/", "machines/**", "vm-hosts/", "vm-hosts/**"} {
			world.AddFault(sim.Fault{Path: path, Kind: sim.FaultHang})
		}
	}
	wantTimeUp := func(_ []string, failure string) {
		t.Helper()
		if !wordsPattern("The time is up; timeouts.invoke allows more").MatchString(failure) {
			t.Errorf("want the limit to be named, got %q", failure)
		}
	}
	wantTimeUp(withHosts.invokeAction(t, "maaslxd_power", map[string]any{"machine": "web", "power": "on", "timeouts": map[string]any{"invoke": "1s"}}))
	wantTimeUp(withHosts.invokeAction(t, "maaslxd_commission", map[string]any{"machine": "node1", "timeouts": map[string]any{"invoke": "1s"}}))
	wantTimeUp(withHosts.invokeAction(t, "maaslxd_rescue", map[string]any{"machine": "web", "rescue": "enter", "timeouts": map[string]any{"invoke": "1s"}}))
	wantTimeUp(withHosts.invokeAction(t, "maaslxd_redeploy", map[string]any{"machine": "web", "timeouts": map[string]any{"invoke": "1s"}}))
	wantTimeUp(withHosts.invokeAction(t, "maaslxd_vm_host_refresh", map[string]any{"vm_host": "lxd1", "timeouts": map[string]any{"invoke": "1s"}}))
	wantTimeUp(x.invokeReachingLXD(t, "maaslxd_snapshot", map[string]any{"machine": "web", "name": "s", "timeouts": map[string]any{"invoke": "1s"}}))
	wantTimeUp(x.invokeReachingLXD(t, "maaslxd_restore", map[string]any{"machine": "web", "name": "s", "timeouts": map[string]any{"invoke": "1s"}}))
}

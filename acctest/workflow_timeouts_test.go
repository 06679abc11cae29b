package acctest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// wantTimeUp runs a command while MAAS does not answer some calls. The error
// says what allows more time.
func (w workspace) wantTimeUp(t *testing.T, x *metalTarget, wayOut string, methods []string, paths []string, args ...string) {
	t.Helper()
	for _, method := range methods {
		for _, path := range paths {
			x.simulatorOrSkip().AddFault(sim.Fault{Method: method, Path: path, Kind: sim.FaultHang})
		}
	}
	cmd, out := w.command(t.Context(), append(args, "-no-color")...)
	if err := cmd.Run(); err == nil || !wordsPattern("The time is up; "+wayOut).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want an error with %s, got %v:\n%s", wayOut, err, out)
	}
	x.simulatorOrSkip().ClearFaults()
}

// TestAccWorkflowTimeouts limits each operation of each resource. A change of
// the limits calls nobody. When MAAS does not answer in time, the error names
// the limit, and with more time the operation succeeds.
func TestAccWorkflowTimeouts(t *testing.T) {
	t.Parallel()
	const limits = `timeouts = { create = "10m", read = "2m", update = "10m", delete = "10m" }`
	short := func(operation, long, time string) string {
		return strings.Replace(limits, operation+` = "`+long+`"`, operation+` = "`+time+`"`, 1)
	}
	changes := []string{http.MethodPut, http.MethodPost, http.MethodDelete}
	for title, tc := range map[string]struct {
		address string
		with    func(lines ...string) string
		change  string
	}{
		"VM": {"maaslxd_vm.test", func(lines ...string) string {
			return hostOnNode1(`timeouts = { read = "20s" }`) + vmOnTestHost("web", lines...)
		}, `zone = "az2"`},
		"Host":    {hostAddress, hostOnNode1, `tags = ["a"]`},
		"Machine": {machineAddress, machineOnNode1, `zone = "az2"`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(tc.with(limits)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			w.configure(t, x.config(tc.with(short("update", "10m", "2s"), tc.change)))
			w.wantTimeUp(t, x, "timeouts.update allows more", changes, []string{"machines/**", "vm-hosts/**", "tags/**"}, "apply", "-auto-approve")
			w.run(t, "apply", "-auto-approve")
			w.configure(t, x.config(tc.with(short("read", "2m", "2s"), tc.change)))
			if got := joinActions(w.planActionsOn(t, tc.address)); got != "update" {
				t.Errorf("other limits are %s", got)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantTimeUp(t, x, "timeouts.read allows more set timeouts.read and run terraform apply -refresh=false", []string{http.MethodGet}, []string{"machines/", "machines/**", "vm-hosts/", "vm-hosts/**"}, "plan")
			w.configure(t, x.config(tc.with(short("delete", "10m", "2s"))))
			w.run(t, "apply", "-refresh=false", "-auto-approve", "-no-color")
			w.wantTimeUp(t, x, "timeouts.delete allows more", changes, []string{"machines/**"}, "destroy", "-auto-approve")
			for range 10 { // each destroy continues, for two seconds
				if cmd, _ := w.command(t.Context(), "destroy", "-auto-approve", "-no-color"); cmd.Run() == nil {
					break
				}
			}
			w.run(t, "destroy", "-auto-approve", "-no-color") // of nothing
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

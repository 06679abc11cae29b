package assembly_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestWorkedExample: docs/design/architecture.md shows the calls that write while a VM is
// made whose compose loses its reply. MAAS is still at it when the connection breaks.
func TestWorkedExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/design/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "`TestWorkedExample` makes them:\n\n```text\n")
	block, _, _ = strings.Cut(block, "```")
	synctest.Test(t, func(t *testing.T) {
		model := world()
		model.Latency.Compose = 8 * time.Second
		r, unclear := inMemoryOf(t, model), false
		p := r.start(t, ledger.NewMemory(nil), 1, breakage{underWay: true, breaks: resetConnection})
		want := webVMSpec()
		want.Host, want.Tags = "", nil
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, want), func(at engine.Progress) {
			unclear = unclear || at.Phase == "ComposeUnclear"
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.breaker.hit, "op=compose") {
			t.Fatalf("%q was broken, and not the compose", p.breaker.hit)
		}
		if !unclear {
			t.Error("no step waited for a compose that MAAS was still at")
		}
		var writes []string
		for _, call := range r.sim.Journal().Calls {
			if !strings.HasPrefix(call.Route, "GET ") {
				writes = append(writes, call.Route)
			}
		}
		if diff := cmp.Diff(strings.Split(strings.TrimSpace(block), "\n"), writes); diff != "" {
			t.Errorf("the calls that write (-page +made):\n%s", diff)
		}
		if vm.Status != engine.StatusDeployed || !vm.Finished || r.countComposes() != 1 || len(r.sim.Instances()) != 1 {
			t.Errorf("the VM is %+v, of %d composes and %d instances", vm, r.countComposes(), len(r.sim.Instances()))
		}
	})
}

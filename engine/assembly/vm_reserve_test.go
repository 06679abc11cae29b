package assembly_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestNeverMoreThanRoom creates more VMs at once than a host has cores, in a
// MAAS that checks the room only before it composes.
func TestNeverMoreThanRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		const creators, cores = 12, 8
		var wg sync.WaitGroup
		errs := make([]error, creators)
		for i := range creators {
			spec := webVMSpec()
			spec.Name, spec.Cores, spec.MemoryMiB = fmt.Sprintf("web-%d", i), 1, 1024
			ref := engine.Ref{Key: engine.Key("default/" + spec.Name)}
			wg.Go(func() { _, errs[i] = engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec)) })
		}
		wg.Wait()
		refused := 0
		for _, err := range errs {
			var full *engine.Error
			switch {
			case errors.As(err, &full) && full.Type == engine.InsufficientResources:
				refused++
			case err != nil:
				t.Error(err)
			}
		}
		if n := len(r.sim.Instances()); n != cores || refused != creators-cores {
			t.Errorf("%d VMs on %d cores, %d refused, want the rest", n, cores, refused)
		}
	})
}

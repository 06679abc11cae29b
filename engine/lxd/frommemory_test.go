package lxd

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestStopFromMemory: a VM that runs from memory is never stopped, whatever its spec says.
// It would lose everything.
func TestStopFromMemory(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*engine.VMSpec){
		"allow_stopping_for_update": func(s *engine.VMSpec) { s.MayStop = true },
		"power_state":               func(s *engine.VMSpec) { s.Power = "off" },
	} {
		for _, isSaid := range []bool{true, false} {
			w := newWorld(t, 1)
			ref, want := w.createRunningVM(t, func(s *engine.VMSpec) { s.Deploy.Ephemeral = true })
			want.MemoryMiB = 4096
			want.Deploy = &engine.Deployment{Image: want.Deploy.Image, Ephemeral: isSaid}
			change(&want)
			_, err := engine.WaitUntilDone(t.Context(), w.newEngine(t).VMs.Steps(ref, want))
			if refusal, ok := errors.AsType[*engine.SpecError](err); !ok || refusal.Field.String() != field {
				t.Errorf("%s, ephemeral %t: got %v", field, isSaid, err)
			}
			if i, _ := w.onlyInstance(t); !i.Running || i.MemoryMiB != 2048 {
				t.Errorf("%s, ephemeral %t: it runs %t, with %d MiB", field, isSaid, i.Running, i.MemoryMiB)
			}
		}
	}
}

package assembly_test

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestChangeMark: a machine becomes another key's only if its mark is the one that is to be
// given up.
func TestChangeMark(t *testing.T) {
	cases := map[string]struct {
		reason   string
		from, to engine.Key
		want     engine.Key // afterwards
		err      error
	}{
		"Own":       {"Its mark is the former one.", vmKey, "east/web-1", "east/web-1", nil},
		"Already":   {"Repeating it is safe.", "west/web-1", vmKey, vmKey, nil},
		"Anothers":  {"The mark is that of neither.", "west/web-1", "east/web-1", vmKey, engine.ErrConflict},
		"NoMark":    {"What is marked is not taken for unmarked.", "", "east/web-1", vmKey, engine.ErrConflict},
		"Similarly": {"A mark is compared in whole.", "default/web", "east/web-1", vmKey, engine.ErrConflict},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				vm, err := p.create(newVMRef)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.engine.ChangeMark(t.Context(), vm.SystemID, tc.from, tc.to); !errors.Is(err, tc.err) {
					t.Errorf("%s\ngot %v, want %v", tc.reason, err, tc.err)
				}
				now, err := p.engine.VMs.Observe(t.Context(), engine.Ref{Key: vmKey, SystemID: vm.SystemID})
				if err != nil || now.MarkedBy() != tc.want {
					t.Errorf("%s\nit is marked as made for %q, want %q: %v", tc.reason, now.MarkedBy(), tc.want, err)
				}
			})
		})
	}
}

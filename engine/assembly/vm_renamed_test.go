package assembly_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestRenamedByHand loses the state of a finished VM that somebody has renamed in
// MAAS. Its mark and its row say that it is there, so no second one is made.
func TestRenamedByHand(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		vm, err := p.create(newVMRef)
		if err != nil {
			t.Fatal(err)
		}
		name := "web-by-hand"
		r.call(t, "PUT", "machines/"+vm.SystemID+"/", map[string][]string{"hostname": {name}})
		time.Sleep(time.Minute)
		_, err = p.create(newVMRef)
		var known *engine.SpecError
		if !errors.As(err, &known) || !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), name) || !slices.Contains(known.Ways, engine.WayImportLost.ForMachine(vm.SystemID)) {
			t.Errorf("want an error that names %s and says how to import %s, got %v", name, vm.SystemID, err)
		}
		if all := r.sim.Instances(); len(all) != 1 {
			t.Errorf("%d VMs: %+v", len(all), all)
		}
	})
}

// TestFormerNameOnAClosedHost makes a VM by a former name, and the host is closed when
// it is to be made by a name of its own: that passes.
func TestFormerNameOnAClosedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 1, 4, "az1") // whose LXD keeps the former name
		rows := ledger.NewMemory(nil)
		t.Cleanup(func() { rows.Close() })
		p := r.start(t, rows, 0, breakage{})
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "o/blue", Name: "blue"}, namedVM("blue")))
		if err != nil {
			t.Fatal(err)
		}
		renamed, blue := namedStory{"blue", vm.SystemID, "blue-old"}, namedStory{becomes: "blue"}
		if err := changeAll(p, []namedStory{renamed})[0]; err != nil {
			t.Fatal(err)
		}
		row, err := rows.Row(t.Context(), "o/blue-old")
		if err != nil {
			t.Fatal(err)
		}
		transport := r.transport
		r.transport = func() http.RoundTripper {
			return hookedTransport{transport(), new(sync.Once), func(q *http.Request) bool { return q.URL.Query().Get("op") == "compose" }, func() {
				time.Sleep(2 * time.Millisecond) // after the row was renewed
				err := rows.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: row.HostKey, Holder: "another run", Lease: 10 * time.Second})
				if err != nil {
					t.Error(err)
				}
			}}
		}
		if err := changeAll(r.start(t, rows, 0, breakage{}), []namedStory{blue})[0]; err != nil {
			t.Error(err)
		}
		wantNames(t, r, rows, []namedStory{renamed, blue})
	})
}

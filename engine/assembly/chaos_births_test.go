package assembly_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// The possible owners of an instance.

// findCompose finds the compose that an instance comes from: LXD admits a name
// once, and the first one gets it. Of two that come at the same moment it is the
// one that is answered so, see fruitful.
func (w *observer) findCompose(i sim.Instance) *composeCall {
	for _, a := range w.composes {
		same := a.host == i.Host && a.name == i.Name && a.cores == i.Cores && a.memoryMiB == i.MemoryMiB
		if same && a.instance == nil && a.to.IsZero() && a.sent {
			return a
		}
	}
	if !w.foreignInstances[i.Host+"/"+i.Name] {
		w.s.failSchedule("nobody asked for the instance %+v", i)
	}
	return nil
}

// assignByAnswer gives a compose that succeeded the machine that its answer names.
func (w *observer) assignByAnswer(a *composeCall) {
	for _, b := range w.instances {
		if a.status == http.StatusOK && b.compose != a && b.compose != nil && b.MachineID != "" && strings.Contains(a.body, `"`+b.MachineID+`"`) {
			b.compose.instance, b.compose, a.instance = nil, a, b
		}
	}
}

// reassignMarked gives a new VM to another owner who marks it. That owner cannot know better.
// MAAS adopted the VM without a mark inside its compose, and refused the name to that owner,
// who had asked for the same on the same host. Nobody has used it so far.
func (w *observer) reassignMarked(b *observedInstance, c *exchange) {
	if b.compose == nil || b.compose.status == http.StatusOK || c.request.Method != http.MethodPut || isMarkedFinished(b.machine) {
		return
	}
	for _, a := range w.composes {
		refused := a.life == c.life && a.status == http.StatusBadRequest && !a.to.Before(b.visible) && a.to.After(time.Now().Add(-time.Minute))
		if refused && a.life.owner != b.compose.life.owner && a.host == b.Host && a.name == b.compose.name {
			w.s.note("maas", "%s goes from %s to %s, who was refused the name", b.Name, b.compose.life.owner.name, c.life.owner.name)
			b.compose = a
			return
		}
	}
}

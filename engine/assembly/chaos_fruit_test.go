package assembly_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// Whose an instance is.

// askedFor finds the compose that an instance comes from: LXD admits a name
// once, and the first one gets it. Of two that come at the same moment it is the
// one that is answered so, see fruitful.
func (w *observer) askedFor(i sim.Instance) *asked {
	for _, a := range w.composes {
		same := a.host == i.Host && a.name == i.Name && a.cores == i.Cores && a.memoryMiB == i.MemoryMiB
		if same && a.fruit == nil && a.to.IsZero() && a.sent {
			return a
		}
	}
	if !w.foreigns[i.Host+"/"+i.Name] {
		w.s.wrong("nobody asked for the instance %+v", i)
	}
	return nil
}

// fruitful gives a compose that succeeded the machine that its answer names.
func (w *observer) fruitful(a *asked) {
	for _, b := range w.order {
		if a.status == http.StatusOK && b.asked != a && b.asked != nil && b.MachineID != "" && strings.Contains(a.body, `"`+b.MachineID+`"`) {
			b.asked.fruit, b.asked, a.fruit = nil, a, b
		}
	}
}

// claimed gives a newborn to another owner who marks it, and who cannot know
// better: MAAS adopted it without a mark inside the compose that made it, and
// refused the name to him, who had asked for the same on the same host. Nobody
// has used it so far.
func (w *observer) claimed(b *birth, c *exchange) {
	if b.asked == nil || b.asked.status == http.StatusOK || c.request.Method != http.MethodPut || finished(b.machine) {
		return
	}
	for _, a := range w.composes {
		refused := a.life == c.life && a.status == http.StatusBadRequest && !a.to.Before(b.visible) && a.to.After(time.Now().Add(-time.Minute))
		if refused && a.life.owner != b.asked.life.owner && a.host == b.Host && a.name == b.asked.name {
			w.s.note("maas", "%s goes from %s to %s, who was refused the name", b.Name, b.asked.life.owner.name, c.life.owner.name)
			b.asked = a
			return
		}
	}
}

package maas

import (
	"context"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// writtenTTL is how long a name counts as we wrote it, if no address must be released. This
// saves reads, because the machines of a control plane register within moments of each
// other.
//
// If someone else adds an address by hand in this time, it is overwritten. It then stays
// reserved if no machine has it.
const writtenTTL = 30 * time.Second

// writtenDNS keeps names as MAAS returned them when we wrote them.
type writtenDNS struct {
	now func() time.Time

	mu   sync.Mutex
	last map[engine.DNSName]writtenName
}

type writtenName struct {
	resource  wireDNS
	writtenAt time.Time
}

// takeWritten returns how a name was written, if that was just now, and forgets it: the
// next write changes it in any case.
func (w *writtenDNS) takeWritten(name engine.DNSName) (wireDNS, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[name]
	delete(w.last, name)
	return last.resource, ok && w.now().Sub(last.writtenAt) < writtenTTL
}

func (w *writtenDNS) recordWritten(name engine.DNSName, is wireDNS) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, last := range w.last {
		if w.now().Sub(last.writtenAt) >= writtenTTL {
			delete(w.last, other)
		}
	}
	w.last[name] = writtenName{resource: is, writtenAt: w.now()}
}

// writeDNS makes or changes a name.
func (c *DNS) writeDNS(ctx context.Context, name engine.DNSName, r *api.Request) error {
	var is wireDNS
	if err := c.api.Call(ctx, r, &is); err != nil {
		return err
	}
	c.written.recordWritten(name, is)
	return nil
}

// needsUpdate reports whether an existing name differs from what is wanted.
func (r wireDNS) needsUpdate(want engine.DNSRecord) bool { return r.ID > 0 && !r.pointsExactlyTo(want) }

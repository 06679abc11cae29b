package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
)

// leftovers remembers, for the life of the process, what a create left where MAAS does not show
// it.
type leftovers struct {
	mu    sync.Mutex
	byKey map[engine.Key][]string
}

func (l *leftovers) noteLeftover(key engine.Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = map[engine.Key][]string{}
	}
	if !slices.Contains(l.byKey[key], what) {
		l.byKey[key] = append(l.byKey[key], what)
	}
}

// removeLeftover removes a leftover that proved absent.
func (l *leftovers) removeLeftover(key engine.Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		return
	}
	l.byKey[key] = slices.DeleteFunc(l.byKey[key], func(had string) bool { return had == what })
	if len(l.byKey[key]) == 0 {
		delete(l.byKey, key)
	}
}

func (l *leftovers) textFor(key engine.Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.byKey[key], "; ")
}

// leftover describes what a failed compose has left where MAAS does not show it.
func leftover(name string, host engine.VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s holds an instance %s that MAAS does not know", host.Name, name)
}

// possibleLeftover describes what a compose that MAAS refused late may have left.
func possibleLeftover(name string, host engine.VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s may hold an instance %s that MAAS does not know", host.Name, name)
}

// noteLeftoverOnHost notes what a row's compose may have left on its host, if mayHold accepts
// the host.
func (mk *Maker) noteLeftoverOnHost(ctx context.Context, row engine.Row, mayHold func(engine.VMHost) bool) {
	hosts, err := mk.Composer.Hosts(ctx)
	if err != nil {
		return
	}
	for _, h := range hosts {
		if h.HostKey == row.HostKey && mayHold(h) {
			mk.leftovers.noteLeftover(row.Key, possibleLeftover(row.Name, h))
		}
	}
}

// noteRefusedLeftover notes what a refused compose may have left. MAAS gives the same refusal
// before and after LXD has made the instance. Only a refusal that names a parameter comes
// before that.
func (a *Attempt) noteRefusedLeftover(t composeResult) {
	var complaint engine.FieldError
	early := errors.As(t.failure, &complaint) && len(complaint.Fields()) > 0 && len(complaint.Fields()["hostname"]) == 0
	switch {
	case !t.host.LeavesInstances(), early:
	case errors.Is(t.failure, engine.ErrForbidden), errors.Is(t.failure, engine.ErrGone), errors.Is(t.failure, engine.ErrNotFound):
	default:
		a.leftovers.noteLeftover(a.key, possibleLeftover(a.composeHostname(), t.host))
	}
}

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

// leftovers remembers, as long as the process lives, what a create left where
// MAAS does not show it.
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

// removeLeftover takes back what turned out not to be there.
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

// leftover names what a failed compose can leave behind, where MAAS does not
// show it.
func leftover(name string, host engine.VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s holds an instance %s that MAAS does not know", host.Name, name)
}

// possibleLeftover names what a compose that MAAS refused late may have left behind.
func possibleLeftover(name string, host engine.VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s may hold an instance %s that MAAS does not know", host.Name, name)
}

// noteLeftoverOnHost notes what a row's compose may have left on its host, if the host is such
// a one.
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

// noteRefusedLeftover notes what a refused compose may have left: MAAS says no in the same way
// before and after LXD has made the instance. What it names a parameter for it refused
// before.
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

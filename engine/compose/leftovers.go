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
	mu  sync.Mutex
	was map[engine.Key][]string
}

func (l *leftovers) note(key engine.Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.was == nil {
		l.was = map[engine.Key][]string{}
	}
	if !slices.Contains(l.was[key], what) {
		l.was[key] = append(l.was[key], what)
	}
}

// drop takes back what turned out not to be there.
func (l *leftovers) drop(key engine.Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.was == nil {
		return
	}
	l.was[key] = slices.DeleteFunc(l.was[key], func(had string) bool { return had == what })
	if len(l.was[key]) == 0 {
		delete(l.was, key)
	}
}

func (l *leftovers) of(key engine.Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.was[key], "; ")
}

// leftover names what a failed compose can leave behind, where MAAS does not
// show it.
func leftover(name string, host engine.VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s holds an instance %s that MAAS does not know", host.Name, name)
}

// mayBeLeft names what a compose that MAAS refused late may have left behind.
func mayBeLeft(name string, host engine.VMHost) string {
	return fmt.Sprintf("the LXD of VM host %s may hold an instance %s that MAAS does not know", host.Name, name)
}

// noteOnHost notes what a row's compose may have left on its host, if the host is such
// a one.
func (mk *Maker) noteOnHost(ctx context.Context, row engine.Row, mayHold func(engine.VMHost) bool) {
	hosts, err := mk.Composer.Hosts(ctx)
	if err != nil {
		return
	}
	for _, h := range hosts {
		if h.HostKey == row.HostKey && mayHold(h) {
			mk.leftovers.note(row.Key, mayBeLeft(row.Name, h))
		}
	}
}

// noteRefused notes what a refused compose may have left: MAAS says no in the same way
// before and after LXD has made the instance. What it names a parameter for it refused
// before.
func (a *Attempt) noteRefused(t trial) {
	var complaint engine.FieldError
	early := errors.As(t.failure, &complaint) && len(complaint.Fields()) > 0 && len(complaint.Fields()["hostname"]) == 0
	switch {
	case !t.host.LeavesInstances(), early:
	case errors.Is(t.failure, engine.ErrForbidden), errors.Is(t.failure, engine.ErrGone), errors.Is(t.failure, engine.ErrNotFound):
	default:
		a.leftovers.note(a.key, mayBeLeft(a.madeAs(), t.host))
	}
}

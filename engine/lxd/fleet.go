package lxd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/engine"
)

const (
	// fleetTTL is how long an inventory serves: hosts change with each VM that
	// somebody makes.
	fleetTTL = 10 * time.Second
	// failedTTL is how long a server that did not answer is not asked again: it
	// would hold all others up.
	failedTTL = 30 * time.Second
	// rereadAfter is the age from which on something that is missing from an
	// inventory is worth another one.
	rereadAfter = time.Second
	// asks bounds the servers that are asked at the same moment.
	asks = 16
)

// inventory is what the servers showed, each at its moment.
type inventory struct {
	hosts []seen // in the order of the list of servers
}

// oldest is the ledger's tag as it was before the first of the servers that
// answered was asked; ok is false if none did. What showed nothing is not old.
func (i *inventory) oldest() (tag engine.Tag, ok bool) {
	var began time.Time
	for _, h := range i.hosts {
		if h.err == nil && (!ok || h.began.Before(began)) {
			began, tag, ok = h.began, h.tag, true
		}
	}
	return tag, ok
}

// reached is what the server of a host showed, or why it did not.
func (i *inventory) reached(host engine.VMHost) (seen, error) {
	n := slices.IndexFunc(i.hosts, func(h seen) bool { return h.MachineID == host.MachineID })
	if n < 0 {
		return seen{}, fmt.Errorf("there is no LXD on machine %s any more: %w", host.MachineID, engine.ErrNotFound)
	}
	return i.hosts[n], i.hosts[n].err
}

// fleet keeps what the servers showed for a while, each on its own: a VM that is
// made or removed spoils the inventory of its host only. Those who ask at the
// same moment share the asking.
type fleet struct {
	flight singleflight.Group

	mu      sync.Mutex
	last    *inventory
	changes map[string]int // of hosts, by their machines: VMs made or removed
	floor   time.Time      // what was shown before is not served
	reading time.Time      // when the last reading began
	silence time.Time      // that a server did not answer before is not served
}

// drop says that something was changed on a host.
func (f *fleet) drop(machineID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changes == nil {
		f.changes = map[string]int{}
	}
	f.changes[machineID]++
	f.flight.Forget("")
}

// expire drops what is older than age, but for what did not answer.
func (f *fleet) expire(now time.Time, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if floor := now.Add(-age); floor.After(f.floor) { // anew may have set a later one
		f.floor = floor
	}
	if now.Sub(f.reading) >= age {
		f.flight.Forget("")
	}
}

// anew drops all that is known, what did not answer too: something is about to
// be removed, and depends on what is there now.
func (f *fleet) anew(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.floor, f.silence = now, now
	f.flight.Forget("")
}

// silent is why a host has not answered lately; nil if it has, or is to be asked.
func (f *fleet) silent(host engine.VMHost, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		return nil
	}
	h, err := f.last.reached(host)
	if err != nil && h.MachineID == host.MachineID && now.Sub(h.began) < failedTTL && h.changes == f.changes[h.MachineID] {
		return err
	}
	return nil
}

// recent is the last inventory, however old; nil if there is none.
func (f *fleet) recent() *inventory {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// serves tells that what a server showed holds. f.mu is held.
func (f *fleet) serves(h seen, now time.Time) bool {
	age := now.Sub(h.began)
	fresh := age < fleetTTL && h.began.After(f.floor)
	if h.err != nil {
		fresh = age < failedTTL && h.began.After(f.silence)
	}
	return fresh && h.changes == f.changes[h.MachineID]
}

// current is the last inventory, if all of it holds, of the same servers.
func (f *fleet) current(servers []Server, now time.Time) (*inventory, bool) {
	if f.last == nil || len(f.last.hosts) != len(servers) {
		return nil, false
	}
	for n, h := range f.last.hosts {
		if !f.serves(h, now) || !reflect.DeepEqual(h.Server, servers[n].named()) {
			return nil, false
		}
	}
	return f.last, true
}

// named is the server with its project by name.
func (s Server) named() Server {
	s.Project = cmp.Or(s.Project, defaultProject)
	return s
}

// begin returns what is known of a server that needs not be asked again; ok is
// false if it needs. Whatever it was, the number of its changes is noted.
func (f *fleet) begin(server Server, now time.Time) (h seen, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil {
		for _, h := range f.last.hosts {
			same := h.MachineID == server.MachineID && h.Endpoint == server.Endpoint && h.Fingerprint == server.Fingerprint
			if same && f.serves(h, now) {
				h.Server = server
				return h, true
			}
		}
	}
	return seen{Server: server, changes: f.changes[server.MachineID], began: now}, false
}

// inventory returns one in which nothing is older than the last change of its
// host, nor than fleetTTL. The caller's ctx ends his waiting; the reading ends by
// its own deadlines.
func (c *Composer) inventory(ctx context.Context) (*inventory, error) {
	servers, err := c.Servers(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the LXD servers: %w", err)
	}
	f := &c.fleet
	f.mu.Lock()
	if last, ok := f.current(servers, c.Now()); ok {
		f.mu.Unlock()
		return last, nil
	}
	reading := f.flight.DoChan("", func() (any, error) { return c.read(context.WithoutCancel(ctx)) })
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-reading:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*inventory), nil
	}
}

// read asks all servers at once of which nothing is known that holds. One that
// does not answer is in the list without a version.
func (c *Composer) read(ctx context.Context) (*inventory, error) {
	c.fleet.mu.Lock()
	c.fleet.reading = c.Now()
	c.fleet.mu.Unlock()
	tag, err := c.Ledger.Tag(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := c.Servers(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the LXD servers: %w", err)
	}
	c.dialer.forget(servers)
	c.kept.forget(servers)
	i := &inventory{hosts: make([]seen, len(servers))}
	var looks errgroup.Group
	looks.SetLimit(asks)
	for n, server := range servers {
		h, ok := c.fleet.begin(server.named(), c.Now())
		if ok {
			i.hosts[n] = h
			continue
		}
		h.tag = tag
		looks.Go(func() error {
			i.hosts[n] = c.look(ctx, h)
			return nil
		})
	}
	err = looks.Wait()
	c.fleet.mu.Lock()
	defer c.fleet.mu.Unlock()
	c.fleet.last = i
	return i, err
}

// look asks one server.
func (c *Composer) look(ctx context.Context, blank seen) seen {
	h := blank
	s, done, err := c.open(ctx, h.Server, c.Timeout)
	if err == nil {
		defer done()
		h.shown = s.target.pinned
		if err = s.survey(&h); err != nil {
			err = named(s.explain(err), h.Name)
		}
	}
	if err != nil {
		c.Log.DebugContext(ctx, "cannot take the inventory of an LXD", "host", h.Name, slog.Any("error", err))
		blank.err = err
		return blank
	}
	return h
}

// serving is an inventory that serves the ledger, and the one tag that stands
// for all of it: nothing is older than it says.
func (c *Composer) serving(ctx context.Context) (*inventory, engine.Tag, error) {
	for tried := 1; ; tried++ {
		i, err := c.inventory(ctx)
		if err != nil {
			return nil, engine.Tag{}, err
		}
		tag, ok := i.oldest()
		if !ok {
			return i, tag, nil
		}
		serves, err := c.Ledger.Serves(ctx, tag)
		if err != nil {
			return nil, engine.Tag{}, err
		}
		if serves || tried == 3 { // what somebody is reading may be too old as well
			return i, tag, nil
		}
		c.fleet.expire(c.Now(), 0)
	}
}

// Hosts implements engine.Composer. A host whose LXD cannot be reached, or is
// of no use, has no Version. Taken are the limits of all instances in the
// projects that the certificate may see; what is in others is in the way
// without being seen, as are containers without limits.
func (c *Composer) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	i, tag, err := c.serving(ctx)
	if err != nil {
		return nil, err
	}
	hosts := make([]engine.VMHost, len(i.hosts))
	for n, h := range i.hosts {
		hosts[n] = h.host()
		hosts[n].Inventory = tag
	}
	return hosts, nil
}

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
	// inventoryTTL is how long an inventory serves: hosts change with each VM that
	// somebody makes.
	inventoryTTL = 10 * time.Second
	// failureTTL is how long a server that did not answer is not asked again: it
	// would hold all others up.
	failureTTL = 30 * time.Second
	// rereadAfter is the age from which on something that is missing from an
	// inventory is worth another one.
	rereadAfter = time.Second
	// maxConcurrentServers bounds the servers that are asked at the same moment.
	maxConcurrentServers = 16
)

// inventory is what the servers showed, each at its moment.
type inventory struct {
	hosts []serverSurvey // in the order of the list of servers
}

// oldestTag is the ledger's tag as it was before the first of the servers that
// answered was asked; ok is false if none did. What showed nothing is not old.
func (i *inventory) oldestTag() (tag engine.Tag, ok bool) {
	var began time.Time
	for _, h := range i.hosts {
		if h.err == nil && (!ok || h.askedAt.Before(began)) {
			began, tag, ok = h.askedAt, h.tag, true
		}
	}
	return tag, ok
}

// surveyOf is what the server of a host showed, or why it did not.
func (i *inventory) surveyOf(host engine.VMHost) (serverSurvey, error) {
	n := slices.IndexFunc(i.hosts, func(h serverSurvey) bool { return h.MachineID == host.MachineID })
	if n < 0 {
		return serverSurvey{}, fmt.Errorf("there is no LXD on machine %s any more: %w", host.MachineID, engine.ErrNotFound)
	}
	return i.hosts[n], i.hosts[n].err
}

// inventoryCache keeps what the servers showed for a while, each on its own: a VM that is
// made or removed spoils the inventory of its host only. Those who ask at the
// same moment share the asking.
type inventoryCache struct {
	flight singleflight.Group

	mu                sync.Mutex
	last              *inventory
	changes           map[string]int // of hosts, by their machines: VMs made or removed
	notBefore         time.Time      // what was shown before is not served
	readingSince      time.Time      // when the last reading began
	failuresNotBefore time.Time      // that a server did not answer before is not served
}

// noteChange says that something was changed on a host.
func (f *inventoryCache) noteChange(machineID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changes == nil {
		f.changes = map[string]int{}
	}
	f.changes[machineID]++
	f.flight.Forget("")
}

// expire drops what is older than age, but for what did not answer.
func (f *inventoryCache) expire(now time.Time, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if floor := now.Add(-age); floor.After(f.notBefore) { // anew may have set a later one
		f.notBefore = floor
	}
	if now.Sub(f.readingSince) >= age {
		f.flight.Forget("")
	}
}

// expireAll drops all that is known, what did not answer too: something is about to
// be removed, and depends on what is there now.
func (f *inventoryCache) expireAll(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notBefore, f.failuresNotBefore = now, now
	f.flight.Forget("")
}

// recentFailure is why a host has not answered lately; nil if it has, or is to be asked.
func (f *inventoryCache) recentFailure(host engine.VMHost, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		return nil
	}
	h, err := f.last.surveyOf(host)
	if err != nil && h.MachineID == host.MachineID && now.Sub(h.askedAt) < failureTTL && h.changes == f.changes[h.MachineID] {
		return err
	}
	return nil
}

// lastInventory is the last inventory, however old; nil if there is none.
func (f *inventoryCache) lastInventory() *inventory {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// isCurrent tells that what a server showed holds. f.mu is held.
func (f *inventoryCache) isCurrent(h serverSurvey, now time.Time) bool {
	age := now.Sub(h.askedAt)
	fresh := age < inventoryTTL && h.askedAt.After(f.notBefore)
	if h.err != nil {
		fresh = age < failureTTL && h.askedAt.After(f.failuresNotBefore)
	}
	return fresh && h.changes == f.changes[h.MachineID]
}

// cachedInventory is the last inventory, if all of it holds, of the same servers.
func (f *inventoryCache) cachedInventory(servers []Server, now time.Time) (*inventory, bool) {
	if f.last == nil || len(f.last.hosts) != len(servers) {
		return nil, false
	}
	for n, h := range f.last.hosts {
		if !f.isCurrent(h, now) || !reflect.DeepEqual(h.Server, servers[n].withDefaultProject()) {
			return nil, false
		}
	}
	return f.last, true
}

// withDefaultProject is the server with its project by name.
func (s Server) withDefaultProject() Server {
	s.Project = cmp.Or(s.Project, defaultProject)
	return s
}

// reusableSurvey returns what is known of a server that needs not be asked again; ok is
// false if it needs. Whatever it was, the number of its changes is noted.
func (f *inventoryCache) reusableSurvey(server Server, now time.Time) (h serverSurvey, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil {
		for _, h := range f.last.hosts {
			same := h.MachineID == server.MachineID && h.Endpoint == server.Endpoint && h.Fingerprint == server.Fingerprint
			if same && f.isCurrent(h, now) {
				h.Server = server
				return h, true
			}
		}
	}
	return serverSurvey{Server: server, changes: f.changes[server.MachineID], askedAt: now}, false
}

// currentInventory returns one in which nothing is older than the last change of its
// host, nor than inventoryTTL. The caller's ctx ends his waiting; the reading ends by
// its own deadlines.
func (c *Composer) currentInventory(ctx context.Context) (*inventory, error) {
	servers, err := c.Servers(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the LXD servers: %w", err)
	}
	f := &c.cache
	f.mu.Lock()
	if last, ok := f.cachedInventory(servers, c.Now()); ok {
		f.mu.Unlock()
		return last, nil
	}
	reading := f.flight.DoChan("", func() (any, error) { return c.readInventory(context.WithoutCancel(ctx)) })
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

// readInventory asks all servers at once of which nothing is known that holds. One that
// does not answer is in the list without a version.
func (c *Composer) readInventory(ctx context.Context) (*inventory, error) {
	c.cache.mu.Lock()
	c.cache.readingSince = c.Now()
	c.cache.mu.Unlock()
	tag, err := c.Ledger.CurrentTag(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := c.Servers(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list the LXD servers: %w", err)
	}
	c.dialer.forgetUnlisted(servers)
	c.fingerprints.forgetUnlisted(servers)
	i := &inventory{hosts: make([]serverSurvey, len(servers))}
	var looks errgroup.Group
	looks.SetLimit(maxConcurrentServers)
	for n, server := range servers {
		h, ok := c.cache.reusableSurvey(server.withDefaultProject(), c.Now())
		if ok {
			i.hosts[n] = h
			continue
		}
		h.tag = tag
		looks.Go(func() error {
			i.hosts[n] = c.surveyServer(ctx, h)
			return nil
		})
	}
	err = looks.Wait()
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	c.cache.last = i
	return i, err
}

// surveyServer asks one server.
func (c *Composer) surveyServer(ctx context.Context, blank serverSurvey) serverSurvey {
	h := blank
	s, done, err := c.openSession(ctx, h.Server, c.Timeout)
	if err == nil {
		defer done()
		h.shownFingerprint = s.target.pinned
		if err = s.fillSurvey(&h); err != nil {
			err = hostError(s.explainError(err), h.Name)
		}
	}
	if err != nil {
		c.Log.DebugContext(ctx, "cannot take the inventory of an LXD", "host", h.Name, slog.Any("error", err))
		blank.err = err
		return blank
	}
	return h
}

// inventoryForLedger is an inventory that serves the ledger, and the one tag that stands
// for all of it: nothing is older than it says.
func (c *Composer) inventoryForLedger(ctx context.Context) (*inventory, engine.Tag, error) {
	for tried := 1; ; tried++ {
		i, err := c.currentInventory(ctx)
		if err != nil {
			return nil, engine.Tag{}, err
		}
		tag, ok := i.oldestTag()
		if !ok {
			return i, tag, nil
		}
		serves, err := c.Ledger.AcceptsInventory(ctx, tag)
		if err != nil {
			return nil, engine.Tag{}, err
		}
		if serves || tried == 3 { // what somebody is reading may be too old as well
			return i, tag, nil
		}
		c.cache.expire(c.Now(), 0)
	}
}

// Hosts implements engine.Composer. A host whose LXD cannot be reached, or is
// of no use, has no Version. Taken are the limits of all instances in the
// projects that the certificate may see; what is in others is in the way
// without being seen, as are containers without limits.
func (c *Composer) Hosts(ctx context.Context) ([]engine.VMHost, error) {
	i, tag, err := c.inventoryForLedger(ctx)
	if err != nil {
		return nil, err
	}
	hosts := make([]engine.VMHost, len(i.hosts))
	for n, h := range i.hosts {
		hosts[n] = h.vmHost()
		hosts[n].Inventory = tag
	}
	return hosts, nil
}

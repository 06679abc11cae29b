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
	// inventoryTTL is how long an inventory is used. Hosts change with each VM that anyone
	// makes.
	inventoryTTL = 10 * time.Second
	// failureTTL is how long a server that did not answer is not asked again. It would
	// delay the reads of all others.
	failureTTL = 30 * time.Second
	// rereadAfter is the age from which an inventory is read again when something is
	// missing from it.
	rereadAfter = time.Second
	// maxConcurrentServers bounds the servers that are asked at the same time.
	maxConcurrentServers = 16
)

// inventory is what the servers showed, each at its own time.
type inventory struct {
	hosts []serverSurvey // in the order of the list of servers
}

// oldestTag returns the ledger's tag from before the first server that answered was asked.
// ok is false if no server answered. Servers that did not answer do not count.
func (i *inventory) oldestTag() (tag engine.Tag, ok bool) {
	var began time.Time
	for _, h := range i.hosts {
		if h.err == nil && (!ok || h.askedAt.Before(began)) {
			began, tag, ok = h.askedAt, h.tag, true
		}
	}
	return tag, ok
}

// surveyOf returns the survey of a host, or the error of its server.
func (i *inventory) surveyOf(host engine.VMHost) (serverSurvey, error) {
	n := slices.IndexFunc(i.hosts, func(h serverSurvey) bool { return h.MachineID == host.MachineID })
	if n < 0 {
		return serverSurvey{}, fmt.Errorf("there is no LXD on machine %s any more: %w", host.MachineID, engine.ErrNotFound)
	}
	return i.hosts[n], i.hosts[n].err
}

// inventoryCache keeps the survey of each server for a while. A VM that is made or removed
// makes only its host's survey stale. Callers that ask at the same time share one read.
type inventoryCache struct {
	flight singleflight.Group

	mu                sync.Mutex
	last              *inventory
	changes           map[string]int // VMs made or removed, by the system id of the host
	notBefore         time.Time      // older surveys are not used
	readingSince      time.Time      // when the last read began
	failuresNotBefore time.Time      // older failures are not used
}

// noteChange notes that something was changed on a host.
func (f *inventoryCache) noteChange(machineID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changes == nil {
		f.changes = map[string]int{}
	}
	f.changes[machineID]++
	f.flight.Forget("")
}

// expire drops surveys that are older than age, but keeps failures.
func (f *inventoryCache) expire(now time.Time, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if floor := now.Add(-age); floor.After(f.notBefore) { // expireAll may have set a later one
		f.notBefore = floor
	}
	if now.Sub(f.readingSince) >= age {
		f.flight.Forget("")
	}
}

// expireAll drops everything, including failures. It is called before a removal that
// depends on the present state.
func (f *inventoryCache) expireAll(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notBefore, f.failuresNotBefore = now, now
	f.flight.Forget("")
}

// recentFailure returns why a host has not answered lately. It is nil if the host answered,
// or must be asked.
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

// lastInventory returns the last inventory, however old; nil if there is none.
func (f *inventoryCache) lastInventory() *inventory {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// isCurrent reports whether a survey is still valid. The caller holds f.mu.
func (f *inventoryCache) isCurrent(h serverSurvey, now time.Time) bool {
	age := now.Sub(h.askedAt)
	fresh := age < inventoryTTL && h.askedAt.After(f.notBefore)
	if h.err != nil {
		fresh = age < failureTTL && h.askedAt.After(f.failuresNotBefore)
	}
	return fresh && h.changes == f.changes[h.MachineID]
}

// cachedInventory returns the last inventory if it has the same servers and all its surveys
// are valid.
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

// withDefaultProject returns the server with a project name.
func (s Server) withDefaultProject() Server {
	s.Project = cmp.Or(s.Project, defaultProject)
	return s
}

// reusableSurvey returns the survey of a server that need not be asked again. Otherwise ok
// is false, and h has only the server, the time and the number of its changes.
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

// currentInventory returns an inventory in which each survey is newer than the last change
// of its host, and younger than inventoryTTL. The caller's ctx ends only its waiting; the
// read ends at its own deadlines.
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

// readInventory asks at once all servers without a valid survey. A server that does not
// answer is in the list without a version.
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

// inventoryForLedger returns an inventory that the ledger accepts, and one tag for all of
// it: no survey is older than the tag.
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
		if serves || tried == 3 { // a read that another caller began may be too old as well
			return i, tag, nil
		}
		c.cache.expire(c.Now(), 0)
	}
}

// Hosts implements engine.Composer. A host whose LXD cannot be reached or used has no
// Version. Its used capacity is the sum of the limits of all instances in the projects that
// the certificate may see. Instances in other projects, and containers without limits, use
// capacity that is not counted.
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

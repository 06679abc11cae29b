package lxd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// movingLedger is a ledger whose tag a test changes.
type movingLedger struct {
	tag   engine.Tag
	floor int64
	err   error
}

func (l *movingLedger) CurrentTag(context.Context) (engine.Tag, error) { return l.tag, l.err }

func (l *movingLedger) AcceptsInventory(_ context.Context, inventory engine.Tag) (bool, error) {
	return l.floor <= inventory.Sequence && inventory.Sequence <= l.tag.Sequence, l.err
}

// TestHostInventory reads an inventory as a restricted client sees it.
func TestHostInventory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, func(m *sim.Model) { m.Hosts[0].LXDVersion = "5.0.2" })
	w.servers[1].CPUOvercommit, w.servers[1].MemoryOvercommit, w.servers[1].DefaultStoragePool = 2, 1.5, "fast"
	w.servers[1].Architecture = "arm64/generic"
	shown := []string{w.servers[0].Fingerprint, w.servers[1].Fingerprint}
	w.servers[1].Fingerprint = "" // it is learned
	tag := engine.Tag{Generation: "g", Sequence: 7}
	c := w.newComposer(func(c *ComposerConfig) { c.Ledger = &movingLedger{tag: tag} })
	w.composeVM(c, newComposition("web1"))
	hosts, err := c.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const gb = bytesPerGB
	want := []engine.VMHost{{
		Name: "h1", MachineID: "host01", HostKey: "host01", Version: "5.0.2", Zone: "az1", Pool: "default", Tags: []string{"a", "b"},
		Cores: engine.Amount{Total: 8, Used: 2}, MemoryMiB: engine.Amount{Total: 16384, Used: 2048}, CPUOvercommit: 1, MemoryOvercommit: 1,
		StoragePools: []engine.StoragePool{
			{Name: "fast", Driver: "zfs", TotalBytes: 100 * gb, AvailableBytes: 95 * gb},
			{Name: "default", Driver: "zfs", TotalBytes: 500 * gb, AvailableBytes: 492 * gb, Default: true},
		},
		Architectures: []string{"amd64/generic"}, Project: "maas", Profiles: []string{"default"}, Inventory: tag,
		ServerFingerprint: shown[0],
	}, {
		Name: "h2", MachineID: "host02", HostKey: "host02", Version: "5.21.3", Zone: "az1", Pool: "default", Tags: []string{"a", "b"},
		Cores: engine.Amount{Total: 8}, MemoryMiB: engine.Amount{Total: 16384}, CPUOvercommit: 2, MemoryOvercommit: 1.5,
		StoragePools: []engine.StoragePool{
			{Name: "fast", Driver: "zfs", TotalBytes: 100 * gb, AvailableBytes: 100 * gb, Default: true},
			{Name: "default", Driver: "zfs", TotalBytes: 500 * gb, AvailableBytes: 500 * gb},
		},
		Architectures: []string{"arm64/generic"}, Project: "maas", Profiles: []string{"default"}, Inventory: tag,
		ServerFingerprint: shown[1],
	}}
	if diff := cmp.Diff(want, hosts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHostsUnreachable: hosts that do not answer or cannot be used do not hide the others.
// They report why when a VM is to be made there.
func TestHostsUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, func(m *sim.Model) { m.Hosts[2].LXDVersion = "3.0.4" })
	if err := w.sim.SetLXDCondition("h1", sim.ConditionHanging); err != nil {
		t.Fatal(err)
	}
	if err := w.sim.SetLXDCondition("h2", sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	// The last host must be read, however busy the machine is. The test shows that the host
	// that hangs does not delay it.
	c := w.newComposer(func(c *ComposerConfig) { c.Timeout = 10 * time.Second })
	hosts, err := c.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, h := range hosts {
		versions = append(versions, h.Version)
	}
	if diff := cmp.Diff([]string{"", "", "", "5.21.3"}, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	for n, want := range []string{"ErrUnavailable, HostUnavailable", "ErrUnavailable, HostUnavailable", "ErrInvalid, HostUnavailable"} {
		if _, err := c.Compose(t.Context(), hosts[n], newComposition("web1")); errorKinds(err) != want {
			t.Errorf("%s: got %s: %v, want %s", hosts[n].Name, errorKinds(err), err, want)
		}
	}
	if _, err := c.Compose(t.Context(), engine.VMHost{MachineID: "gone"}, newComposition("web1")); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a host that there is not: %v", err)
	}
}

// TestHostsShared: callers at the same time share one read. It is used for a while, and a
// change ends that.
func TestHostsShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	now, mu := time.Now(), sync.Mutex{}
	pass := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	c := w.newComposer(func(c *ComposerConfig) { c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
	readings := func(want int, do func()) {
		t.Helper()
		w.sim.ResetJournal()
		do()
		if j := w.sim.Journal(); j.LXD.Count("GET 1.0/resources") != want {
			t.Errorf("read %d times, want %d", j.LXD.Count("GET 1.0/resources"), want)
		}
	}
	look := func() {
		if _, err := c.Hosts(t.Context()); err != nil {
			t.Error(err)
		}
	}
	readings(2, func() {
		var together sync.WaitGroup
		for range 8 {
			together.Go(look)
		}
		together.Wait()
	})
	readings(0, look)
	names := c.WrapNames(w.maas.Names)
	readings(0, func() { names.Refresh(); look() }) // it is younger than a second
	pass(2 * time.Second)
	readings(2, func() { names.Refresh(); look() })
	pass(inventoryTTL)
	readings(2, look)
	id := w.composeVM(c, newComposition("web1"))
	readings(0, func() { w.composeVM(c, newComposition("web2")) }) // what the first one took does not matter here
	readings(1, look)                                              // of the host that has changed
	if err := c.Decompose(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	readings(1, look)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.cache.expire(now, 0)
	if _, err := c.Hosts(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}

func TestHostsErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	w := newWorld(t, 1)
	cases := map[string]func(*ComposerConfig){
		"Tag": func(c *ComposerConfig) {
			c.Ledger = &movingLedger{err: broken}
		},
		"Servers": func(c *ComposerConfig) { c.Servers = func(context.Context) ([]Server, error) { return nil, broken } },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := w.newComposer(change).Hosts(t.Context()); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestLimitsOfInstances reads limits in all forms that LXD accepts.
func TestLimitsOfInstances(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]int64{"": 0, "4": 4, "0-3": 4, "1-1": 1, "0,2, 4-5": 4, "nonsense": 0, "3-1": 0} {
		if got := countCores(limit); got != want {
			t.Errorf("cores of %q: %d, want %d", limit, got, want)
		}
	}
	for limit, want := range map[string]int64{"": 0, "2048MiB": 2048, "2GB": 1907, "1073741824": 1024, "50%": 8192, "x%": 0, "much": 0} {
		if got := (instance{memory: limit}).memoryMiB(16 << 30); got != want {
			t.Errorf("memory of %q: %d MiB, want %d", limit, got, want)
		}
	}
	for version, want := range map[string]bool{"5.0.2": false, "5.21.3": false, "6.6": false, "6.7": true, "6.12": true, "7.0": true, "": false, "odd": false} {
		if isBootModeVersion(version) != want {
			t.Errorf("LXD %q: boot.mode is %v", version, !want)
		}
	}
}

// TestHostsTag: if only some hosts were read again, the tag is that of the older surveys.
// So no VM that was bound since counts as included.
func TestHostsTag(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	book := &movingLedger{tag: engine.Tag{Sequence: 1}}
	c := w.newComposer(func(c *ComposerConfig) { c.Ledger = book })
	tags := func() (got []int64) {
		hosts, err := c.Hosts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			got = append(got, h.Inventory.Sequence, h.Cores.Used)
		}
		return got
	}
	if diff := cmp.Diff([]int64{1, 0, 1, 0}, tags()); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	w.composeVM(c, newComposition("web1"))
	book.tag.Sequence = 2
	if diff := cmp.Diff([]int64{1, 2, 1, 0}, tags()); diff != "" {
		t.Errorf("after a VM (-want +got):\n%s", diff)
	}
	book.tag.Sequence, book.floor = 3, 2
	if diff := cmp.Diff([]int64{3, 2, 3, 0}, tags()); diff != "" {
		t.Errorf("when the ledger wants a newer one (-want +got):\n%s", diff)
	}
}

// TestHostsFailed: a server that does not answer is not asked for a while, whatever else is
// read again. It does not make the others look old.
func TestHostsFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	address, asked := listenSilently(t)
	w.servers = append(w.servers, Server{
		MachineID: "host02", Name: "h2", Endpoint: engine.Endpoint{Address: address}, Fingerprint: w.servers[0].Fingerprint,
	})
	begun := time.Now()
	now, book := begun, &movingLedger{}
	c := w.newComposer(func(c *ComposerConfig) {
		// The other host must be read, however busy the machine is.
		c.Timeout, c.Now = 10*time.Second, func() time.Time { return now }
		c.Ledger = book
	})
	names := c.WrapNames(w.maas.Names)
	for n, want := range []struct {
		at    time.Duration
		reads int // of the host that answers
	}{{0, 1}, {5 * time.Second, 1}, {10 * time.Second, 1}, {29 * time.Second, 1}} {
		w.sim.ResetJournal()
		now, book.tag.Sequence, book.floor = begun.Add(want.at), int64(n), int64(n)
		names.Refresh()
		for range 2 {
			hosts, err := c.Hosts(t.Context())
			if err != nil || len(hosts) != 2 || hosts[0].Inventory != book.tag || hosts[1].Version != "" {
				t.Fatalf("after %s: %+v, %v", want.at, hosts, err)
			}
		}
		if j := w.sim.Journal(); j.LXD.Count("GET 1.0/resources") != want.reads {
			t.Errorf("after %s: the other host was read %d times, want %d", want.at, j.LXD.Count("GET 1.0/resources"), want.reads)
		}
	}
	wantAsked := func(want int) {
		t.Helper()
		for n := range want {
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Fatalf("the host that does not answer was asked %d times, want %d", n, want)
			}
		}
		select {
		case <-asked:
			t.Errorf("the host that does not answer was asked more than %d times", want)
		case <-time.After(shortTimeout):
		}
	}
	wantAsked(1)
	now = begun.Add(failureTTL)
	if _, err := c.Hosts(t.Context()); err != nil {
		t.Error(err)
	}
	wantAsked(1)
}

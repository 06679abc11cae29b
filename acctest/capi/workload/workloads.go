package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// defaultInterval is how often machines are looked at: often enough that no
// test waits for it.
const defaultInterval = 200 * time.Millisecond

// Options say whose machines run, and how.
type Options struct {
	// Site deploys the machines.
	Site Site
	// Elsewhere tells that the machines' addresses are not this system's. Their API
	// servers listen at ports of 127.0.0.1, to which Dial and the proxy lead.
	Elsewhere bool
	// Interval is how often machines are looked at, 200 ms if zero.
	Interval time.Duration
	// ProxyAddress is where the proxy listens, a free port of 127.0.0.1 if
	// empty. A process reads HTTPS_PROXY once: one whose own clients are to use
	// the proxy by that variable sets it, and so the address, at its start.
	ProxyAddress string
	// Log is told what machines do, one line each; nil for nobody.
	Log func(format string, args ...any)
}

// Workloads are the insides of a simulator's machines.
type Workloads struct {
	site     Site
	maps     bool
	interval time.Duration
	log      func(format string, args ...any)
	memory   inmemory.Manager
	proxy    *proxy
	cancel   context.CancelFunc
	done     sync.WaitGroup

	// machines are those that run, or did; the loop's own.
	machines map[string]*machine

	mu       sync.Mutex
	clusters []*Cluster
	problems map[string]string // by host name
	hosts    map[string][]string
	mapped   map[string]string // from a machine's host:port to where its API server listens
}

// Start looks at the simulator's machines until Stop.
func Start(ctx context.Context, o Options) (*Workloads, error) {
	memory, err := newMemory()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := memory.Start(ctx); err != nil {
		cancel()
		return nil, err
	}
	w := &Workloads{
		site: o.Site, maps: o.Elsewhere, interval: or(o.Interval, defaultInterval), log: o.Log, memory: memory, cancel: cancel,
		machines: map[string]*machine{}, problems: map[string]string{}, hosts: map[string][]string{}, mapped: map[string]string{},
	}
	if w.proxy, err = startProxy(or(o.ProxyAddress, "127.0.0.1:0"), w.Dial); err != nil {
		cancel()
		return nil, err
	}
	w.done.Go(func() { w.loop(ctx) })
	return w, nil
}

// Stop ends all clusters, and waits until nothing of them runs.
func (w *Workloads) Stop() {
	w.cancel()
	w.done.Wait()
	w.proxy.stop()
	for _, m := range w.machines {
		if m.server != nil {
			m.server.stop()
		}
	}
}

// Clusters are the clusters that machines have initialised and that some
// machine still has.
func (w *Workloads) Clusters() []*Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.clusters)
}

// Problems say of machines, by host name, why they are no nodes yet: what
// kubeadm would print. Machines whose user-data has no kubeadm are not there.
func (w *Workloads) Problems() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.problems)
}

func (w *Workloads) loop(ctx context.Context) {
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.interval):
		}
	}
}

// look lets every machine do what it can now.
func (w *Workloads) look(ctx context.Context) {
	all, err := w.site.Machines(ctx)
	w.note("MAAS", err)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, m := range all {
		seen[m.SystemID] = true
		w.note(m.Hostname, w.step(ctx, m))
	}
	for id, m := range w.machines {
		if !seen[id] {
			w.note(m.hostname, w.halt(ctx, m))
			delete(w.machines, id)
		}
	}
	w.forget()
	for _, c := range w.Clusters() {
		w.note("cluster "+c.Endpoint, c.tidy(ctx))
	}
}

// step lets one machine boot, run on, or halt.
func (w *Workloads) step(ctx context.Context, seen sim.Machine) error {
	m := w.machines[seen.SystemID]
	if !boots(seen) {
		if m == nil {
			return nil
		}
		if seen.StatusName != "Deployed" {
			delete(w.machines, seen.SystemID) // its disk is another's
		}
		return w.halt(ctx, m)
	}
	data, err := w.site.UserData(ctx, seen.SystemID)
	if err != nil || len(data) == 0 {
		return err
	}
	if m != nil && !m.sameAs(data) {
		if err := w.halt(ctx, m); err != nil {
			return err
		}
		m = nil
	}
	if m == nil {
		m = &machine{hostname: seen.Hostname, userData: data}
		w.machines[seen.SystemID] = m
	}
	was := m.on
	err = w.boot(ctx, m, seen)
	if m.on && !was {
		w.say("%s is node %s of the cluster at %s", seen.Hostname, m.plan.node.Name, m.plan.endpoint)
	}
	return err
}

// note keeps what a machine waits for.
func (w *Workloads) note(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || errors.Is(err, errNoKubeadm) || errors.Is(err, context.Canceled) {
		delete(w.problems, name)
		return
	}
	if text := err.Error(); w.problems[name] != text {
		w.problems[name] = text
		w.say("%s: %s", name, text)
	}
}

// forget drops the clusters that no machine has any more.
func (w *Workloads) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters = slices.DeleteFunc(w.clusters, func(c *Cluster) bool {
		for _, m := range w.machines {
			if m.cluster == c {
				return false
			}
		}
		w.memory.DeleteResourceGroup(c.hash)
		return true
	})
}

// say tells people.
func (w *Workloads) say(format string, args ...any) {
	if w.log != nil {
		w.log("workload: %s", fmt.Sprintf(format, args...))
	}
}

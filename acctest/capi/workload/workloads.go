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

// defaultPollInterval is how often machines are looked at: often enough that no
// test waits for it.
const defaultPollInterval = 200 * time.Millisecond

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
	site          Site
	mapsAddresses bool
	interval      time.Duration
	log           func(format string, args ...any)
	memory        inmemory.Manager
	proxy         *proxy
	cancel        context.CancelFunc
	done          sync.WaitGroup

	// machines are those that run, or did; the loop's own.
	machines map[string]*machine

	mu              sync.Mutex
	clusters        []*Cluster
	problems        map[string]string // by host name
	hosts           map[string][]string
	listenAddresses map[string]string // from a machine's host:port to where its API server listens
}

// StartMachines looks at the simulator's machines until Stop.
func StartMachines(ctx context.Context, o Options) (*Workloads, error) {
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
		site: o.Site, mapsAddresses: o.Elsewhere, interval: valueOr(o.Interval, defaultPollInterval), log: o.Log, memory: memory, cancel: cancel,
		machines: map[string]*machine{}, problems: map[string]string{}, hosts: map[string][]string{}, listenAddresses: map[string]string{},
	}
	if w.proxy, err = startProxy(valueOr(o.ProxyAddress, "127.0.0.1:0"), w.Dial); err != nil {
		cancel()
		return nil, err
	}
	w.done.Go(func() { w.pollMachines(ctx) })
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

func (w *Workloads) pollMachines(ctx context.Context) {
	for {
		w.reconcileMachines(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.interval):
		}
	}
}

// reconcileMachines lets every machine do what it can now.
func (w *Workloads) reconcileMachines(ctx context.Context) {
	all, err := w.site.Machines(ctx)
	w.recordProblem("MAAS", err)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, m := range all {
		seen[m.SystemID] = true
		w.recordProblem(m.Hostname, w.reconcileMachine(ctx, m))
	}
	for id, m := range w.machines {
		if !seen[id] {
			w.recordProblem(m.hostname, w.haltMachine(ctx, m))
			delete(w.machines, id)
		}
	}
	w.dropUnusedClusters()
	for _, c := range w.Clusters() {
		w.recordProblem("cluster "+c.Endpoint, c.runControllers(ctx))
	}
}

// reconcileMachine lets one machine boot, run on, or halt.
func (w *Workloads) reconcileMachine(ctx context.Context, seen sim.Machine) error {
	m := w.machines[seen.SystemID]
	if !isRunning(seen) {
		if m == nil {
			return nil
		}
		if seen.StatusName != "Deployed" {
			delete(w.machines, seen.SystemID) // its disk is another's
		}
		return w.haltMachine(ctx, m)
	}
	data, err := w.site.UserData(ctx, seen.SystemID)
	if err != nil || len(data) == 0 {
		return err
	}
	if m != nil && !m.hasUserData(data) {
		if err := w.haltMachine(ctx, m); err != nil {
			return err
		}
		m = nil
	}
	if m == nil {
		m = &machine{hostname: seen.Hostname, userData: data}
		w.machines[seen.SystemID] = m
	}
	was := m.kubeletRuns
	err = w.bootMachine(ctx, m, seen)
	if m.kubeletRuns && !was {
		w.logf("%s is node %s of the cluster at %s", seen.Hostname, m.plan.node.Name, m.plan.endpoint)
	}
	return err
}

// recordProblem keeps what a machine waits for.
func (w *Workloads) recordProblem(name string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || errors.Is(err, errNoKubeadm) || errors.Is(err, context.Canceled) {
		delete(w.problems, name)
		return
	}
	if text := err.Error(); w.problems[name] != text {
		w.problems[name] = text
		w.logf("%s: %s", name, text)
	}
}

// dropUnusedClusters drops the clusters that no machine has any more.
func (w *Workloads) dropUnusedClusters() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters = slices.DeleteFunc(w.clusters, func(c *Cluster) bool {
		for _, m := range w.machines {
			if m.cluster == c {
				return false
			}
		}
		w.memory.DeleteResourceGroup(c.caHash)
		return true
	})
}

// logf tells people.
func (w *Workloads) logf(format string, args ...any) {
	if w.log != nil {
		w.log("workload: %s", fmt.Sprintf(format, args...))
	}
}

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

// defaultPollInterval is how often machines are looked at. It is short, so that
// no test waits for it.
const defaultPollInterval = 200 * time.Millisecond

// Options say which machines run, and how.
type Options struct {
	// Site deploys the machines.
	Site Site
	// Elsewhere says that this system does not have the machines' addresses.
	// Their API servers listen at ports of 127.0.0.1, to which Dial and the
	// proxy lead.
	Elsewhere bool
	// Interval is the time between two looks at the machines; 0 means 200 ms.
	Interval time.Duration
	// ProxyAddress is where the proxy listens; empty means a free port of
	// 127.0.0.1. A process reads HTTPS_PROXY only once. If the process's own
	// clients use the proxy, set the variable and this address at its start.
	ProxyAddress string
	// Log gets a line for each thing that a machine does; nil means no log.
	Log func(format string, args ...any)
}

// Workloads are the insides of all machines of a site.
type Workloads struct {
	site          Site
	mapsAddresses bool
	interval      time.Duration
	log           func(format string, args ...any)
	memory        inmemory.Manager
	proxy         *proxy
	cancel        context.CancelFunc
	done          sync.WaitGroup

	// machines are those that run or ran. Only the loop uses the map.
	machines map[string]*machine

	mu              sync.Mutex
	clusters        []*Cluster
	problems        map[string]string // by host name
	hosts           map[string][]string
	listenAddresses map[string]string // from a machine's host:port to where its API server listens
}

// StartMachines watches the site's machines and runs them until Stop.
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

// Clusters are the clusters that machines have initialised and that at least
// one machine still has.
func (w *Workloads) Clusters() []*Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.clusters)
}

// Problems say, by host name, why machines are not nodes yet: what kubeadm
// would print. Machines whose user-data has no kubeadm are left out.
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

// reconcileMachines takes every machine as far as it gets now.
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

// reconcileMachine boots one machine, keeps it running, or halts it.
func (w *Workloads) reconcileMachine(ctx context.Context, seen sim.Machine) error {
	m := w.machines[seen.SystemID]
	if !isRunning(seen) {
		if m == nil {
			return nil
		}
		if seen.StatusName != "Deployed" {
			delete(w.machines, seen.SystemID) // its disk has another deployment
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

// recordProblem stores what a machine waits for.
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

// logf writes a line to Options.Log.
func (w *Workloads) logf(format string, args ...any) {
	if w.log != nil {
		w.log("workload: %s", fmt.Sprintf(format, args...))
	}
}

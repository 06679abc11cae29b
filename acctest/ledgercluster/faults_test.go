package ledgercluster

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// faults are what the tests do to nodes. After each, all nodes work again.
var faults = map[string]struct {
	reason  string
	diskMiB int // disk of each node; 0: no limit
	do      func(ctx context.Context, c *cluster, rnd *rand.Rand)
}{
	"Killed": {
		reason: "The leader dies, and comes back.",
		do: func(ctx context.Context, c *cluster, rnd *rand.Rand) {
			n := c.leader()
			n.kill()
			sleepUnlessDone(ctx, time.Duration(rnd.IntN(2000))*time.Millisecond)
			n.startProcess()
			n.wantReady()
		},
	},
	"Stopped": {
		reason: "The leader hangs: connections to it stay open, and nothing answers.",
		do:     onLeaderForSeconds(func(n *node) { n.sendSignal(syscall.SIGSTOP) }, func(n *node) { n.sendSignal(syscall.SIGCONT) }),
	},
	"CutOff": {
		reason: "The leader loses the other nodes, and clients still reach it.",
		do:     onLeaderForSeconds((*node).cutOff, (*node).rejoin),
	},
	"Isolated": {
		reason: "Nobody reaches the leader, in either direction.",
		do:     onLeaderForSeconds((*node).isolate, (*node).rejoin),
	},
	"Rolling": {
		reason: "All nodes are started anew, one after the other, as in an upgrade.",
		do: func(_ context.Context, c *cluster, _ *rand.Rand) {
			for _, n := range c.nodes {
				n.signalAndWait(syscall.SIGTERM)
				n.startProcess()
				n.wantReady()
			}
		},
	},
	"DiskFull": {
		reason: "The disk of the leader is full for a while.", diskMiB: 256,
		do: func(ctx context.Context, c *cluster, rnd *rand.Rand) {
			n := c.leader()
			ballast := n.fillDisk()
			sleepUnlessDone(ctx, time.Duration(1000+rnd.IntN(2000))*time.Millisecond)
			if err := os.Remove(ballast); err != nil {
				c.t.Error(err)
			}
			n.restartIfDown()
		},
	},
}

// onLeaderForSeconds does something to the leader, and undoes it after some
// seconds.
func onLeaderForSeconds(begin, end func(*node)) func(context.Context, *cluster, *rand.Rand) {
	return func(ctx context.Context, c *cluster, rnd *rand.Rand) {
		n := c.leader()
		begin(n)
		sleepUnlessDone(ctx, time.Duration(2000+rnd.IntN(3000))*time.Millisecond)
		end(n)
		n.wantReady()
	}
}

// sleepUnlessDone sleeps until d is over or ctx ends.
func sleepUnlessDone(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fillDisk fills the node's disk to the last byte.
func (n *node) fillDisk() (ballast string) {
	ballast = filepath.Join(n.folder, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		n.cluster.t.Error(err)
		return ballast
	}
	defer file.Close()
	for block := 1 << 20; block > 0; { // smaller blocks at the end
		if _, err := file.Write(make([]byte, block)); err != nil {
			block /= 2
		}
	}
	return ballast
}

// restartIfDown starts a node that has ended, and waits until it serves.
func (n *node) restartIfDown() {
	if status, _ := n.getDiagnostics("/healthz"); status == 0 {
		n.kill()
		n.startProcess()
	}
	n.wantReady()
}

// injectFaults does the named kinds of faults in turn, and counts them.
func (c *cluster) injectFaults(count *atomic.Int64, names ...string) func(context.Context, *rand.Rand) {
	return func(ctx context.Context, rnd *rand.Rand) {
		for ctx.Err() == nil {
			name := names[rnd.IntN(len(names))]
			faults[name].do(ctx, c, rnd)
			count.Add(1)
			sleepUnlessDone(ctx, time.Duration(rnd.IntN(1000))*time.Millisecond)
		}
	}
}

// TestNodesAcknowledgedOnce: whatever happens to a node, 32 writers lose no
// acknowledged write, and no room is given twice.
func TestNodesAcknowledgedOnce(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			c := newClusterWithDisks(t, fault.diskMiB)
			var count atomic.Int64
			ledgertest.CheckAcknowledgedOnce(t, ledgertest.Trial{Open: c.openLedger, InjectFaults: c.injectFaults(&count, name), Clients: 32, Steps: 24, Seed: 1})
			if count.Load() == 0 {
				t.Error("nothing happened to a node: this proves nothing")
			}
			if t.Failed() {
				t.Log(fault.reason)
			}
			t.Logf("happened: %d times", count.Load())
		})
	}
}

// TestNodesLinearizable: nodes are killed, stopped and cut off. Their answers
// must be possible ones of a single ledger that serves one client at a time.
// Reads may be late, and are not judged.
func TestNodesLinearizable(t *testing.T) {
	ledgertest.CheckHistories(t, func(t *testing.T) ledgertest.Trial {
		c := newCluster(t)
		var count atomic.Int64
		t.Cleanup(func() { t.Logf("happened: %d times", count.Load()) })
		return ledgertest.Trial{Open: c.openLedger, InjectFaults: c.injectFaults(&count, "Killed", "Stopped", "CutOff", "Isolated", "Rolling"), StaleReads: true}
	})
}

package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// recordingsVar names the folder with the genuine exchanges. A relative path
// counts from the repository's root.
const recordingsVar = "MAAS_RECORDINGS"

// leastShare is the share of the exchanges on the client's routes that must be
// reproduced.
const leastShare = 0.97

// TestFidelity replays exchanges with a genuine MAAS 3.4, in their order,
// against the simulator and compares the answers.
func TestFidelity(t *testing.T) {
	dir := os.Getenv(recordingsVar)
	if dir == "" {
		fmt.Printf("TestFidelity: SKIPPED: %s names no folder with recorded exchanges\n", recordingsVar)
		t.Skipf("%s names no folder with recorded exchanges", recordingsVar)
	}
	exchanges, err := loadExchanges(fromRoot(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := newReplay(t, exchanges)
		defer p.world.Close()
		p.run()
		p.judge()
	})
}

// fromRoot resolves a path against the folder that holds go.mod.
func fromRoot(t *testing.T, path string) string {
	t.Helper()
	if filepath.IsAbs(path) {
		return path
	}
	for root := "."; ; root = filepath.Join("..", root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, path)
		}
		if strings.Count(root, "..") > 10 {
			t.Fatal("no go.mod above this folder")
		}
	}
}

// clientRoutes begin the paths of what the product's client calls, and of the
// errors that it must tell apart.
var clientRoutes = []string{
	"version", "users", "vm-hosts", "pods", "machines", "nodes", "zones", "resourcepools", "resourcepool",
	"tags", "domains", "subnets", "boot-resources", "events", "nosuchthing",
}

func (e exchange) ofClient() bool {
	path := strings.TrimPrefix(e.Request.Path, "/MAAS/api/2.0/")
	for _, prefix := range clientRoutes {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}

// judge prints the outcome and fails the test where it is worse than promised.
func (p *replay) judge() {
	tally := map[bool]*count{true: {}, false: {}}
	for _, e := range p.exchanges {
		c := tally[e.ofClient()]
		c.all++
		problems, reason := p.problems[e.Number], unreproduced[e.Number]
		switch {
		case len(problems) == 0 && reason == "":
			c.same++
		case len(problems) == 0:
			c.same++
			p.t.Errorf("%s is reproduced, but listed as not: %s", e, reason)
		case reason == "":
			p.t.Errorf("%s is not reproduced:\n\t%s", e, strings.Join(problems, "\n\t"))
		default:
			fmt.Printf("TestFidelity: not reproduced: %s: %s\n", e, reason)
		}
	}
	client, other := tally[true], tally[false]
	fmt.Printf("TestFidelity: %d of %d exchanges reproduced (%.1f %%); %d of other routes left out, of which %d are reproduced, too\n",
		client.same, client.all, 100*client.share(), other.all, other.same)
	if client.share() < leastShare {
		p.t.Errorf("%.1f %% is less than %.0f %%", 100*client.share(), 100*leastShare)
	}
}

// count is how many exchanges there are and how many came out the same.
type count struct{ all, same int }

func (c *count) share() float64 { return float64(c.same) / float64(max(c.all, 1)) }

package realmaas_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// lentWorld has a machine to lend, a VM host, and what an operator has.
func lentWorld() sim.Model {
	return sim.Model{
		Zones: []string{"north", "south"}, Pools: []string{"lab"}, Tags: []string{"rack", "tf-acc-0001-a", "web"},
		Hosts:    []sim.HostModel{{Name: "alpha", Cores: 8, MemoryMiB: 32768}},
		Machines: []sim.MachineModel{{Hostname: "node", Zone: "north", Tags: []string{"rack"}}, {Hostname: "web", Status: "Deployed"}, {Hostname: "tf-acc-0001-metal"}},
	}
}

// open is a client for a simulated MAAS.
func open(t *testing.T, m sim.Model) (*realmaas.Client, *sim.Server) {
	t.Helper()
	s := sim.Start(t, m)
	c, err := realmaas.NewClient(s.URL, s.APIKey())
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestGiveBack makes a lent machine Ready again whatever its state is.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	statuses := []string{
		"Ready", "New", "Failed commissioning", "Failed testing", "Allocated", "Deploying", "Deployed", "Failed deployment",
		"Releasing failed", "Failed disk erasing", "Broken", "Rescue mode",
	}
	for _, status := range statuses {
		for _, locked := range []bool{false, true} {
			t.Run(strings.ReplaceAll(status, " ", "")+map[bool]string{true: "Locked"}[locked], func(t *testing.T) {
				t.Parallel()
				c, s := open(t, lentWorld())
				was := find(t, c, "node")
				zone, pool, name, tags := "south", "lab", "moved", []string{"web"}
				err := s.EditMachine("node", sim.MachineEdit{StatusName: &status, Locked: &locked, Zone: &zone, Pool: &pool, Hostname: &name, Tags: &tags})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				if err := c.GiveBack(ctx, was, 10*time.Millisecond); err != nil {
					t.Fatal(err)
				}
				is := find(t, c, "node")
				is.PowerState, is.Cores, is.MemoryMiB, is.StatusMessage = was.PowerState, was.Cores, was.MemoryMiB, was.StatusMessage
				is.IPAddresses = was.IPAddresses
				is.Tags = slices.DeleteFunc(is.Tags, func(tag string) bool { return !slices.Contains(was.Tags, tag) })
				if diff := cmp.Diff(was, is); diff != "" {
					t.Errorf("it is not as it was (-was +is):\n%s", diff)
				}
			})
		}
	}
}

// TestGiveBackWaits ends with its ctx where MAAS does not come to an end, and names
// the machine and its status.
func TestGiveBackWaits(t *testing.T) {
	t.Parallel()
	c, s := open(t, lentWorld())
	was, erasing := find(t, c, "node"), "Disk erasing"
	if err := s.EditMachine("node", sim.MachineEdit{StatusName: &erasing}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.GiveBack(ctx, was, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "node") {
		t.Errorf("it ends with %v", err)
	}
}

// find is the machine of a hostname.
func find(t *testing.T, c *realmaas.Client, hostname string) realmaas.Machine {
	t.Helper()
	all, err := c.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := realmaas.Find(all, hostname)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

package realmaas_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// lentModel has a machine to lend, a VM host, and an operator's machine.
func lentModel() sim.Model {
	return sim.Model{
		Zones: []string{"north", "south"}, Pools: []string{"lab"}, Tags: []string{"rack", "tf-acc-0001-a", "web"},
		Hosts:    []sim.HostModel{{Name: "alpha", Cores: 8, MemoryMiB: 32768}},
		Latency:  sim.Latency{Commission: 100 * time.Millisecond, Release: 50 * time.Millisecond}, // longer than many looks
		Machines: []sim.MachineModel{{Hostname: "node", Zone: "north", Tags: []string{"rack"}}, {Hostname: "web", Status: "Deployed"}, {Hostname: "tf-acc-0001-metal"}},
	}
}

// openMAAS starts a simulated MAAS and makes a client for it.
func openMAAS(t *testing.T, m sim.Model) (*realmaas.Client, *sim.Server) {
	t.Helper()
	s := sim.StartServer(t, m)
	c, err := realmaas.NewClient(s.URL, s.APIKey())
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// TestGiveBack makes a lent machine Ready again, whatever its state is.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	statuses := []string{
		"Ready", "New", "Commissioning", "Failed commissioning", "Testing", "Failed testing", "Allocated", "Deploying", "Deployed",
		"Failed deployment", "Releasing failed", "Failed disk erasing", "Broken", "Rescue mode", "Failed to enter rescue mode", "Failed to exit rescue mode",
	}
	for _, status := range statuses {
		for _, locked := range []bool{false, true} {
			t.Run(strings.ReplaceAll(status, " ", "")+map[bool]string{true: "Locked"}[locked], func(t *testing.T) {
				t.Parallel()
				c, s := openMAAS(t, lentModel())
				was := findMachine(t, c, "node")
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
				is := findMachine(t, c, "node")
				is.PowerState, is.Cores, is.MemoryMiB, is.StatusMessage = was.PowerState, was.Cores, was.MemoryMiB, was.StatusMessage
				is.IPAddresses = was.IPAddresses
				is.Tags = slices.DeleteFunc(is.Tags, func(tag string) bool { return !slices.Contains(was.Tags, tag) })
				if diff := cmp.Diff(describeLinks(was.Interfaces), describeLinks(is.Interfaces)); diff != "" {
					t.Errorf("its links are not as they were (-was +is):\n%s", diff)
				}
				is.Interfaces = was.Interfaces // commissioning replaces the links
				if diff := cmp.Diff(was, is); diff != "" {
					t.Errorf("it is not as it was (-was +is):\n%s", diff)
				}
			})
		}
	}
}

// TestGiveBackWaits ends with its ctx where MAAS never finishes. The error
// names the machine and its status.
func TestGiveBackWaits(t *testing.T) {
	t.Parallel()
	c, s := openMAAS(t, lentModel())
	was, erasing := findMachine(t, c, "node"), "Disk erasing"
	if err := s.EditMachine("node", sim.MachineEdit{StatusName: &erasing}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.GiveBack(ctx, was, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "node") {
		t.Errorf("it ends with %v", err)
	}
}

// TestGiveBackCommissions waits for the end of a commissioning that it has
// begun, also through many looks.
func TestGiveBackCommissions(t *testing.T) {
	t.Parallel()
	m := lentModel()
	m.Latency.Commission = 300 * time.Millisecond
	c, s := openMAAS(t, m)
	was, failed := findMachine(t, c, "node"), "Failed commissioning"
	if err := s.EditMachine("node", sim.MachineEdit{StatusName: &failed}); err != nil {
		t.Fatal(err)
	}
	if err := c.GiveBack(t.Context(), was, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if n := s.Journal().Count("POST machines/{id}/ commission"); n != 1 {
		t.Errorf("it is commissioned %d times", n)
	}
}

// TestGiveBackTellsRefusal: the error has MAAS's refusal, not only that the
// time was over.
func TestGiveBackTellsRefusal(t *testing.T) {
	t.Parallel()
	c, s := openMAAS(t, lentModel())
	was, deployed := findMachine(t, c, "node"), "Deployed"
	if err := s.EditMachine("node", sim.MachineEdit{StatusName: &deployed}); err != nil {
		t.Fatal(err)
	}
	s.AddFault(sim.Fault{Method: http.MethodPost, Path: "machines/*/", Op: "release", Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // it ends after the refusal, however long that takes
		for s.Journal().Count("POST machines/{id}/ release") < 2 && realmaas.WaitFor(t.Context(), time.Millisecond) == nil {
		}
		cancel()
	}()
	err := c.GiveBack(ctx, was, 10*time.Millisecond)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "release: 503") || !strings.Contains(err.Error(), "node") {
		t.Errorf("it ends with %v", err)
	}
}

// TestGiveBackKnowsNoWay: the error names a status from which no operation
// leads back.
func TestGiveBackKnowsNoWay(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"Missing", "Retired", "Reserved"} {
		c, s := openMAAS(t, lentModel())
		was := findMachine(t, c, "node")
		if err := s.EditMachine("node", sim.MachineEdit{StatusName: &status}); err != nil {
			t.Skipf("maassim has no status %s: %v", status, err)
		}
		if err := c.GiveBack(t.Context(), was, time.Millisecond); err == nil || !strings.Contains(err.Error(), status) {
			t.Errorf("of %s it ends with %v", status, err)
		}
	}
}

// TestGiveBackInterfaces removes a bridge, and restores the links of the NIC
// below it.
func TestGiveBackInterfaces(t *testing.T) {
	t.Parallel()
	for _, link := range []url.Values{
		nil, // as commissioning left it
		{"mode": {"STATIC"}, "ip_address": {"10.77.0.5"}}, {"mode": {"DHCP"}}, {"mode": {"LINK_UP"}}, {"mode": {"AUTO"}},
	} {
		t.Run("Link"+link.Get("mode"), func(t *testing.T) {
			t.Parallel()
			m := lentModel()
			m.Subnets = []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}}
			c, s := openMAAS(t, m)
			if link != nil {
				replaceLink(t, c, findMachine(t, c, "node"), link)
			}
			was := findMachine(t, c, "node")
			if err := c.AddBridge(t.Context(), was.SystemID, "br0"); err != nil {
				t.Fatal(err)
			}
			if n := len(findMachine(t, c, "node").Interfaces); n != len(was.Interfaces)+1 {
				t.Errorf("it has %d interfaces, and had %d", n, len(was.Interfaces))
			}
			if err := c.Operate(t.Context(), was.SystemID, "deploy", nil); err != nil {
				t.Fatal(err)
			}
			s.Settle()
			if err := c.GiveBack(t.Context(), was, time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(describeLinks(was.Interfaces), describeLinks(findMachine(t, c, "node").Interfaces)); diff != "" {
				t.Errorf("the links are not as they were (-was +is):\n%s", diff)
			}
			calls := len(s.Journal().Calls)
			if err := c.GiveBack(t.Context(), was, time.Millisecond); err != nil || len(s.Journal().Calls) != calls+1 {
				t.Errorf("given back again it takes %d calls, want a look alone (%v)", len(s.Journal().Calls)-calls, err)
			}
		})
	}
}

// replaceLink replaces the link of a machine's only NIC.
func replaceLink(t *testing.T, c *realmaas.Client, m realmaas.Machine, link url.Values) {
	t.Helper()
	nic := m.Interfaces[0]
	path := fmt.Sprintf("nodes/%s/interfaces/%d/", m.SystemID, nic.ID)
	link.Set("subnet", fmt.Sprint(nic.Links[0].Subnet.ID))
	for _, l := range nic.Links {
		if _, err := c.Send(t.Context(), http.MethodPost, path+"?op=unlink_subnet", url.Values{"id": {fmt.Sprint(l.ID)}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Send(t.Context(), http.MethodPost, path+"?op=link_subnet", link); err != nil {
		t.Fatal(err)
	}
}

// describeLinks describes the links of interfaces, a line each.
func describeLinks(all []realmaas.Interface) (lines []string) {
	for _, i := range all {
		for _, l := range i.Links {
			lines = append(lines, i.Name+" "+l.String())
		}
	}
	return lines
}

// findMachine finds a machine by its hostname.
func findMachine(t *testing.T, c *realmaas.Client, hostname string) realmaas.Machine {
	t.Helper()
	all, err := c.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := realmaas.FindMachine(all, hostname)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

package acctest_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// newLendingSite is another owner's MAAS, on a simulator. It has machines to
// lend, a VM, and an LXD that the suite can read.
func newLendingSite(t *testing.T, inLXD bool) (*site, *sim.Server) {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), "key.pem"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := sim.StartServer(t, sim.Model{
		Zones: []string{"north"}, Images: []string{"ubuntu/noble"}, Subnets: []sim.SubnetModel{{Name: "wire", CIDR: "10.77.0.0/24", DHCP: true}},
		Hosts: []sim.HostModel{{Name: "alpha", Cores: 16, MemoryMiB: 65536, Zone: "north", TrustedCertificates: []string{key.Certificate}}},
		Machines: []sim.MachineModel{
			{Hostname: "metal1", Cores: 8, MemoryMiB: 32768, Tags: []string{"rack"}}, {Hostname: "metal2", Cores: 8, MemoryMiB: 32768},
			{Hostname: "web", Status: "Deployed"},
		},
		LXDListen: sim.LXDListenAuto,
	})
	settings := realmaas.Settings{
		URL: s.URL, Key: s.APIKey(), VMHost: "alpha", Image: "ubuntu/noble", Machines: []string{"metal1", "metal2"}, Project: "default",
		Interval: 20 * time.Millisecond, Parallel: 2, Deadline: time.Hour,
		LXDs: []realmaas.LXD{{Address: "https://" + s.LXDs()[0].Address, Certificate: key.Certificate, Key: key.Credentials.Key}},
	}
	if inLXD {
		settings.VMHost = "none-yet"
	}
	return newSite(settings, inLXD), s
}

// wantAsBefore fails a test where a site differs from before.
func wantAsBefore(t *testing.T, s *site) {
	t.Helper()
	after, err := s.inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lines := difference(s.inventoryBefore, after, s.mayStayBehind); len(lines) > 0 || len(s.inventoryBefore) == 0 {
		t.Errorf("MAAS is not as it was:\n%s", strings.Join(lines, "\n"))
	}
}

// TestSiteOpenFails undoes what the opening of a site has done, wherever it
// fails. That is a zone, a pool, and a lent machine with a bridge that is
// Deployed.
func TestSiteOpenFails(t *testing.T) {
	t.Parallel()
	status := func(method, path, op string) sim.Fault {
		return sim.Fault{Method: method, Path: path, Op: op, Kind: sim.FaultStatus, Status: http.StatusInternalServerError}
	}
	cases := map[string]struct {
		fault sim.Fault
		inLXD bool
		does  string // a call that the opening makes before it fails
	}{
		"Pool":      {status("POST", "resourcepools/", ""), false, "POST zones/"},
		"Images":    {status("GET", "boot-resources/", ""), false, "POST resourcepools/"},
		"Networks":  {status("GET", "subnets/", ""), false, "POST resourcepools/"},
		"Link":      {status("POST", "nodes/*/interfaces/*/", "link_subnet"), true, "POST nodes/{id}/interfaces/ create_bridge"},
		"Allocate":  {status("POST", "machines/", "allocate"), true, "POST nodes/{id}/interfaces/{nic}/ link_subnet"},
		"Deploy":    {status("POST", "machines/*/", "deploy"), true, "POST machines/ allocate"},
		"Deployed":  {sim.Fault{Method: "POST", Path: "machines/*/", Op: "deploy", When: sim.FaultAfterEffect, Kind: sim.FaultReset}, true, "POST machines/ allocate"},
		"OwnerData": {status("POST", "machines/*/", "set_owner_data"), true, "POST machines/{id}/ deploy"},
		"Tag":       {status("POST", "tags/*/", "update_nodes"), true, "POST machines/{id}/ deploy"},
		"InLXD":     {status("GET", "boot-resources/", ""), true, "POST machines/{id}/ deploy"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s, maas := newLendingSite(t, tc.inLXD)
			tc.fault.Nth = 1
			maas.AddFault(tc.fault)
			if err := s.open(t.Context()); err == nil {
				t.Fatal("it opens")
			}
			if maas.Journal().Count(tc.does) == 0 {
				t.Errorf("it fails before %s", tc.does)
			}
			if err := s.undo.run(); err != nil {
				t.Errorf("what it has done is not taken back: %v", err)
			}
			wantAsBefore(t, s)
		})
	}
}

// TestSiteOpenInterrupted ends the opening with its ctx, because a deployment
// may take an hour.
func TestSiteOpenInterrupted(t *testing.T) {
	t.Parallel()
	s, maas := newLendingSite(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for maas.Journal().Count("POST machines/{id}/ deploy") == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	maas.AddFault(sim.Fault{Method: "POST", Path: "machines/*/", Op: "deploy", Kind: sim.FaultDelay, Delay: 300 * time.Millisecond})
	if err := s.open(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if err := s.undo.run(); err != nil {
		t.Errorf("what it has done is not taken back: %v", err)
	}
	wantAsBefore(t, s)
}

// TestSiteUndo undoes all steps, the last first and each once, also where a
// step fails.
func TestSiteUndo(t *testing.T) {
	t.Parallel()
	var u undoStack
	var done []string
	for _, what := range []string{"first", "second", "third"} {
		u.push(what, func(context.Context) error {
			if done = append(done, what); what != "first" {
				return errors.New("no")
			}
			return nil
		})
	}
	err := u.run()
	if err == nil || !strings.Contains(err.Error(), "cannot second: no") || !strings.Contains(err.Error(), "cannot third: no") {
		t.Errorf("it ends with %v", err)
	}
	if err := u.run(); err != nil || !slices.Equal(done, []string{"third", "second", "first"}) {
		t.Errorf("it did %q, %v", done, err)
	}
}

// TestSiteEnds starts no story after a signal or the deadline. A second signal
// undoes what the run has done, in the middle of stories.
func TestSiteEnds(t *testing.T) {
	t.Parallel()
	for title, deadline := range map[string]bool{"Interrupted": false, "Deadline": true} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s, maas := newLendingSite(t, false)
			if err := s.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if reason := s.storyStop.reason(); reason != "" {
				t.Fatal(reason)
			}
			signals, over, code := make(chan os.Signal, 2), make(chan time.Time, 1), make(chan int, 1)
			go s.watchForEnd(signals, over, func(c int) { code <- c })
			s.awaitSlot(t) // a story begins
			if err := s.client.Operate(t.Context(), s.lent[0].SystemID, "deploy", nil); err != nil {
				t.Fatal(err)
			}
			if deadline {
				over <- time.Now()
			} else {
				signals <- os.Interrupt
			}
			<-s.storyStop.begun
			for what, begin := range map[string]func(*testing.T){"story": s.awaitSlot, "lent": func(t *testing.T) { s.idleMachines = make(chan []realmaas.Machine); s.lendMachines(t) }} {
				t.Run(what, func(t *testing.T) {
					t.Cleanup(func() {
						if !t.Skipped() {
							t.Error("a story begins")
						}
					})
					s.lendOnce.Do(func() {})
					begin(t)
				})
			}
			signals <- os.Interrupt
			if got := <-code; got != 1 {
				t.Errorf("it exits with %d", got)
			}
			wantAsBefore(t, s)
			if got := s.undoAndCompare(0); got != 1 || maas.Journal().Count("POST machines/{id}/ release") == 0 {
				t.Errorf("a run that was ended exits with %d", got)
			}
		})
	}
}

// TestSiteCompares reports what is gone and what is left, but not what stays by
// design.
func TestSiteCompares(t *testing.T) {
	t.Parallel()
	s, maas := newLendingSite(t, false)
	if err := s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, i := range []sim.Instance{{Host: "alpha", Project: "maas", Name: "left"}} {
		if err := maas.AddInstance(i); err != nil {
			t.Fatal(err)
		}
	}
	tags := []string{"virtual"}
	if err := maas.EditMachine("metal1", sim.MachineEdit{Tags: &tags}); err != nil {
		t.Fatal(err)
	}
	err := s.compareInventory(t.Context())
	if err == nil {
		t.Fatal("it finds no difference")
	}
	for _, want := range []string{"gone: machine metal1 has the tag rack", "project maas: instances/left"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
	for _, not := range []string{"virtual", "profiles/", "project maas\n"} {
		if strings.Contains(err.Error()+"\n", not) {
			t.Errorf("want no %q in %v", not, err)
		}
	}
}

// TestSiteAlone acts while no other story runs, also where two stories want
// that at once.
func TestSiteAlone(t *testing.T) {
	t.Parallel()
	s := newSite(realmaas.Settings{Parallel: 3}, false)
	var mu sync.Mutex
	under, alone := 0, 0
	count := func(n *int, by int) {
		mu.Lock()
		defer mu.Unlock()
		if *n += by; alone > 1 || alone == 1 && under > 0 {
			t.Errorf("%d act alone, and %d are under way", alone, under)
		}
	}
	var stories sync.WaitGroup
	for n := range 12 {
		stories.Go(func() {
			s.storySlots <- struct{}{}
			defer func() { <-s.storySlots }()
			if n%4 == 0 {
				s.actAlone(func() { count(&alone, 1); time.Sleep(5 * time.Millisecond); count(&alone, -1) })
				return
			}
			count(&under, 1)
			time.Sleep(2 * time.Millisecond)
			count(&under, -1)
		})
	}
	stories.Wait()
	if len(s.storySlots) != 0 {
		t.Errorf("%d slots are not given back", len(s.storySlots))
	}
}

// TestSiteWords accepts the names of a site for the words that they translate,
// and for no others. The second lent machine is not the first.
func TestSiteWords(t *testing.T) {
	t.Parallel()
	s := newSite(realmaas.Settings{}, false)
	s.existingNames = map[string]string{"lxd1": "alpha", "lxd2": "", "example.org": "lab.example"}
	s.standIns.Store("metal1", "node1")
	s.standIns.Store("metal2", "node2")
	s.addresses.Store("192.0.2.7", "10.77.0.10")
	cases := []struct {
		word, name string
		want       bool
	}{
		{"node1", "metal1", true}, {"node2", "metal2", true}, {"node1", "metal2", false}, {"lxd1", "metal1", false},
		{"lxd1", "alpha", true}, {"lxd2", "", false}, {"web", runPrefix() + "7-web", true}, {"web", "tf-acc-zzzz-7-web", false},
		{"db", runPrefix() + "7-web", false}, {"10.77.0.10", "192.0.2.7", true}, {"10.77.0.11", "192.0.2.7", false},
	}
	for _, tc := range cases {
		if got := s.isSiteNameOf(tc.word, tc.name); got != tc.want {
			t.Errorf("that %q is called %q is %v, want %v", tc.word, tc.name, got, tc.want)
		}
	}
}

// TestSiteConfig translates a name anywhere, but not LACP's word "fast".
func TestSiteConfig(t *testing.T) {
	t.Parallel()
	n := &nameTranslator{existingNames: map[string]string{"fast": "ssd", "lan": "mgmt", "lxd2": "beta"}, made: map[string]string{}, onNewName: func(string) {}}
	cases := map[string]struct{ reason, body, want string }{
		"Pool":   {"A storage pool gets the name that it has at the site.", `disks = [{ pool = "fast" }]`, `disks = [{ pool = "ssd" }]`},
		"Output": {"A name without an attribute is translated, too.", `value = pools["fast"]`, `value = pools["ssd"]`},
		"Rate":   {"LACP has a rate named fast, which is no storage pool.", `lacp_rate = "fast"`, `lacp_rate = "fast"`},
		"Lacks":  {"The site lacks the subnet, so the mark skips the test.", `subnet = "dark"`, `subnet = ""` + lacksMark + "dark"},
	}
	for name, tc := range cases {
		if got := n.config(tc.body); got != tc.want+translatedMark {
			t.Errorf("%s: %s\ngot %q, want %q", name, tc.reason, got, tc.want+translatedMark)
		}
	}
}

package assembly_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// fleetOf is a region of hosts that are alike: cores, memory and disk for the
// given number of VMs of spec, spread over the zones.
func fleetOf(t *testing.T, hosts, vmsEach int, zones ...string) testMAAS {
	t.Helper()
	m := world()
	m.Zones, m.Hosts = zones, nil
	for n := range hosts {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("lxd%d", n+1), Zone: zones[n%len(zones)], LXDVersion: "5.21.3",
			Cores: 2 * vmsEach, MemoryMiB: int64(2048 * vmsEach), Subnets: []string{"lan"},
			StoragePools: []sim.StoragePoolModel{{Name: "default", Driver: "zfs", SizeGB: int64(8 * vmsEach), Default: true}},
		})
	}
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return testMAAS{sim: s, url: "http://maas.example/MAAS", transport: func() http.RoundTripper { return s.RoundTripper() }}
}

// smallVM is a VM of 2 cores, 2048 MiB and 8 GB, wherever it fits.
func smallVM(name string, p engine.Placement) engine.VMSpec {
	return engine.VMSpec{
		Name: name, Placement: p, Cores: 2, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}},
	}
}

func (p process) applyVM(spec engine.VMSpec) (engine.VM, error) {
	return engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("default/" + spec.Name), Name: spec.Name}, spec))
}

// createAll creates n VMs at once, shared out among the processes, and counts
// them by host.
func createAll(t *testing.T, n int, p engine.Placement, by ...process) map[string]int {
	t.Helper()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		count = map[string]int{}
	)
	for i := range n {
		wg.Go(func() {
			vm, err := by[i%len(by)].applyVM(smallVM(fmt.Sprintf("vm-%d", i), p))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("vm-%d: %v", i, err)
				return
			}
			count[vm.HostName]++
		})
	}
	wg.Wait()
	return count
}

func TestEightVMsAtOnceOnTwoHosts(t *testing.T) {
	for _, strategy := range []engine.Placement{{}, {Group: "web"}} {
		synctest.Test(t, func(t *testing.T) {
			r := fleetOf(t, 2, 8, "az1")
			count := createAll(t, 8, strategy, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
			if count["lxd1"] != 4 || count["lxd2"] != 4 {
				t.Errorf("want four and four of %+v, got %v", strategy, count)
			}
		})
	}
}

// TestExactFit lets 64 creators in four processes fill hosts that have room for
// exactly as many VMs.
func TestExactFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 8, 8, "az1", "az2")
		rows := ledger.NewMemory(nil)
		var processes []process
		for range 4 {
			processes = append(processes, r.start(t, rows, 0, breakage{}))
		}
		count := createAll(t, 64, engine.Placement{}, processes...)
		for host, n := range count {
			if n != 8 {
				t.Errorf("%d VMs on %s, which has room for 8", n, host)
			}
		}
		if n := len(r.sim.Instances()); n != 64 {
			t.Errorf("want 64 instances, got %d", n)
		}
		for _, c := range r.sim.Journal().Calls {
			if c.Route == "POST vm-hosts/{id}/ compose" && c.Status != http.StatusOK {
				t.Errorf("MAAS refused a compose with %d: the ledger had promised too much", c.Status)
			}
		}
		if _, err := processes[0].applyVM(smallVM("one-more", engine.Placement{})); !isShort(err) {
			t.Errorf("want InsufficientResources for one more, got %v", err)
		}
	})
}

func isShort(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Type == engine.InsufficientResources
}

// TestSpreadOverManyInventories creates VMs in waves, so that each wave sees
// the ones before in its inventory.
func TestSpreadOverManyInventories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 4, 12, "az1")
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		total := map[string]int{}
		for wave, n := range []int{3, 5, 1, 7} {
			var wg sync.WaitGroup
			var mu sync.Mutex
			for i := range n {
				wg.Go(func() {
					vm, err := p.applyVM(smallVM(fmt.Sprintf("vm-%d-%d", wave, i), engine.Placement{}))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					total[vm.HostName]++
				})
			}
			wg.Wait()
			time.Sleep(time.Minute)
		}
		for host, n := range total {
			if n != 4 {
				t.Errorf("%s has %d of 16 VMs, want 4: %v", host, n, total)
			}
		}
	})
}

func TestPackVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 3, 4, "az1")
		count := createAll(t, 6, engine.Placement{Strategy: "pack"}, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
		if len(count) != 2 {
			t.Errorf("6 VMs fill one host of 4 and half another, got %v", count)
		}
	})
}

func TestGroupSpreadsOverZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 5, 4, "az1", "az2", "az3")
		zoneOf := map[string]string{"lxd1": "az1", "lxd2": "az2", "lxd3": "az3", "lxd4": "az1", "lxd5": "az2"}
		count := createAll(t, 3, engine.Placement{Group: "control-plane"}, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
		zones := map[string]int{}
		for host := range count {
			zones[zoneOf[host]]++
		}
		if len(zones) != 3 {
			t.Errorf("three VMs of a group stand in %d zones: %v", len(zones), count)
		}
	})
}

func TestPlacementFilters(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   engine.Placement
		edit   func(*engine.VMSpec)
		host   string // empty: an error
		says   string
		field  string
	}{
		"Zone":         {reason: "Only lxd2 is in az2.", want: engine.Placement{Zone: "az2"}, host: "lxd2"},
		"UnknownZone":  {reason: "A zone that MAAS lacks is a slip of the pen.", want: engine.Placement{Zone: "az9"}, field: "placement.zone", says: "az9"},
		"UnknownPool":  {reason: "So is a resource pool.", want: engine.Placement{Pool: "gold"}, field: "placement.pool", says: "gold"},
		"Tags":         {reason: "No host carries it.", want: engine.Placement{Tags: []string{"fast"}}, says: "0/2 hosts fit: 2 missing tags"},
		"BadStrategy":  {reason: "A strategy is one of two.", want: engine.Placement{Strategy: "random"}, field: "placement.strategy", says: "random"},
		"TooLarge":     {reason: "No host has 64 cores.", edit: func(s *engine.VMSpec) { s.Cores = 64 }, says: "2 too small even when empty"},
		"StoragePool":  {reason: "A storage pool that no host has is one, too.", edit: func(s *engine.VMSpec) { s.Disks[0].Pool = "nvme" }, field: "disks.root.pool", says: "no VM host has a storage pool"},
		"OtherNetwork": {reason: "Both hosts are on lan only.", edit: func(s *engine.VMSpec) { s.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "far"}} }, field: "interfaces.eth0.subnet", says: "no VM host that web-1 may be on is attached to subnet far"},
		"Network":      {reason: "And lan is where they are.", edit: func(s *engine.VMSpec) { s.Interfaces = []engine.Interface{{Name: "eth0", Subnet: "lan"}} }, want: engine.Placement{Zone: "az1"}, host: "lxd1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := world()
				m.Zones = []string{"az1", "az2"}
				m.Subnets = append(m.Subnets, sim.SubnetModel{Name: "far", CIDR: "10.88.0.0/24", DHCP: true})
				m.Hosts = []sim.HostModel{
					{Name: "lxd1", Zone: "az1", Cores: 8, MemoryMiB: 8192, Subnets: []string{"lan"}},
					{Name: "lxd2", Zone: "az2", Cores: 8, MemoryMiB: 8192, Subnets: []string{"lan"}},
				}
				s, err := sim.New(m)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				r := testMAAS{sim: s, url: "http://maas.example/MAAS", transport: s.RoundTripper}
				spec := smallVM("web-1", tc.want)
				if tc.edit != nil {
					tc.edit(&spec)
				}
				began := time.Now()
				vm, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyVM(spec)
				if tc.host != "" {
					if err != nil || vm.HostName != tc.host {
						t.Fatalf("%s\nwant %s, got %q, %v", tc.reason, tc.host, vm.HostName, err)
					}
					return
				}
				var spelled *engine.SpecError
				if err == nil || !strings.Contains(err.Error(), tc.says) || tc.field != "" && (!errors.As(err, &spelled) || spelled.Field.String() != tc.field) {
					t.Errorf("%s\nwant an error at %q that says %q, got %v", tc.reason, tc.field, tc.says, err)
				}
				if !isShort(err) && time.Since(began) > time.Second {
					t.Errorf("%s\nit was told after %v only", tc.reason, time.Since(began))
				}
				if len(r.sim.Instances()) != 0 {
					t.Errorf("%s\nsomething was made: %+v", tc.reason, r.sim.Instances())
				}
			})
		})
	}
}

// TestAnotherHostIsTried lets compose fail on the host that comes first.
func TestAnotherHostIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		if err := r.sim.SetLXDCondition("lxd1", sim.ConditionUnreachable); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		count := createAll(t, 4, engine.Placement{}, r.start(t, ledger.NewMemory(nil), 0, breakage{}))
		if count["lxd2"] != 4 {
			t.Errorf("want all on lxd2, got %v", count)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v to try the other host", took)
		}
	})
}

// TestNamedHostStays shows that a VM goes nowhere else than where it was sent.
func TestNamedHostStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		if err := r.sim.SetLXDCondition("lxd1", sim.ConditionUnreachable); err != nil {
			t.Fatal(err)
		}
		spec := smallVM("web-1", engine.Placement{})
		spec.Host = "lxd1"
		_, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyVM(spec)
		var e *engine.Error
		if !errors.As(err, &e) || e.Host != "lxd1" {
			t.Errorf("want an error about lxd1, got %v", err)
		}
		if len(r.sim.Instances()) != 0 {
			t.Errorf("want nothing, got %+v", r.sim.Instances())
		}
	})
}

// TestFailedCommissioningMoves lets a VM fail on its first host before it was
// ever Ready.
func TestFailedCommissioningMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, 0, breakage{})
		var first string
		time.AfterFunc(4*time.Second, func() {
			m := r.machine(t, "web-1")
			first = m.Host
			if err := r.sim.FailMachine(m.SystemID, "no disk"); err != nil {
				t.Error(err)
			}
		})
		vm, err := p.applyVM(smallVM("web-1", engine.Placement{}))
		if err != nil || vm.HostName == first || first == "" {
			t.Fatalf("want it on another host than %q, got %q, %v", first, vm.HostName, err)
		}
		if n := len(r.sim.Instances()); n != 1 {
			t.Errorf("want one instance, got %d", n)
		}
		row, err := rows.Row(t.Context(), "default/web-1")
		if err != nil || row.SystemID != vm.SystemID || len(row.Excluded) != 1 || row.State != engine.RowBound {
			t.Errorf("want a bound row that excludes the first host, got %+v, %v", row, err)
		}
	})
}

// TestFinishedVMDoesNotMove: what once was what was wanted is left where it is.
func TestFinishedVMDoesNotMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		vm, err := p.applyVM(smallVM("web-1", engine.Placement{}))
		if err != nil {
			t.Fatal(err)
		}
		r.editWebVM(t, sim.MachineEdit{StatusName: ptr("Failed commissioning")})
		ref := engine.Ref{Key: "default/web-1", Name: "web-1", SystemID: vm.SystemID}
		for _, finished := range []bool{false, true} {
			ref.Finished = finished
			res, err := p.engine.VMs.Reconcile(t.Context(), ref, smallVM("web-1", engine.Placement{Zone: "az1"}))
			if err != nil || !res.Done || res.Object.SystemID != vm.SystemID {
				t.Errorf("want it reported and left alone, got %+v, %v", res, err)
			}
		}
		if len(r.sim.Instances()) != 1 {
			t.Errorf("want the one instance, got %+v", r.sim.Instances())
		}
	})
}

// TestComposedTwiceIsSaid loses the ledger amid a slow compose. The next run
// chooses another host; MAAS keeps the first VM, and the instance of the other
// one is nowhere to be seen but in its LXD.
func TestComposedTwiceIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Hosts = []sim.HostModel{{Name: "lxd1", Cores: 8, MemoryMiB: 8192}, {Name: "lxd2", Cores: 8, MemoryMiB: 8192}}
		m.Latency.Compose = 40 * time.Second
		s, err := sim.New(m)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r := testMAAS{sim: s, url: "http://maas.example/MAAS", transport: s.RoundTripper}
		spec := smallVM("web-1", engine.Placement{})
		first := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		go first.applyVM(spec) //nolint:errcheck // it dies
		time.Sleep(5 * time.Second)
		first.breaker.die()
		vm, err := r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyVM(spec)
		if err != nil {
			t.Fatal(err)
		}
		other := map[string]string{"lxd1": "lxd2", "lxd2": "lxd1"}[vm.HostName]
		if n := len(s.Instances()); n == 2 && !strings.Contains(vm.Leftover, other) || n != 2 && vm.Leftover != "" {
			t.Errorf("%d instances, the VM on %s, and it says %q of the rest", n, vm.HostName, vm.Leftover)
		}
		if len(s.Instances()) != 2 {
			t.Error("nothing was composed twice, so this test shows nothing")
		}
	})
}

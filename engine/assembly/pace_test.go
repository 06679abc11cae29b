package assembly_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestPaceOfAFleet creates a hundred VMs, ten at a time, and compares the time with what MAAS
// needs. The poller must not look often, and yet notice the end soon. The time is virtual, so
// the ratio is exact.
func TestPaceOfAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Hosts = nil
		for i := range 10 {
			m.Hosts = append(m.Hosts, sim.HostModel{Name: fmt.Sprintf("lxd%d", i), Cores: 64, MemoryMiB: 1 << 20, LXDVersion: "5.21.3"})
		}
		m.Latency = sim.Latency{
			Compose: 300 * time.Millisecond, Commission: 5 * time.Second, Deploy: 5 * time.Second, Call: 20 * time.Millisecond,
		}
		s, err := sim.New(m)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r := testMAAS{sim: s, url: "http://maas.example/MAAS", transport: func() http.RoundTripper { return s.RoundTripper() }}
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		began := time.Now()
		jobs := make(chan int)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for i := range jobs {
					spec := smallVM(fmt.Sprintf("vm-%d", i), engine.Placement{})
					spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
					if _, err := p.applyVM(spec); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range 100 {
			jobs <- i
		}
		close(jobs)
		wg.Wait()
		took, needed := time.Since(began), 10*(300*time.Millisecond+5*time.Second+5*time.Second)
		looked := 0
		for _, c := range s.Journal().Calls {
			if c.Route == "GET machines/" {
				looked += c.MachineObjects
			}
		}
		ratio := took.Seconds() / needed.Seconds()
		t.Logf("100 VMs, 10 at a time: %.2f x the time that MAAS needs, %.1f machines read for each", ratio, float64(looked)/100)
		if ratio > 1.15 {
			t.Errorf("it took %v, %.2f x the %v that MAAS needs", took, ratio, needed)
		}
		// The look by name, the read after the compose, what wakes for power and
		// Testing show, and one look for each 5 s in flight.
		if looked > 100*5 {
			t.Errorf("%d machines were read for 100 VMs", looked)
		}
	})
}

// TestPaceOfADestroy deletes what was created: what MAAS needs for a release is
// learned as well.
func TestPaceOfADestroy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Hosts = []sim.HostModel{{Name: "lxd", Cores: 256, MemoryMiB: 1 << 20, LXDVersion: "5.21.3", StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 2000}}}}
		m.Latency = sim.Latency{Release: 2 * time.Second, Call: 20 * time.Millisecond}
		s, err := sim.New(m)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r := testMAAS{sim: s, url: "http://maas.example/MAAS", transport: func() http.RoundTripper { return s.RoundTripper() }}
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		var refs []engine.Ref
		for i := range 100 {
			spec := smallVM(fmt.Sprintf("vm-%d", i), engine.Placement{})
			spec.Deploy = &engine.Deployment{Image: "ubuntu/noble"}
			vm, err := p.applyVM(spec)
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, engine.Ref{Key: engine.Key("default/" + spec.Name), Name: spec.Name, SystemID: vm.SystemID})
		}
		began := time.Now()
		jobs := make(chan engine.Ref)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for ref := range jobs {
					if err := p.delete(ref); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for _, ref := range refs {
			jobs <- ref
		}
		close(jobs)
		wg.Wait()
		took, needed := time.Since(began), 10*2*time.Second
		ratio := took.Seconds() / needed.Seconds()
		t.Logf("100 VMs, 10 at a time: %.2f x the time that MAAS needs", ratio)
		if ratio > 1.6 {
			t.Errorf("it took %v, %.2f x the %v that MAAS needs", took, ratio, needed)
		}
	})
}

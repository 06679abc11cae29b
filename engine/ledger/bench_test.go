package ledger

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// BenchmarkPlace measures reservations of VMs in groups of ten, beside 1,000
// VMs on 100 hosts, all of which are candidates. Handles stand for processes: each has a connection of
// its own to the file.
func BenchmarkPlace(b *testing.B) {
	for _, shape := range []struct{ handles, writers int }{{1, 1}, {8, 8}, {32, 32}, {1, 32}} {
		b.Run(fmt.Sprintf("writers=%d/handles=%d", shape.writers, shape.handles), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "ledger.db")
			var handles []*Ledger
			for range shape.handles {
				handles = append(handles, openAt(b, path))
			}
			r := inhabited(b, handles[0])
			writers(b, shape.writers, func(writer, n int) error {
				mine := r
				mine.Key = engine.Key(fmt.Sprintf("new-%d-%d", writer, n))
				mine.Group = fmt.Sprint("group-", n%100)
				_, _, err := handles[writer%len(handles)].Place(b.Context(), mine)
				return err
			})
		})
	}
}

// inhabited fills a ledger, and returns what to ask of it.
func inhabited(b *testing.B, l *Ledger) engine.Reservation {
	b.Helper()
	hosts := make([]int, 100)
	for n := range hosts {
		hosts[n] = n + 1
	}
	for n := range 1000 {
		err := l.Bind(b.Context(), engine.Row{
			Key: engine.Key(fmt.Sprintf("old-%d", n)), HostID: hosts[n%len(hosts)], Group: fmt.Sprint("group-", n%100), Zone: "az1",
			SystemID: fmt.Sprint(n), Need: engine.Need{Cores: 1, DiskBytes: map[string]int64{"default": 8e9}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	r := reservation(b, l, "", 1<<40, hosts...)
	r.Need.DiskBytes = map[string]int64{"": 8e9}
	for n := range r.Candidates {
		r.Candidates[n].DefaultPool = "default"
		r.Candidates[n].Free.DiskBytes = map[string]int64{"default": 1 << 50}
	}
	return r
}

// writers shares b.N operations among goroutines and reports how long one
// took, and how many were done in a second.
func writers(b *testing.B, writers int, do func(writer, n int) error) {
	b.Helper()
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for writer := range writers {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= b.N; n = int(next.Add(1)) {
				began := time.Now()
				err := do(writer, n)
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "places/s")
}

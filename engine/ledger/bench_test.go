package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// inFlight is how many reservations each writer keeps. They are VMs that are being made, which
// no inventory shows.
const inFlight = 4

// BenchmarkPlace measures reservations of VMs in groups of ten, beside 1,000 VMs on 100 hosts.
// All hosts are candidates. After each reservation, an older VM is made, shown by an inventory
// and deleted, so that the number in flight stays the same. An op is all of that. The
// percentiles are of Place.
func BenchmarkPlace(b *testing.B) {
	for _, writers := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("goroutines=%d", writers), func(b *testing.B) {
			l := openAt(b, newFilledLedger(b))
			reportPlaceTimes(b, writers, func(writer, vms int) (func() ([]time.Duration, error), error) {
				return func() ([]time.Duration, error) {
					return placeVMs(b.Context(), l, fmt.Sprint("w", writer), vms)
				}, nil
			})
		})
		b.Run(fmt.Sprintf("processes=%d", writers), func(b *testing.B) {
			path := newFilledLedger(b)
			reportPlaceTimes(b, writers, func(writer, vms int) (func() ([]time.Duration, error), error) {
				return startBenchProcess(b, path, fmt.Sprint("p", writer), vms)
			})
		})
	}
}

// newFilledLedger makes a ledger file and fills it.
func newFilledLedger(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "ledger.db")
	l := openAt(b, path)
	for n := range 1000 {
		err := l.Bind(b.Context(), engine.Row{
			Key: engine.Key(fmt.Sprintf("old-%d", n)), HostKey: fmt.Sprint("h", n%benchHosts+1), Group: fmt.Sprint("group-", n%100), Zone: "az1",
			SystemID: fmt.Sprint(n), Need: engine.Need{Cores: 1, DiskBytes: map[string]int64{"default": 8e9}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return path
}

const benchHosts = 100

func newBenchReservation(ctx context.Context, l *Ledger) (engine.Reservation, error) {
	tag, err := l.CurrentTag(ctx)
	r := engine.Reservation{Need: engine.Need{Cores: 1, DiskBytes: map[string]int64{"": 8e9}}, Inventory: tag}
	for n := range benchHosts {
		r.Candidates = append(r.Candidates, engine.Candidate{
			HostKey: fmt.Sprint("h", n+1), Zone: fmt.Sprint("az", n%3), Rank: int64(n), Step: benchHosts, DefaultPool: "default",
			Free: engine.Need{Cores: 1 << 40, DiskBytes: map[string]int64{"default": 1 << 50, "fast": 1 << 50}},
		})
	}
	return r, err
}

// placeVMs places VMs one after the other, and returns how long each took.
func placeVMs(ctx context.Context, l *Ledger, name string, vms int) ([]time.Duration, error) {
	r, err := newBenchReservation(ctx, l)
	if err != nil {
		return nil, err
	}
	key := func(n int) engine.Key { return engine.Key(fmt.Sprintf("new-%s-%d", name, n)) }
	took, rows := make([]time.Duration, 0, vms), make([]engine.Row, vms)
	for n := range vms {
		r.Key, r.Name, r.Group = key(n), string(key(n)), fmt.Sprint("group-", n%100)
		began := time.Now()
		rows[n], _, err = l.Place(ctx, r)
		took = append(took, time.Since(began))
		if err == nil && n >= inFlight {
			made := rows[n-inFlight]
			made.SystemID = string(made.Key)
			err = errors.Join(l.Bind(ctx, made), ledgertest.DropRow(ctx, l, made.Key))
		}
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// TestPlaceSome: two writers do once what BenchmarkPlace measures.
func TestPlaceSome(t *testing.T) {
	t.Parallel()
	l := openAt(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, writer := range []string{"w1", "w2"} {
		if took, err := placeVMs(t.Context(), l, writer, 2*inFlight); err != nil || len(took) != 2*inFlight {
			t.Errorf("%d reservations: %v", len(took), err)
		}
	}
}

// startBenchProcess starts another process, which waits until it may place VMs.
func startBenchProcess(b *testing.B, path, name string, vms int) (run func() ([]time.Duration, error), err error) {
	process := exec.CommandContext(b.Context(), os.Args[0])
	process.Env = append(os.Environ(), envRole+"=bench", envPath+"="+path, envName+"="+name, envCount+"="+fmt.Sprint(vms))
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewReader(stdout)
	if _, err := out.ReadString('\n'); err != nil { // it is ready now
		return nil, err
	}
	return func() (took []time.Duration, err error) {
		if _, err := io.WriteString(stdin, "\n"); err != nil {
			return nil, err
		}
		err = json.NewDecoder(out).Decode(&took)
		return took, errors.Join(err, process.Wait())
	}, nil
}

// runBenchProcess runs in the other process.
func runBenchProcess(ctx context.Context, path, name string, vms int) error {
	l, err := OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	took, err := placeVMs(ctx, l, name, vms)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}

// reportPlaceTimes divides b.N operations among the writers. It prepares them, runs them at
// once, and reports the time of an operation and the operations per second.
func reportPlaceTimes(b *testing.B, writers int, prepare func(writer, vms int) (run func() ([]time.Duration, error), err error)) {
	b.Helper()
	runs := make([]func() ([]time.Duration, error), writers)
	for writer := range runs {
		var err error
		if runs[writer], err = prepare(writer, (b.N+writers-1)/writers); err != nil {
			b.Fatal(err)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var took []time.Duration
	b.ResetTimer()
	for _, run := range runs {
		wg.Go(func() {
			mine, err := run()
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if b.Failed() {
		return
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "places/s")
}

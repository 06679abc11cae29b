package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/maas"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// The environment variables for a participant.
const (
	participantURL    = "MAASLXD_TEST_URL"
	participantKey    = "MAASLXD_TEST_KEY"
	participantLedger = "MAASLXD_TEST_LEDGER"
	participantNumber = "MAASLXD_TEST_NUMBER"
)

// TestProcessesShareALedger lets eight processes fill four hosts at once, by one
// ledger file, on a MAAS that composes beyond its ratios without a word. There
// is room for exactly what they make.
func TestProcessesShareALedger(t *testing.T) {
	t.Parallel()
	const processes, hosts, each = 8, 4, 4 // VMs of 2 cores, 2048 MiB and 8 GB
	m := world()
	m.Hosts = nil
	for n := range hosts {
		vms := processes * each / hosts
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("lxd%d", n+1), Cores: 2 * vms, MemoryMiB: int64(2048 * vms), LXDVersion: "5.21.3",
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: int64(8 * vms), Default: true}},
		})
	}
	m.Latency = sim.Latency{Compose: 50 * time.Millisecond, Commission: 50 * time.Millisecond, Call: 2 * time.Millisecond}
	s := sim.StartServer(t, m)
	s.SetRandomFaults(sim.RandomFaults{Overcommit: true})
	file := filepath.Join(t.TempDir(), "ledger.db")
	var running sync.WaitGroup
	for n := range processes {
		running.Go(func() {
			p := exec.CommandContext(t.Context(), os.Args[0])
			p.Env = append(os.Environ(), participantURL+"="+s.URL, participantKey+"="+s.APIKey(),
				participantLedger+"="+file, fmt.Sprintf("%s=%d", participantNumber, n))
			if out, err := p.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
			}
		})
	}
	running.Wait()
	for _, excess := range s.Overcommits() {
		t.Error(excess)
	}
	count := map[string]int{}
	for _, i := range s.Instances() {
		count[i.Host]++
	}
	for _, h := range m.Hosts {
		if count[h.Name] != processes*each/hosts {
			t.Errorf("%d VMs on %s, want %d: %v", count[h.Name], h.Name, processes*each/hosts, count)
		}
	}
	t.Logf("%d processes, %d VMs on %d hosts, over-commits %d", processes, processes*each, hosts, len(s.Overcommits()))
}

// TestMain makes a participant of a process that was started as one.
func TestMain(m *testing.M) {
	if os.Getenv(participantURL) == "" {
		os.Exit(m.Run())
	}
	if err := runParticipant(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runParticipant makes four VMs at once.
func runParticipant(ctx context.Context) error {
	rows, err := ledger.OpenFile(ctx, os.Getenv(participantLedger))
	if err != nil {
		return err
	}
	client, err := maas.New(maas.Config{
		URL: os.Getenv(participantURL), APIKey: os.Getenv(participantKey), Transport: http.DefaultTransport,
		Interval: 50 * time.Millisecond, Ledger: rows,
	})
	if err != nil {
		return errors.Join(err, rows.Close())
	}
	e, err := assembly.New(engine.Config{
		Machines: client.Machines, Composer: client.Hosts, Names: client.Names, Catalog: client.Catalog, Metal: client.Machines, Registrar: client.Hosts, Ledger: rows,
	})
	if err != nil {
		return errors.Join(err, rows.Close())
	}
	var made errgroup.Group
	for n := range 4 {
		made.Go(func() error {
			spec := smallVM(fmt.Sprintf("vm-%s-%d", os.Getenv(participantNumber), n), engine.Placement{Strategy: placement.Pack}) // all want the same host
			_, err := engine.WaitUntilDone(ctx, e.VMs.Steps(engine.Ref{Key: engine.Key("default/" + spec.Name), Name: spec.Name}, spec))
			return err
		})
	}
	return errors.Join(made.Wait(), rows.Close())
}

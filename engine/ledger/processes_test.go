package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// The environment of a process that a test starts.
const (
	envRole   = "MAASLXD_TEST_ROLE"
	envCount  = "MAASLXD_TEST_COUNT"
	envPath   = "MAASLXD_TEST_LEDGER"
	envRegion = "MAASLXD_TEST_REGION"
	envName   = "MAASLXD_TEST_PROCESS"
)

const (
	processes    = 8
	creators     = 4 // in each process
	replacements = 2 // of each creator's VM
)

func TestMain(m *testing.M) {
	ctx, path, name := context.Background(), os.Getenv(envPath), os.Getenv(envName)
	var err error
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "create":
		err = takePart(path, os.Getenv(envRegion), name)
	case "bench":
		var vms int
		if vms, err = strconv.Atoi(os.Getenv(envCount)); err == nil {
			err = benchElsewhere(ctx, path, name, vms)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestProcesses lets eight processes create and replace VMs with one ledger
// file, which they also make, on hosts that fit exactly and in a region that
// over-commits when asked to.
func TestProcesses(t *testing.T) {
	t.Parallel()
	region := &ledgertest.Region{}
	const hosts = 4
	for id := range hosts {
		region.Hosts = append(region.Hosts, engine.Candidate{
			HostID: id + 1, Zone: fmt.Sprintf("az%d", id%2), Step: 1, DefaultPool: "default",
			Free: engine.Need{Cores: processes * creators / hosts, MemoryMiB: 1 << 20, DiskBytes: map[string]int64{"default": 1e15}},
		})
	}
	server := httptest.NewServer(serve(region))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "state", "ledger.db")
	var wg sync.WaitGroup
	for n := range processes {
		wg.Go(func() {
			process := exec.CommandContext(t.Context(), os.Args[0])
			process.Env = append(os.Environ(), envRole+"=create", envPath+"="+path, envRegion+"="+server.URL, envName+"="+fmt.Sprint("p", n))
			if out, err := process.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, out)
			}
		})
	}
	wg.Wait()
	for _, over := range region.OverCommits() {
		t.Error(over)
	}
	if diff := cmp.Diff(map[int]int{1: 8, 2: 8, 3: 8, 4: 8}, region.VMs()); diff != "" {
		t.Errorf("VMs by host, -want +got:\n%s", diff)
	}
	rows, err := openAt(t, path).Pending(t.Context())
	if err != nil || len(rows) != 0 {
		t.Errorf("pending at the end: %+v, %v", rows, err)
	}
	t.Logf("%d processes, %d creators, each VM replaced %d times: %d over-commits",
		processes, processes*creators, replacements, len(region.OverCommits()))
}

// serve is the region for other processes. Its composes and removals take a
// moment, as long as some writes to the ledger.
func serve(region *ledgertest.Region) http.Handler {
	const moment = 5 * time.Millisecond
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hosts", func(w http.ResponseWriter, _ *http.Request) {
		var hosts []engine.Candidate
		for n := range region.Hosts {
			hosts = append(hosts, region.Inventory(n))
		}
		if err := json.NewEncoder(w).Encode(hosts); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	row := func(do func(engine.Row)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var row engine.Row
			if err := json.NewDecoder(r.Body).Decode(&row); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			do(row)
		}
	}
	mux.HandleFunc("POST /compose", row(func(r engine.Row) {
		region.Compose(r)
		time.Sleep(moment)
		region.Composed(r.Key)
	}))
	mux.HandleFunc("POST /remove", row(func(r engine.Row) {
		region.Removing(r.Key)
		time.Sleep(moment)
		region.Removed(r.Key)
	}))
	return mux
}

// participant is one of the processes. Its creators share an inventory until
// it proves too old.
type participant struct {
	ledger *Ledger
	region string

	mu        sync.Mutex
	inventory engine.Reservation // Candidates and Inventory of it
}

func takePart(path, region, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l, err := Open(ctx, path)
	if err != nil {
		return err
	}
	p := &participant{ledger: l, region: region}
	if err := p.look(ctx); err != nil {
		return err
	}
	errs := make([]error, creators)
	var wg sync.WaitGroup
	for n := range creators {
		wg.Go(func() { errs[n] = p.live(ctx, engine.Key(fmt.Sprintf("%s-%d", name, n))) })
	}
	wg.Wait()
	return errors.Join(append(errs, l.Close())...)
}

// live creates a VM, and replaces it some times.
func (p *participant) live(ctx context.Context, key engine.Key) error {
	for n := 0; ; n++ {
		row, err := p.place(ctx, key)
		if err != nil {
			return err
		}
		row.SystemID = fmt.Sprint(key, "/", n)
		if err := errors.Join(p.post(ctx, "/compose", row), p.ledger.Bind(ctx, row)); err != nil {
			return err
		}
		if n == replacements {
			return nil
		}
		if err := errors.Join(p.ledger.Leaving(ctx, key), p.post(ctx, "/remove", row), p.ledger.Forget(ctx, key)); err != nil {
			return err
		}
	}
}

func (p *participant) place(ctx context.Context, key engine.Key) (engine.Row, error) {
	for {
		p.mu.Lock()
		r := p.inventory
		p.mu.Unlock()
		r.Key, r.Name, r.Need = key, string(key), engine.Need{Cores: 1, MemoryMiB: 1024, DiskBytes: map[string]int64{"": 8e9}}
		row, fresh, err := p.ledger.Place(ctx, r)
		full, isFull := errors.AsType[*engine.Error](err)
		switch {
		case err == nil && !fresh:
			return row, fmt.Errorf("%s was there already: %+v", key, row)
		case isFull && full.Type == engine.InsufficientResources, errors.Is(err, engine.ErrBusy):
			if err := p.look(ctx); err != nil {
				return row, err
			}
		default:
			return row, err
		}
	}
}

func (p *participant) look(ctx context.Context) error {
	tag, err := p.ledger.Tag(ctx)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.region+"/hosts", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var hosts []engine.Candidate
	if err := json.NewDecoder(answer.Body).Decode(&hosts); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inventory = engine.Reservation{Candidates: hosts, Inventory: tag}
	return nil
}

func (p *participant) post(ctx context.Context, route string, row engine.Row) error {
	body, err := json.Marshal(row)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.region+route, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", route, answer.Status)
	}
	return nil
}

package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
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
	processes       = 8
	creators        = 4 // in each process
	replacements    = 3 // of each creator's VM
	killsPerProcess = 5 // of each process
)

func TestMain(m *testing.M) {
	ctx, path, name := context.Background(), os.Getenv(envPath), os.Getenv(envName)
	var err error
	switch os.Getenv(envRole) {
	case "":
		os.Exit(m.Run())
	case "create":
		err = runParticipant(path, os.Getenv(envRegion), name)
	case "hold":
		err = holdUntilKilled(ctx, path, engine.Key(name))
	case "bench":
		var vms int
		if vms, err = strconv.Atoi(os.Getenv(envCount)); err == nil {
			err = runBenchProcess(ctx, path, name, vms)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestProcesses lets eight processes create and replace VMs with one ledger file, which they
// also create. The VMs fit exactly on the hosts, and the region would over-commit.
func TestProcesses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		deaths int
	}{
		"Alive":  {"Processes share a ledger.", 0},
		"Killed": {"A process may be killed at any moment, and the next one continues.", killsPerProcess},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			region := exactRegion()
			path := filepath.Join(t.TempDir(), "state", "ledger.db")
			var killed atomic.Int64
			var wg sync.WaitGroup
			began := time.Now()
			for n := range processes {
				wg.Go(func() { killed.Add(runUntilDone(t, region, path, fmt.Sprint("p", n), tc.deaths)) })
			}
			wg.Wait()
			took := time.Since(began)
			wantSettled(t, region, path)
			if tc.deaths > 0 && killed.Load() == 0 {
				t.Error("no process was killed: this proves nothing")
			}
			if t.Failed() {
				t.Log(tc.reason)
			}
			t.Logf("%d processes, killed %d times, made %d VMs in %s: %d over-commits or doubles",
				processes, killed.Load(), processes*creators*(replacements+1), took.Round(time.Millisecond), len(region.OverCommits()))
		})
	}
}

// exactRegion has room for exactly one VM of each creator.
func exactRegion() *ledgertest.Region {
	region := &ledgertest.Region{}
	const hosts = 4
	for id := range hosts {
		region.Hosts = append(region.Hosts, engine.Candidate{
			HostKey: fmt.Sprint("h", id+1), Zone: fmt.Sprintf("az%d", id%2), Step: 1, DefaultPool: "default",
			Free: engine.Need{Cores: processes * creators / hosts, MemoryMiB: 1 << 20, DiskBytes: map[string]int64{"default": 1e15}},
		})
	}
	return region
}

// runUntilDone runs a process until it has done its work. Before that, it kills the process some
// times at random moments. It returns how often the process was killed.
func runUntilDone(t *testing.T, region *ledgertest.Region, path, name string, deaths int) (died int64) {
	for n := 0; !t.Failed(); n++ {
		after := time.Hour
		if n < deaths {
			after = rand.N(400 * time.Millisecond)
		}
		if runUntilKilled(t, region, path, name, after) {
			break
		}
		died++
	}
	return died
}

// runUntilKilled runs a process, kills it after some time, and reports whether it had done its
// work. MAAS finishes what a dead process asked for, and the next process waits for that. So the
// server has no call left when it returns.
func runUntilKilled(t *testing.T, region *ledgertest.Region, path, name string, after time.Duration) (done bool) {
	server := httptest.NewServer(newRegionHandler(region))
	defer server.Close()
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), envRole+"=create", envPath+"="+path, envRegion+"="+server.URL, envName+"="+name)
	var out bytes.Buffer
	process.Stdout, process.Stderr = &out, &out
	if err := process.Start(); err != nil {
		t.Error(err)
		return false
	}
	killer := time.AfterFunc(after, func() {
		if err := process.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	})
	err := process.Wait()
	if killed := !killer.Stop(); err != nil && !killed {
		t.Errorf("%s: %v\n%s", name, err, out.String())
	}
	return err == nil
}

// wantSettled wants all VMs to exist, each made as often as planned, and no reservation left
// over.
func wantSettled(t *testing.T, region *ledgertest.Region, path string) {
	t.Helper()
	for _, over := range region.OverCommits() {
		t.Error(over)
	}
	if diff := cmp.Diff(map[string]int{"h1": 8, "h2": 8, "h3": 8, "h4": 8}, region.CountByHost()); diff != "" {
		t.Errorf("VMs by host, -want +got:\n%s", diff)
	}
	rows, err := openAt(t, path).Rows(t.Context())
	if err != nil || len(rows) != processes*creators {
		t.Errorf("%d rows, want %d, %v", len(rows), processes*creators, err)
	}
	for _, row := range rows {
		if n := region.CountComposes(row.Key); n != replacements+1 || row.State != engine.RowBound {
			t.Errorf("%s was made %d times, want %d: %+v", row.Key, n, replacements+1, row)
		}
	}
}

// newRegionHandler serves the region to other processes. A compose or removal takes as long as
// some writes to the ledger.
func newRegionHandler(region *ledgertest.Region) http.Handler {
	const moment = 5 * time.Millisecond
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hosts", func(w http.ResponseWriter, _ *http.Request) {
		var hosts []engine.Candidate
		for n := range region.Hosts {
			hosts = append(hosts, region.ReadHost(n))
		}
		if err := json.NewEncoder(w).Encode(hosts); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /vm", func(w http.ResponseWriter, r *http.Request) {
		key := engine.Key(r.URL.Query().Get("key"))
		_, _, there := region.FindVM(key)
		if err := json.NewEncoder(w).Encode(vmReply{there, region.CountComposes(key)}); err != nil {
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
		region.BeginCompose(r)
		time.Sleep(moment)
		region.FinishCompose(r.Key)
	}))
	mux.HandleFunc("POST /remove", row(func(r engine.Row) {
		region.BeginRemoval(r.Key)
		time.Sleep(moment)
		region.FinishRemoval(r.Key)
	}))
	return mux
}

// vmReply is the reply of the region about a VM.
type vmReply struct {
	There bool
	Made  int // how often it was made
}

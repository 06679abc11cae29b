package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

func TestParseArguments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		err    string
	}{
		"Whole":      {"With a cluster's program, all is measured.", []string{"-cluster-bin", "x"}, ""},
		"NoCluster":  {"Nodes need a program with dqlite, which must be built.", nil, "make build-cluster"},
		"Applies":    {"Applies do without it.", []string{"-rounds", "0", "-kills", "0"}, ""},
		"Nothing":    {"There must be something to do.", []string{"-rounds", "0", "-kills", "0", "-vms", "0"}, "nothing to measure"},
		"Negative":   {"Fewer than none are none.", []string{"-cluster-bin", "x", "-kills", "-1"}, "must be at least 0"},
		"Few":        {"Each writer must write.", []string{"-cluster-bin", "x", "-reserves", "31"}, "-reserves: 31"},
		"NoApply":    {"Without VMs there is no apply; with them there is one.", []string{"-cluster-bin", "x", "-applies", "0"}, "-applies: 0"},
		"StrayWords": {"A word that is not a flag is a mistake.", []string{"-cluster-bin", "x", "100"}, `"100" is not a flag`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(tc.args, io.Discard)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\nerror is %v, want %q in it", tc.reason, err, tc.err)
			}
		})
	}
}

// TestSidesAlternate: each side writes each key once and begins a round as often as
// the others. The first round does not count.
func TestSidesAlternate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	written, begins := map[string]int{}, map[string]string{} // which side begins a round, by region
	var sides []side
	for _, name := range []string{"a", "b", "c"} {
		sides = append(sides, side{name, func(_ context.Context, _ int, region, key string) error {
			mu.Lock()
			defer mu.Unlock()
			if begins[region] == "" {
				begins[region] = name
			}
			written[fmt.Sprintf("%s %s %s", name, region, key)]++
			return nil
		}})
	}
	results, err := runRoundsByTurns(t.Context(), sides, 4, 3, 10)
	if err != nil {
		t.Fatal(err)
	}
	first := slices.Compact(slices.Sorted(maps.Values(begins)))
	if len(written) != 3*(3+1)*10 || len(begins) != 3+1 || len(first) != 3 {
		t.Errorf("%d keys were written, and rounds begun by %v", len(written), begins)
	}
	for key, n := range written {
		if n != 1 {
			t.Errorf("%s was written %d times", key, n)
		}
	}
	for i, r := range results {
		if r.side != sides[i].name || len(r.took) != 30 || len(r.walls) != 3 {
			t.Errorf("%s: %d reservations in %d rounds", r.side, len(r.took), len(r.walls))
		}
	}
}

func TestFiguresOfResults(t *testing.T) {
	t.Parallel()
	slow := result{took: make([]time.Duration, 100), walls: []time.Duration{2 * time.Second, 2 * time.Second, 20 * time.Second}}
	fast := result{took: make([]time.Duration, 100), walls: []time.Duration{time.Second, time.Second, time.Second}}
	for i := range slow.took {
		slow.took[i] = time.Duration(100-i) * time.Millisecond
	}
	if got := slow.throughputOver(fast); got != 0.5 {
		t.Errorf("the pause of one round spoils the ratio: %v", got)
	}
	if got := slow.perSecond(); got != 100.0/24 {
		t.Errorf("the throughput is %v", got)
	}
	if p50, p99 := slow.percentile(50), slow.percentile(99); p50 != 51*time.Millisecond || p99 != 100*time.Millisecond {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("the median is %v", got)
	}
}

// TestCreateTxn compares the bytes of etcd's call with its rpc.proto.
func TestCreateTxn(t *testing.T) {
	t.Parallel()
	// TxnRequest{compare: {target: CREATE, key: "k", create_revision: 0}, success: {put: {"k", "v"}}}
	const want = "0a07" + "1a016b" + "1001" + "2800" + "1208" + "1206" + "0a016b" + "120176"
	if got := hex.EncodeToString(createTxn("k", "v")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for text, put := range map[string]bool{
		"0a0408011002" + "1001": true,  // header, succeeded
		"0a0408011002":          false, // protobuf leaves out a false
		"0a04":                  false,
		"":                      false,
	} {
		message, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := hasTxnSucceeded(message); got != put {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestCountCommits: only transactions that change something are counted, from any
// process.
func TestCountCommits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "some.db")
	writer, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	writer.SetMaxOpenConns(1)
	exec := func(statement string) {
		t.Helper()
		if _, err := writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(`PRAGMA journal_mode = WAL`)
	exec(`CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)`)
	exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	counter, err := countCommits(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(counter.close)
	for n := range 2000 { // more pages than a log has before SQLite restarts it
		exec(fmt.Sprintf(`INSERT INTO t VALUES (%d, hex(randomblob(2000)))`, n))
	}
	exec(`UPDATE t SET text = 'x' WHERE n < 0`) // it changes nothing
	if got, err := counter.countSoFar(); got != 2000 || err != nil {
		t.Errorf("%d commits are counted, %v", got, err)
	}
	for _, log := range []string{"short", strings.Repeat("\x00", logHead)} {
		if _, err := countCommitsInLog([]byte(log)); err == nil {
			t.Errorf("%q is no log", log)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	t.Parallel()
	page := "# TYPE maaslxd_ledger_requests_total counter\n" +
		"maaslxd_ledger_requests_total{operation=\"place\",outcome=\"ok\"} 98\n" +
		"maaslxd_ledger_requests_total{operation=\"place\",outcome=\"no-room\"} 2\n" +
		"maaslxd_ledger_requests_total{operation=\"row\",outcome=\"ok\"} 1e+03\n"
	requests, err := parseRequests(page)
	if err != nil || requests["place"] != 100 || requests["row"] != 1000 {
		t.Errorf("%v, %v", requests, err)
	}
	if _, err := parseRequests(`maaslxd_ledger_requests_total{operation="place"} many`); err == nil {
		t.Error("many is no number")
	}
	votes, leaders := parseVoters("NODE            VOTES  LEADS\n10.0.0.1:7444  yes    no\n10.0.0.2:7444  yes    yes\n10.0.0.3:7444  no     no\n")
	if votes != 2 || leaders != 1 {
		t.Errorf("%d votes, %d leaders", votes, leaders)
	}
	a := sumUp(sim.Journal{Routes: []sim.RouteCount{{Calls: 3}}, Calls: []sim.Call{{Route: "GET zones/"}, {Route: "POST tags/"}, {Route: "PUT machines/{id}/"}}})
	if a.maasWrites != 2 {
		t.Errorf("%+v", a)
	}
}

// TestReport judges figures and prints them.
func TestReport(t *testing.T) {
	t.Parallel()
	of := func(side string, wall time.Duration) result {
		return result{side: side, took: []time.Duration{wall}, walls: []time.Duration{wall}}
	}
	sides := []result{of(sideFile, time.Second), of(sideServiceOnFile, 3*time.Second), of(sideOneNode, time.Second), of(sideThreeNodes, 5*time.Second), of(sideEtcd, time.Second)}
	b := bench{
		options: options{vms: 100, applies: 1, rounds: 1, reserves: 1}, reservations: []row{{8, sides}},
		recoveries: []time.Duration{time.Second, 6 * time.Second, 4 * time.Second}, lost: 1,
		applies: map[string][]applyResult{
			ledgerFile:    {{calls: 600, maasWrites: 500, commits: 500}},
			ledgerService: {{calls: 606, maasWrites: 501, requests: map[string]int{wire.OpPlace.Name: 900, wire.OpMayWrite.Name: 200, wire.OpRow.Name: 1000}}},
		},
	}
	err := missedError(b.limits())
	for _, limit := range []string{
		"over that of the file, 8 writers: 0.33, want at least 0.5", "over that of etcd, 8 writers: 0.2, want at least 0.3",
		"median recovery from a killed leader, in seconds: 4, want at most 2", "longest recovery from a killed leader, in seconds: 6",
		"writes that are lost: 1", "writes to MAAS", "calls of MAAS", "for each commit to the file: 2.2, want at most 2",
	} {
		if err == nil || !strings.Contains(err.Error(), limit) {
			t.Errorf("not missed: %s: %v", limit, err)
		}
	}
	var out bytes.Buffer
	b.print(&out, report.Markdown)
	for _, line := range []string{"| 8 | service on 3 dqlite nodes | 5000.0 ms |", "| 4.00 s | 6.00 s | 1.00 s, 4.00 s, 6.00 s |", "| MAAS calls | 600 | 606 |", "| request row | – | 1000 |", "MISSED"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the report lacks %q:\n%s", line, out.String())
		}
	}
}

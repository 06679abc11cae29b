package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
)

// TestJudgedAlone: a plan that takes too much more than the framework alone
// misses a budget.
func TestJudgedAlone(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		n      int
		over   *frameworkRatio
		others float64
		missed string
	}{
		"Met":      {"At the limits is within them.", 1000, &frameworkRatio{Wall: 1.4, CPU: 1.2}, 0, ""},
		"Wall":     {"It waits too long.", 1000, &frameworkRatio{Wall: 1.41, CPU: 1}, 0, "time of a plan or refresh over the framework's alone: 1.41, want at most 1.4"},
		"WallBusy": {"Others had the CPUs.", 1000, &frameworkRatio{Wall: 1.41, CPU: 1}, 0.4, ""},
		"CPU":      {"It works too much.", 1000, &frameworkRatio{Wall: 1, CPU: 1.21}, 0, "CPU time of a plan or refresh over the framework's alone: 1.21, want at most 1.2"},
		"CPUBusy":  {"CPU time is the same whoever else works.", 1000, &frameworkRatio{Wall: 1, CPU: 1.21}, 0.9, "CPU time"},
		"Few":      {"Of a few VMs, the start of the programs is most.", 50, &frameworkRatio{Wall: 2, CPU: 2}, 0, ""},
		"None":     {"Nothing was measured.", 1000, nil, 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := measurement{OverFramework: tc.over, OthersShare: tc.others, Calls: 1}
			err := report.MissedError(table{kind: vms, n: tc.n, parallelism: 10, steps: readSteps[:1], cells: [][]measurement{{m}}}.evaluateBudgets())
			if (err == nil) != (tc.missed == "") || !strings.Contains(textOf(err), tc.missed) {
				t.Errorf("%s\ngot %v, want %q in it", tc.reason, err, tc.missed)
			}
		})
	}
}

// TestJudgedRounds: one disturbed round does not change the result.
func TestJudgedRounds(t *testing.T) {
	t.Parallel()
	of := func(ours, alone time.Duration) round {
		return round{ours: measurement{Wall: ours, Usage: usage{CPU: ours}}, framework: measurement{Wall: alone, Usage: usage{CPU: alone}}}
	}
	rounds := []round{of(90, 10), of(13, 10), of(12, 10)}
	if got := median(rounds, round.wall).wall(); got != 1.3 {
		t.Errorf("the wall time is %v of the framework's, want 1.3", got)
	}
	if got := median(rounds, round.cpu).cpu(); got != 1.3 {
		t.Errorf("the CPU time is %v of the framework's, want 1.3", got)
	}
}

// TestJudgedGrowth: a budget is missed where each of many VMs costs more than
// each of few.
func TestJudgedGrowth(t *testing.T) {
	t.Parallel()
	few := measurement{Calls: 100, Usage: usage{CPU: 10 * time.Second, PeakKiB: 100 << 10}}
	cases := map[string]struct {
		reason, missed string
		change         func(*measurement)
	}{
		"Linear":  {"Five times as much for five times as many.", "", func(*measurement) {}},
		"Allowed": {"A fifth more is not yet another order.", "", func(m *measurement) { m.Usage.CPU = 60 * time.Second }},
		"Calls":   {"Each reads more of MAAS.", "calls for each of the most VMs", func(m *measurement) { m.Calls = 601 }},
		"CPU":     {"Each works through all others.", "provider CPU time", func(m *measurement) { m.Usage.CPU = 61 * time.Second }},
		"Memory":  {"Each keeps something of the others.", "provider peak memory", func(m *measurement) { m.Usage.PeakKiB = 260 << 10 }},
		"Kept":    {"What the framework keeps grows with the VMs, too.", "provider peak memory", func(m *measurement) { m.Usage.PeakKiB = 580 << 10 }},
		"Unseen":  {"What was not seen to end may have used anything.", "", func(m *measurement) { m.Usage.PeakKiB, m.Usage.Unknown = 580<<10, 1 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many := measurement{Calls: 500, Usage: usage{CPU: 50 * time.Second, PeakKiB: 200 << 10}}
			tc.change(&many)
			of := func(n int, m measurement) table {
				return table{kind: vms, n: n, parallelism: 10, steps: unchangedPlanSteps, cells: [][]measurement{{m}}}
			}
			verdicts := evaluateGrowth([]table{of(1000, few), of(5000, many)})
			err := report.MissedError(verdicts)
			if len(verdicts) != len(linearCosts)+1 || (err == nil) != (tc.missed == "") || !strings.Contains(textOf(err), tc.missed) {
				t.Errorf("%s\ngot %v of %d, want %q in it", tc.reason, err, len(verdicts), tc.missed)
			}
		})
	}
	if got := evaluateGrowth(nil); len(got) != 0 {
		t.Errorf("nothing was measured, and it is judged: %v", got)
	}
}

// TestJudgedBoots: hosts are compared with the first boots that were drawn, and
// VMs' ends with what MAAS needs.
func TestJudgedBoots(t *testing.T) {
	t.Parallel()
	drawn := []time.Duration{2 * time.Second, 10 * time.Second, 18 * time.Second}
	if all, one := idealTimesOfBoots(drawn, 3, 5*time.Second); all != 23*time.Second || one != 15*time.Second {
		t.Errorf("at once they need %v, and one %v; want the longest, 23s, and the one in the middle, 15s", all, one)
	}
	if all, _ := idealTimesOfBoots(drawn, 1, 5*time.Second); all != 45*time.Second {
		t.Errorf("one by one they need %v, want 45s", all)
	}
	cases := map[string]struct {
		reason string
		of     kind
		n      int
		step   step
		wall   time.Duration
		missed string
	}{
		"Hosts":    {"At the limit is within it.", lateHosts, 10, lifeSteps[0], 13 * time.Second, ""},
		"HostsSat": {"A host was ready long before anybody looked.", lateHosts, 10, lifeSteps[0], 13100 * time.Millisecond, "time to make hosts whose first boots differ, over what was drawn: 1.31, want at most 1.3"},
		"VMs":      {"At the limit is within it.", vms, 100, lifeSteps[3], 15 * time.Second, ""},
		"VMsSat":   {"Released VMs waited for a look.", vms, 100, lifeSteps[3], 15100 * time.Millisecond, "time of a destroy over simulated time, from ten waves on: 1.51, want at most 1.5"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := measurement{Wall: tc.wall, Ideal: 10 * time.Second, IdealSpan: time.Second, Boots: drawn}
			err := report.MissedError(table{kind: tc.of, n: tc.n, parallelism: 10, steps: []step{tc.step}, cells: [][]measurement{{m}}}.evaluateBudgets())
			if (err == nil) != (tc.missed == "") || !strings.Contains(textOf(err), tc.missed) {
				t.Errorf("%s\ngot %v, want %q in it", tc.reason, err, tc.missed)
			}
		})
	}
}

// TestCopyState: a copy has its own names, also in the provider's private
// state.
func TestCopyState(t *testing.T) {
	t.Parallel()
	private, err := json.Marshal(map[string][]byte{"vm": []byte(`{"key":"me/bench-1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	instance := map[string]any{"index_key": 0, "private": private, "attributes": map[string]any{"id": "aaa", "name": "bench-1"}}
	state := map[string]any{"version": 4, "resources": []any{map[string]any{"instances": []any{instance}}}}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "terraform.tfstate")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyState(file, vmIdentity{"bench-1", "aaa", "m1"}, []vmIdentity{{"bench-2", "bbb", "m2"}}); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version   int
		Resources []struct {
			Instances []struct {
				Index      int    `json:"index_key"`
				Private    []byte `json:"private"`
				Attributes struct{ ID, Name string }
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	all := got.Resources[0].Instances
	if got.Version != 4 || len(all) != 2 || all[0].Attributes.Name != "bench-1" {
		t.Fatalf("the state is %s", text)
	}
	kept := map[string][]byte{}
	if err := json.Unmarshal(all[1].Private, &kept); err != nil {
		t.Fatal(err)
	}
	if c := all[1]; c.Index != 1 || c.Attributes.ID != "bbb" || c.Attributes.Name != "bench-2" || string(kept["vm"]) != `{"key":"me/bench-2"}` {
		t.Errorf("the copy is %+v and keeps %s", c, kept["vm"])
	}
}

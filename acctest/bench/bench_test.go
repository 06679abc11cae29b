package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestMain lets this test binary stand in for the providers that Terraform
// starts, and for the provider that is the framework alone.
func TestMain(m *testing.M) {
	if os.Getenv(frameworkOnlyVariable) != "" {
		serveFrameworkOnly()
		os.Exit(0)
	}
	if provider := os.Getenv(providerVariable); provider != "" {
		os.Exit(runStandIn(provider, os.Getenv(usageVariable)))
	}
	// Otherwise the race detector sleeps a second at the end of each process.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// quickTimes are short MAAS times, so that a test ends soon.
var quickTimes = sim.Latency{
	Call: time.Millisecond, Compose: 20 * time.Millisecond, Commission: 100 * time.Millisecond,
	Deploy: 100 * time.Millisecond, Release: 50 * time.Millisecond, Delete: 10 * time.Millisecond,
	FirstBoot: 100 * time.Millisecond,
}

// TestAccBench runs a small bench with our provider in both columns. It checks
// the counts that do not depend on time.
func TestAccBench(t *testing.T) {
	t.Parallel()
	const n = 4
	sides := ourSideTwice(t)
	finder, err := cli.NewFinder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := finder.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := bench{cli: found, log: t.Output(), began: time.Now(), load: report.DescribeLoad(), journals: t.TempDir()}
	err = b.measure(t.Context(), sides, []workload{
		{kind: vms, n: n, times: quickTimes, pollInterval: "50ms", turns: []parallelSteps{{10, lifeSteps}}},
		{kind: vms, n: n, times: instantTimes, pollInterval: "50ms", prepare: true, copiesFirst: true, againstFramework: true, turns: []parallelSteps{{10, readSteps}}},
	})
	if err == nil {
		err = b.measure(t.Context(), sides[:1], []workload{{kind: hosts, n: n, times: quickTimes, pollInterval: "50ms", turns: []parallelSteps{{10, lifeSteps}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range b.tables {
		for at, s := range table.steps {
			for i, m := range table.cells[at] {
				checkCounts(t, table, s, sides[i].name, m)
			}
		}
	}
	for _, v := range b.verdicts {
		timely := strings.Contains(v.Budget, "looks") // the short interval allows as many looks as there are
		if v.IsMissed() && !timely {
			t.Errorf("%s, %s: %v, want at most %v", v.Budget, v.Where, v.Measured, v.Limit)
		}
	}
	for name, write := range map[string]report.Printer{"text": report.PlainText, "Markdown": report.Markdown} {
		var out bytes.Buffer
		b.print(&out, write)
		for _, want := range []string{"apply maaslxd", "apply peer", "POST vm-hosts/{id}/ compose", "4 hosts, parallelism 10", "Budgets", ", load "} {
			if !strings.Contains(strings.ToLower(out.String()), strings.ToLower(want)) {
				t.Errorf("the report as %s lacks %q:\n%s", name, want, out.String())
			}
		}
	}
	if kept, err := os.ReadDir(b.journals); err != nil || len(kept) != 2*(len(lifeSteps)+len(readSteps))+len(lifeSteps) {
		t.Errorf("%d journals were kept, %v", len(kept), err)
	}
}

// ourSideTwice builds our provider and returns it as both sides.
func ourSideTwice(t *testing.T) []side {
	t.Helper()
	binary := filepath.Join(t.TempDir(), cli.ProviderBinary)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "github.com/maaslxd/maaslxd/terraform-provider-maaslxd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the provider: %v\n%s", err, out)
	}
	ours, err := ourSide(binary)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := newSide("peer", binary, os.DirFS("config"))
	if err != nil {
		t.Fatal(err)
	}
	return []side{ours, peer}
}

// wantOwnCalls is how many calls each step makes for one VM or host, refreshes
// not counted.
var wantOwnCalls = map[string]map[string]int{
	"VM":   {"apply": 5, "update": 1, "destroy": 3},
	"host": {"apply": 14, "update": 2, "destroy": 5},
}

// checkCounts checks the counts of a step that do not depend on how busy the
// computer is.
func checkCounts(t *testing.T, of table, s step, side string, m measurement) {
	t.Helper()
	name, vms := fmt.Sprintf("%s, %s of %s", side, s.name, of.kind.many), of.n
	// MAAS answers a refresh with 503 until the LXD runs.
	want, refused := wantOwnCalls[of.kind.one][s.name]*vms, m.Refreshes
	if of.kind.one == "host" && s.name == "apply" {
		want += 2 // the first host of a MAAS finds no tag for hosts, and makes it
		refused++
	}
	if got := m.Calls - m.Shared - m.Refreshes; got != want {
		t.Errorf("%s: %d calls of their own, want %d: %v", name, got, want, m.Routes)
	}
	made := map[string]string{"VM": "POST vm-hosts/{id}/ compose", "host": "POST machines/ allocate"}[of.kind.one]
	if s.name == "apply" && m.Routes[made] != vms {
		t.Errorf("%s: %d times %s, want %d", name, m.Routes[made], made, vms)
	}
	if (s.name == "plan" || s.name == "refresh") && (m.Objects != vms || m.Calls > vms) {
		t.Errorf("%s: %d machines in %d calls, want each of %d once", name, m.Objects, m.Calls, vms)
	}
	if len(m.Failed) > refused || m.Connections < 1 || m.Connections > 16 || m.Wall <= 0 {
		t.Errorf("%s: calls %q failed, %d connections, %v", name, m.Failed, m.Connections, m.Wall)
	}
	if u := m.Usage; u.Processes < 1 || u.Unknown > u.Processes || u.Unknown == 0 && (u.CPU <= 0 || u.PeakKiB < 1024) {
		t.Errorf("%s: the provider used %+v", name, u)
	}
}

func TestParseArguments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		err    string
	}{
		"Defaults":      {"Nothing need be said.", nil, ""},
		"Small":         {"Reading and hosts may be left out.", []string{"-vms", "4, 8", "-reads", "", "-growth", "", "-hosts", "", "-parallelism", "2"}, ""},
		"HalfAPeer":     {"A configuration alone does nothing.", []string{"-peer-config", "x"}, "with -peer"},
		"NoParallelism": {"Terraform needs one.", []string{"-parallelism", ""}, "-parallelism"},
		"NoWork":        {"There must be something to do.", []string{"-vms", "", "-reads", "", "-growth", "", "-hosts", ""}, "nothing to measure"},
		"OneGrowth":     {"One number has nothing to be compared with.", []string{"-growth", "1000"}, "-growth: name at least two different numbers"},
		"SameGrowth":    {"Nor has the same one.", []string{"-growth", "1000,1000"}, "-growth: name at least two different numbers"},
		"NoNumber":      {"VMs are counted from one on.", []string{"-vms", "0"}, `"0" is not a number`},
		"Stray":         {"A word that is not a flag is a mistake.", []string{"100"}, `"100" is not a flag`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(tc.args, io.Discard)
			if text := textOf(err); tc.err == "" && err != nil || !strings.Contains(text, tc.err) {
				t.Errorf("%s\nerror is %q, want %q in it", tc.reason, text, tc.err)
			}
		})
	}
}

func TestSidesThatCannotBe(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	two := t.TempDir()
	text := "source = \"a/b\"\nsource = \"c/d\"\nsource = \"./module\"\n"
	if err := os.WriteFile(filepath.Join(two, "main.tf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, binary, config, err string }{
		"NoBinary":  {"What is not there cannot be measured.", filepath.Join(empty, "x"), "config", "no such file"},
		"Directory": {"A directory is easily given instead.", empty, "config", "name the provider's binary"},
		"NoConfig":  {"Without a configuration there is no address.", self, empty, "name 0 providers"},
		"Two":       {"One provider does the work.", self, two, `"a/b" "c/d"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newSide("peer", tc.binary, os.DirFS(tc.config))
			if !strings.Contains(textOf(err), tc.err) {
				t.Errorf("%s\nerror is %v, want %q in it", tc.reason, err, tc.err)
			}
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMeasureJournal(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) time.Time {
		return time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	const machines = "/MAAS/api/2.0/machines/"
	j := sim.Journal{Connections: 2, MachineObjects: 6, Calls: []sim.Call{
		{Route: "GET machines/", Path: machines, Query: map[string][]string{"agent_name": {"maaslxd-0123"}}, Status: 200},
		{Route: "POST vm-hosts/{id}/ refresh", Path: "/MAAS/api/2.0/vm-hosts/1/", Status: 200},
		{Route: "GET vm-hosts/", Path: "/MAAS/api/2.0/vm-hosts/", Status: 200},
		{Route: "GET machines/", Path: machines, Query: map[string][]string{"hostname": {"x"}}, Status: 200},
		{Route: "POST machines/{id}/ deploy", Path: machines + "aaa/", Status: 409, At: at(1), MachineObjects: 1},
		{Route: "GET machines/", Path: machines, Query: map[string][]string{"id": {"aaa", "bbb"}}, Status: 200, At: at(4), MachineObjects: 2},
		{Route: "PUT machines/{id}/", Path: machines + "aaa/", Status: 409, At: at(2.5), Took: 500 * time.Millisecond, MachineObjects: 1},
		{Route: "GET machines/{id}/", Path: machines + "aaa/", Status: 200, At: at(6.5), MachineObjects: 1},
		{Route: "GET machines/", Path: machines, Query: map[string][]string{"id": {"aaa", "bbb"}}, Status: 200, At: at(8), MachineObjects: 2},
	}}
	want := measurement{
		Calls: 9, Polls: 2, Shared: 4, Refreshes: 1, Failed: []string{"409 POST machines/{id}/ deploy", "409 PUT machines/{id}/"}, Objects: 6, Looks: 5, Connections: 2, Wall: time.Minute,
		Routes: map[string]int{
			"GET vm-hosts/": 1, report.NamesRoute: 1, report.AgentRoute: 1, refreshRoute: 1, report.PollRoute: 2, "POST machines/{id}/ deploy": 1, "GET machines/{id}/": 1,
			"PUT machines/{id}/": 1,
		},
		// aaa is looked at from 1 s to 8 s: two intervals begin. bbb is looked
		// at from 4 s to 8 s: one begins.
		AllowedLooks: (1 + 2) + (1 + 1),
		Span:         2 * time.Second, // of aaa; reads do not count
	}
	if diff := cmp.Diff(want, measureJournal(j, time.Minute, usage{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMissedBudgets(t *testing.T) {
	t.Parallel()
	good := measurement{Calls: 600, Shared: 100, Connections: 16, Looks: 300, AllowedLooks: 300, Wall: 11 * time.Second, Ideal: 10 * time.Second}
	cases := map[string]struct {
		reason string
		change func(*measurement)
		missed string
	}{
		"Met":         {"At the limit is within it.", func(*measurement) {}, ""},
		"Calls":       {"Each VM costs more.", func(m *measurement) { m.Calls++ }, "5.01, want at most 5"},
		"Connections": {"A connection for each call.", func(m *measurement) { m.Connections = 17 }, "TCP connections of a command: 17"},
		"Looks":       {"Looks come too often.", func(m *measurement) { m.Looks++ }, "301, want at most 300"},
		"Busy":        {"Others had the CPUs.", func(m *measurement) { m.Wall, m.OthersShare = 12*time.Second, 0.4 }, ""},
		"Time":        {"Time is wasted.", func(m *measurement) { m.Wall = 12 * time.Second }, "1.2, want at most 1.15"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := good
			tc.change(&m)
			table := table{kind: vms, n: 100, parallelism: 10, steps: lifeSteps[:1], cells: [][]measurement{{m, {Calls: 10000}}}}
			err := report.MissedError(table.evaluateBudgets())
			if (err == nil) != (tc.missed == "") || !strings.Contains(textOf(err), tc.missed) {
				t.Errorf("%s\ngot %v, want %q in it", tc.reason, err, tc.missed)
			}
		})
	}
}

// TestMissedLooks: a destroy may look at each VM four times, and a host may be refreshed more often
// if the first boots differ.
func TestMissedLooks(t *testing.T) {
	t.Parallel()
	boots := []time.Duration{2 * time.Second, 20 * time.Second}
	cases := map[string]struct {
		reason string
		kind   kind
		step   int // in lifeSteps
		m      measurement
		missed string
	}{
		"Destroy":        {"Four looks a VM, and some see a VM twice.", vms, 3, measurement{Looks: 450}, ""},
		"DestroyTooMany": {"One more than that.", vms, 3, measurement{Looks: 451}, "4.51, want at most 4.5"},
		"Hosts":          {"MAAS looks until the LXD is there.", hosts, 0, measurement{Refreshes: 300}, ""},
		"HostsTooMany":   {"It looks more often.", hosts, 0, measurement{Refreshes: 301}, "3.01, want at most 3"},
		"Boots":          {"The longest boot takes 20 s.", hosts, 0, measurement{Refreshes: 700, Boots: boots}, ""},
		"BootsTooMany":   {"The pauses do not grow.", hosts, 0, measurement{Refreshes: 701, Boots: boots}, "7.01, want at most 7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := table{kind: tc.kind, n: 100, parallelism: 64, steps: lifeSteps[tc.step : tc.step+1], cells: [][]measurement{{tc.m}}}
			var missed []string
			for _, v := range table.evaluateBudgets() {
				if strings.Contains(v.Budget, "looks") || strings.Contains(v.Budget, "refreshes by MAAS") {
					missed = append(missed, textOf(report.MissedError([]report.Verdict{v})))
				}
			}
			if len(missed) != 1 || !strings.Contains(missed[0], tc.missed) || (missed[0] == "") != (tc.missed == "") {
				t.Errorf("%s\ngot %q, want %q in it", tc.reason, missed, tc.missed)
			}
		})
	}
}

// TestAbleTo: a peer without a configuration for hosts is measured with VMs
// only.
func TestAbleTo(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{}
	sides := []side{
		{name: "both", config: fstest.MapFS{"main.tf": file, "hosts/main.tf": file}},
		{name: "only VMs", config: fstest.MapFS{"main.tf": file}},
	}
	if got := sidesFor(vms, sides); len(got) != 2 {
		t.Errorf("VMs are made by %d sides, want both", len(got))
	}
	if got := sidesFor(hosts, sides); len(got) != 1 || got[0].name != "both" {
		t.Errorf("hosts are made by %v, want the one with a configuration", got)
	}
}

// TestProviderThatOutlives: where a process was not seen to end, the report
// says that its usage is unknown.
func TestProviderThatOutlives(t *testing.T) {
	t.Parallel()
	sleeper := exec.CommandContext(t.Context(), "sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	const ended = 1 << 30 // no process has this id
	notes := filepath.Join(t.TempDir(), "usage.json")
	for _, n := range []processNote{{PID: sleeper.Process.Pid}, {PID: ended}, {PID: ended, Ended: true, CPU: time.Second, PeakKiB: 2048}} {
		if err := appendNote(notes, n); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readUsage(notes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(usage{Processes: 2, CPU: time.Second, PeakKiB: 2048, Unknown: 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := sleeper.Wait(); err == nil {
		t.Error("the process that outlived its command ran on to its end")
	}
	if got := tableRows[len(tableRows)-4].of(measurement{Usage: got}, 1); got != "≥ 1.0 s" {
		t.Errorf("the report says %q", got)
	}
	if _, err := readUsage(notes + "x"); err == nil {
		t.Error("no error where no provider was started")
	}
}

// TestPeersConfig: a peer without a configuration of its own is canonical/maas,
// which makes VMs and hosts.
func TestPeersConfig(t *testing.T) {
	config, err := options{peer: "terraform-provider-maas"}.peersConfig()
	if err != nil {
		t.Fatal(err)
	}
	source, err := sourceOf(config)
	if err != nil || source != "canonical/maas" {
		t.Errorf("the configuration is for %q, %v, want canonical/maas", source, err)
	}
	for _, k := range []kind{vms, hosts} {
		if len(sidesFor(k, []side{{config: config}})) == 0 {
			t.Errorf("the configuration makes no %s", k.many)
		}
	}
}

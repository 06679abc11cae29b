package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/bench/report"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

func TestParseArguments(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		err    string
	}{
		"Defaults": {"Nothing need be said.", nil, ""},
		"Small":    {"Either part may be left out.", []string{"-machines", "20", "-rest", "0"}, ""},
		"Nothing":  {"Both cannot.", []string{"-machines", "0", "-rest", "0"}, "nothing to measure"},
		"Part":     {"Clusters are whole.", []string{"-machines", "15"}, "-machines: 15"},
		"Negative": {"Fewer than none are none.", []string{"-rest", "-10"}, "-rest: -10"},
		"Short":    {"A look a minute takes a minute to see.", []string{"-watch", "90s"}, "-watch: 1m30s"},
		"Stray":    {"A word that is not a flag is a mistake.", []string{"100"}, `"100" is not a flag`},
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

// TestReport sums up a journal, judges it and prints it.
func TestReport(t *testing.T) {
	t.Parallel()
	m := sumUp(sim.Journal{Connections: 3, MachineObjects: 30, Calls: []sim.Call{
		{Route: "GET machines/", Query: map[string][]string{"id": {"aaa", "bbb"}}, Status: 200},
		{Route: "POST vm-hosts/{id}/ compose", Status: 503},
		{Route: "PUT dnsresources/{id}/", Status: 200},
		{Route: "GET zones/"}, // under way
		{Route: "GET zones/", Lost: true},
	}})
	want := measurement{Calls: 5, Writes: 2, VMWrites: 1, Failed: 2, Polls: 1, Objects: 30, Connections: 3, Routes: map[string]int{
		report.PollRoute: 1, "POST vm-hosts/{id}/ compose": 1, "PUT dnsresources/{id}/": 1, "GET zones/": 2,
	}}
	if diff := cmp.Diff(want, m, cmp.AllowUnexported(measurement{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.step, m.machines, m.Wall = "at rest", 10, time.Minute
	b := bench{options: options{machines: 10, watch: time.Minute}, rest: &m}
	err := report.MissedError(b.evaluateBudgets())
	for _, missed := range []string{"writes to MAAS at rest: 2", "looks at a machine a minute, at rest: 3, want at most 1.1", "a minute, at rest: 0.5"} {
		if err == nil || !strings.Contains(err.Error(), missed) {
			t.Errorf("not missed: %s: %v", missed, err)
		}
	}
	var out bytes.Buffer
	b.print(&out, report.Markdown)
	for _, line := range []string{"10 machines at rest for 1m0s", "| MAAS calls | 5 |", "MISSED"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the report lacks %q:\n%s", line, out.String())
		}
	}
}

func TestReadProcessUsage(t *testing.T) {
	t.Parallel()
	stat := "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 9"
	got, err := readUsage(stat, "Name:\ta\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n")
	if diff := cmp.Diff(usage{CPU: 2 * time.Second, RSSKiB: 1024, PeakKiB: 2048}, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if _, err := readUsage("7 (a) S 1", ""); err == nil {
		t.Error("a line that is cut off is no error")
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		events  []event
		want    string // the report's lines
		kinds   string // -want
		stories int    // -stories
		err     string
	}{
		"KindsAndSkips": {
			reason: "Suites are told apart by name, and a skip gives its reason.",
			events: []event{
				{Action: "run", Package: "m/engine", Test: "TestPhase"},
				{Action: "pass", Package: "m/engine", Test: "TestPhase"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM", Output: "=== RUN   TestAccVM\n"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM", Output: "    vm_test.go:12: needs a real MAAS\n"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM", Output: "--- SKIP: TestAccVM (0.00s)\n"},
				{Action: "skip", Package: "m/acctest", Test: "TestAccVM"},
				{Action: "run", Package: "m/sim", Test: "TestFidelity/routes"},
				{Action: "output", Package: "m/sim", Test: "TestFidelity/routes", Output: "  x_test.go:3: 98 of 100 exchanges reproduced\n"},
				{Action: "pass", Package: "m/sim", Test: "TestFidelity/routes"},
				{Action: "pass", Package: "m/sim"},
				{Action: "run", Package: "m/engine", Test: "TestChaos"},
				{Action: "output", Package: "m/engine", Test: "TestChaos", Output: "  x_test.go:4: 3 schedules, 1 broken calls survived, leaks 0 (+ unseen by MAAS 1)\n"},
				{Action: "output", Package: "m/engine", Test: "TestChaos", Output: "  x_test.go:5: unseen by MAAS, 1 times: LXD was away\n"},
				{Action: "pass", Package: "m/engine", Test: "TestChaos"},
			},
			want: `
kind        passed  failed  skipped
unit        1       0       0
acceptance  0       0       1
fidelity    1       0       0
chaos       1       0       0
98 of 100 exchanges reproduced
3 schedules, 1 broken calls survived, leaks 0 (+ unseen by MAAS 1)
unseen by MAAS, 1 times: LXD was away
skipped acctest TestAccVM: needs a real MAAS

total: 3 passed, 0 failed, 1 skipped
`,
			kinds: "unit,fidelity",
		},
		"SkippedIsNotRun": {
			reason: "A suite whose tests were all skipped has not run.",
			events: []event{
				{Action: "run", Package: "m/acctest", Test: "TestAccVM"},
				{Action: "skip", Package: "m/acctest", Test: "TestAccVM"},
			},
			want: `
kind        passed  failed  skipped
acceptance  0       0       1
skipped acctest TestAccVM: it gave no reason

total: 0 passed, 0 failed, 1 skipped
`,
			kinds: "acceptance",
			err:   "no acceptance test ran",
		},
		"BuildFailure": {
			reason: "A package that does not build has no test to fail.",
			events: []event{{Action: "fail", Package: "m/engine"}},
			want: `
kind  passed  failed  skipped
Nothing was skipped.
failed outside of any test: m/engine

total: 0 passed, 1 failed, 0 skipped
`,
			err: "1 failed",
		},
		"FailedTestIsCountedOnce": {
			reason: "The package of a failed test fails too, and that is no second failure.",
			events: []event{
				{Action: "run", Package: "m/engine", Test: "TestPhase"},
				{Action: "fail", Package: "m/engine", Test: "TestPhase"},
				{Action: "fail", Package: "m/engine"},
			},
			want: `
kind  passed  failed  skipped
unit  0       1       0
Nothing was skipped.

total: 0 passed, 1 failed, 0 skipped
`,
			err: "1 failed",
		},
		"CasesAllSkipped": {
			reason: "A test of which each case is skipped has not run, also where the name of a case has a slash.",
			events: []event{
				{Action: "run", Package: "m/acctest", Test: "TestAccVM"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM/Killed/CLI"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM/Killed/CLI", Output: "    x_test.go:1: needs a simulator\n"},
				{Action: "skip", Package: "m/acctest", Test: "TestAccVM/Killed/CLI"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM/Inner"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM/Inner/A"},
				{Action: "skip", Package: "m/acctest", Test: "TestAccVM/Inner/A"},
				{Action: "pass", Package: "m/acctest", Test: "TestAccVM/Inner"},
				{Action: "pass", Package: "m/acctest", Test: "TestAccVM"},
			},
			want: `
kind        passed  failed  skipped
acceptance  0       0       4
skipped acctest TestAccVM/Killed/CLI: needs a simulator
skipped acctest TestAccVM/Inner/A: it gave no reason
skipped acctest TestAccVM/Inner: each of its cases is skipped
skipped acctest TestAccVM: each of its cases is skipped

total: 0 passed, 0 failed, 4 skipped
`,
			kinds: "acceptance",
			err:   "no acceptance test ran",
		},
		"OneCaseRan": {
			reason: "A test of which one case ran has run, and is one story on a MAAS, however many cases ran.",
			events: []event{
				{Action: "run", Package: "m/acctest", Test: "TestAccVM"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM/A"},
				{Action: "skip", Package: "m/acctest", Test: "TestAccVM/A"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM/B"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM/B", Output: "    x_test.go:1: story on the MAAS at http://maas\n"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM/B", Output: "    x_test.go:2: step left out: count calls: no journal\n"},
				{Action: "pass", Package: "m/acctest", Test: "TestAccVM/B"},
				{Action: "run", Package: "m/acctest", Test: "TestAccVM/C"},
				{Action: "output", Package: "m/acctest", Test: "TestAccVM/C", Output: "    x_test.go:1: story on the MAAS at http://maas\n"},
				{Action: "pass", Package: "m/acctest", Test: "TestAccVM/C"},
				{Action: "pass", Package: "m/acctest", Test: "TestAccVM"},
			},
			want: `
kind        passed  failed  skipped
acceptance  3       0       1
acceptance: 1 stories ran on a MAAS that was there, in 2 cases
left out 1 times in acceptance: count calls: no journal
skipped acctest TestAccVM/A: it gave no reason

total: 3 passed, 0 failed, 1 skipped
`,
			kinds: "acceptance", stories: 2,
			err: "1 stories of acceptance ran on a MAAS that was there, want 2",
		},
		"CutOff": {
			reason: "A run that was killed in the middle of a test has failed.",
			events: []event{{Action: "run", Package: "m/engine", Test: "TestPhase"}},
			want: `
kind  passed  failed  skipped
Nothing was skipped.
failed outside of any test: m/engine

total: 0 passed, 1 failed, 0 skipped
`,
			err: "1 failed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(&out, []string{writeEvents(t, tc.events)}, tc.kinds, tc.stories)
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if got := errorText(err); !strings.Contains(got, tc.err) || (tc.err == "") != (err == nil) {
				t.Errorf("%s\nerror is %q, want %q in it", tc.reason, got, tc.err)
			}
		})
	}
}

// TestSummaryOfColumns adds up the results of a suite in several columns.
func TestSummaryOfColumns(t *testing.T) {
	t.Parallel()
	ended := func(action string) string {
		return writeEvents(t, []event{{Action: "run", Package: "m/acctest", Test: "TestAccVM"}, {Action: action, Package: "m/acctest", Test: "TestAccVM"}})
	}
	var out bytes.Buffer
	if err := run(&out, []string{"maas=" + ended("pass"), "lxd=" + ended("skip")}, "acceptance (maas)", 0); err != nil {
		t.Error(err)
	}
	want := `
kind               passed  failed  skipped
acceptance (maas)  1       0       0
acceptance (lxd)   0       0       1
skipped acctest TestAccVM (lxd): it gave no reason

total: 1 passed, 0 failed, 1 skipped
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSummaryNeedsItsFile(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"None": "", "Missing": filepath.Join(t.TempDir(), "none.json")} {
		if err := run(new(bytes.Buffer), []string{path}, "", 0); err == nil {
			t.Errorf("%s: no error for the file %q", name, path)
		}
	}
}

// writeEvents writes the events as go test -json does.
func writeEvents(t *testing.T, events []event) string {
	t.Helper()
	var text bytes.Buffer
	for _, e := range events {
		if err := json.NewEncoder(&text).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// errorText is the error's text, empty for nil.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

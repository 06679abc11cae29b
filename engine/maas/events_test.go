package maas

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestFirstBootFailures reads only the failures since the last deployment.
func TestFirstBootFailures(t *testing.T) {
	t.Parallel()
	const events = `{"count":6,"events":[
		{"type":"Node post-installation failure","description":"'cloudinit' maaslxd: there is no pool"},
		{"type":"Node post-installation failure","description":"'cloudinit' running config-lxd"},
		{"type":"Node post-installation failure","description":"'curtin' something else"},
		{"type":"Marked broken","description":"'cloudinit' by hand"},
		{"type":"Deployed","description":""},
		{"type":"Node post-installation failure","description":"'cloudinit' of an earlier deployment"}]}`
	f := newConstantFake(200, "application/json", events)
	got, err := testClient(t, f).Events.FirstBootFailures(t.Context(), "abc")
	want := []string{"running config-lxd", "maaslxd: there is no pool"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("-want +got:\n%s%v", diff, err)
	}
	if diff := cmp.Diff([]string{"GET events/?id=abc&level=INFO&limit=200&op=query"}, f.routes()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFirstBootFailuresOfTheSimulator: a machine without failures.
func TestFirstBootFailuresOfTheSimulator(t *testing.T) {
	t.Parallel()
	c := newSimulatedClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1", Cores: 1, MemoryMiB: 1024, Status: "Deployed"}}})
	m := onlyMachine(t, c, engine.MachineFilter{Status: engine.StatusDeployed})
	if got, err := c.Events.FirstBootFailures(t.Context(), m.SystemID); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// newFailedMachine returns a simulated MAAS with one machine, which a failed script brought
// into a status.
func newFailedMachine(t *testing.T, version, status string, f sim.Failure) (*Client, engine.Machine) {
	t.Helper()
	s, err := sim.New(sim.Model{
		MAASVersion: version, Machines: []sim.MachineModel{{Hostname: "m1", Cores: 1, MemoryMiB: 1024}},
		Latency: sim.Latency{Commission: time.Hour, Deploy: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := testClient(t, s.RoundTripper(), func(c *Config) { c.APIKey = s.APIKey() })
	m := onlyMachine(t, c, engine.MachineFilter{})
	switch status {
	case "Failed deployment":
		if err = c.Machines.Allocate(t.Context(), m.SystemID, "x"); err == nil {
			err = c.Machines.Deploy(t.Context(), m.SystemID, engine.Deployment{})
		}
	default:
		err = c.Machines.Commission(t.Context(), m.SystemID)
	}
	if err == nil {
		err = s.FailScript(m.SystemID, "no boot", f)
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err = c.Machines.Machine(t.Context(), m.SystemID)
	if err != nil || m.StatusName != status {
		t.Fatalf("it is %s, %v", m.StatusName, err)
	}
	return c, m
}

// TestEvidenceOfAFailure asks a simulated MAAS why a machine failed.
func TestEvidenceOfAFailure(t *testing.T) {
	t.Parallel()
	const secret = "#cloud-config\npassword: correct-horse-battery\n"
	cases := map[string]struct {
		reason, version, status string
		script                  sim.Failure
		want                    []string
	}{
		"Commissioning": {
			"The script that somebody uploaded is named, with the end of what it wrote.", "", "Failed commissioning",
			sim.Failure{Script: "50-site-firmware", ExitStatus: 3, Output: "reading\nflashing\n\x1b[31mno such device\x1b[0m\napi_key=abc\n"},
			[]string{"script 50-site-firmware: Failed with exit status 3; its output ends: flashing | no such device | api_key=[redacted]", "the last events: Commissioning"},
		},
		"Deployment": {
			"The log of an installation is one. Of user-data nothing is told.", "", "Failed deployment",
			sim.Failure{Output: "curtin\nran correct-horse-battery\nfailed"},
			[]string{"script /tmp/install.log: Failed with exit status 1; its output ends: curtin | ran[redacted] | failed", "the last events: Deploying"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, m := newFailedMachine(t, tc.version, tc.status, tc.script)
			got, err := engine.ReadEvidence(t.Context(), c.Events, m, secret)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, []string(got)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEndedIn shows a status message without the passages of user-data that a machine sent
// to MAAS.
func TestEndedIn(t *testing.T) {
	t.Parallel()
	m := engine.Machine{StatusName: "Failed deployment", StatusMessage: "Node installation failure - ran correct-horse-battery"}
	c := testClient(t, newConstantFake(200, "application/json", "[]"))
	got := engine.EndStateText(m, c.Events, "#cloud-config\npassword: correct-horse-battery\n")
	if want := `ended in the state "Failed deployment": Node installation failure - ran[redacted]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFailedScripts reads other possible answers of MAAS.
func TestFailedScripts(t *testing.T) {
	t.Parallel()
	const runs = `[{"id":3,"results":[{"id":7,"name":"old","status":3}]},
		{"id":9,"results":[{"id":20,"name":"ok","status":2},{"id":21,"name":"smartctl-validate","status":4,"status_name":"Timed out","exit_status":null,
		"parameters":{"storage":{"type":"storage","value":{"name":"sda"}}}},{"id":22,"name":"known","status":3,"suppressed":true}]}]`
	cases := map[string]struct {
		reason string
		status engine.Status
		answer string
		code   int
		want   string
		routes int
		fails  bool
	}{
		"Newest":   {"The last run counts, and what was suppressed does not. What it wrote cannot be read here.", engine.StatusFailedTesting, runs, 200, "script smartctl-validate on sda: Timed out", 2, true},
		"NoneRan":  {"A machine may have failed before any script.", engine.StatusFailedCommissioning, `[]`, 200, "", 1, false},
		"NoScript": {"Broken is what people say.", engine.StatusBroken, `[]`, 200, "", 0, false},
		"TooOld":   {"Before 3.5 releases run no scripts.", engine.StatusFailedReleasing, `Result type must be commissioning, testing, or installation.`, 400, "", 1, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := "application/json"
			if tc.code != 200 {
				kind = "text/plain"
			}
			f := newConstantFake(tc.code, kind, tc.answer)
			got, err := testClient(t, f).Events.FailedScripts(t.Context(), engine.Machine{SystemID: "abc", Status: tc.status}, nil)
			if failed := err != nil; failed != tc.fails {
				t.Errorf("%s\nerror %v", tc.reason, err)
			}
			var said []string
			for _, s := range got {
				said = append(said, s.String())
			}
			if text := strings.Join(said, "; "); text != tc.want || len(f.routes()) != tc.routes {
				t.Errorf("%s\ngot %q by %q", tc.reason, text, f.routes())
			}
		})
	}
}

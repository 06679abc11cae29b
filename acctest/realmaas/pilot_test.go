package realmaas_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/executable"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// writeDriveScript writes a drive command that logs its arguments and calls a
// simulator.
func writeDriveScript(t *testing.T, steer string) (command, log string) {
	t.Helper()
	dir := t.TempDir()
	command, log = filepath.Join(dir, "drive"), filepath.Join(dir, "log")
	text := fmt.Sprintf("#!/bin/sh\necho $1 >> %s\ncase $1 in *failed) end=fail ;; *) end=finish ;; esac\ncurl -sf -X POST -d '{}' %s/machines/$2/$end\n", log, steer)
	if err := executable.WriteProgram(command, text); err != nil {
		t.Fatal(err)
	}
	return command, log
}

// TestPilotDrivesMachines drives the run's machines through their transitions, each once. It
// leaves held machines and those of others alone, and does what a story
// ordered.
func TestPilotDrivesMachines(t *testing.T) {
	t.Parallel()
	m := lentModel()
	m.Latency = sim.Latency{Commission: time.Hour, Deploy: time.Hour, FirstBoot: time.Hour}
	c, s := openMAAS(t, m)
	command, log := writeDriveScript(t, strings.TrimSuffix(s.URL, "/MAAS")+"/_sim")
	ours := func(m realmaas.Machine) bool { return strings.HasPrefix(m.Hostname, "tf-acc-0001-") }
	p := realmaas.NewPilot(c, realmaas.Drive{Command: command}, ours, ours, 20*time.Millisecond, func(text string) { t.Log(text) })
	p.Hold("tf-acc-0001-held")
	p.ReplaceVerb("tf-acc-0001-bad", realmaas.VerbCommissioned, realmaas.VerbCommissioningFailed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.Run(ctx)
	for _, name := range []string{"good", "bad", "held"} {
		composeVM(t, c, "tf-acc-0001-"+name)
	}
	composeVM(t, c, "web-1")
	waitForStatuses(t, c, map[string]string{
		"tf-acc-0001-good": "Ready", "tf-acc-0001-bad": "Failed commissioning", "tf-acc-0001-held": "Commissioning", "web-1": "Commissioning",
	})
	p.Release("tf-acc-0001-held")
	if err := c.Operate(ctx, findMachine(t, c, "tf-acc-0001-good").SystemID, "deploy", nil); err != nil {
		t.Fatal(err)
	}
	waitForStatuses(t, c, map[string]string{"tf-acc-0001-good": "Deployed", "tf-acc-0001-held": "Ready", "web-1": "Commissioning"})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		calls := strings.Count(string(text), "\n")
		if strings.Contains(string(text), "booted") && calls == 5 {
			return
		}
		if time.Now().After(end) || calls > 5 {
			t.Fatalf("want three machines commissioned, one of them deployed and booted, got:\n%s", text)
		}
	}
}

// TestPilotGoesOn: a hanging command does not delay other machines, and is
// killed after its timeout. A failed command is called again, also for
// "booted". An order stays until it is done.
func TestPilotGoesOn(t *testing.T) {
	t.Parallel()
	m := lentModel()
	m.Latency = sim.Latency{Commission: time.Hour, Deploy: time.Hour, FirstBoot: time.Hour}
	c, s := openMAAS(t, m)
	good, hung := "tf-acc-0001-good", "tf-acc-0001-hung"
	for _, name := range []string{hung, good} {
		composeVM(t, c, name)
	}
	ids := map[string]string{good: findMachine(t, c, good).SystemID, hung: findMachine(t, c, hung).SystemID}
	dir := t.TempDir()
	command := filepath.Join(dir, "the drive") // its name has a space
	// Each verb fails at its first call. The hanging command has a child that
	// keeps its output open.
	text := fmt.Sprintf("#!/bin/sh\nif [ $2 = %s ]; then sleep 600; fi\necho $1 >> '%s/log'\n"+
		"if [ ! -e '%s/'$1 ]; then touch '%s/'$1; exit 1; fi\ncurl -sf -X POST -d '{}' %s/machines/$2/finish\n",
		ids[hung], dir, dir, dir, strings.TrimSuffix(s.URL, "/MAAS")+"/_sim")
	if err := executable.WriteProgram(command, text); err != nil {
		t.Fatal(err)
	}
	var reported atomic.Int64
	ours := func(m realmaas.Machine) bool { return strings.HasPrefix(m.Hostname, "tf-acc-0001-") }
	p := realmaas.NewPilot(c, realmaas.Drive{Command: command}, ours, ours, 20*time.Millisecond, func(text string) { reported.Add(1); t.Log(text) })
	p.RetryAfter, p.CommandTimeout = 100*time.Millisecond, 2*time.Second
	p.ReplaceVerb(good, realmaas.VerbCommissioned, realmaas.VerbCommissioningFailed)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	waitForStatuses(t, c, map[string]string{good: "Ready"}) // the simulator ends the transition with any verb
	if err := c.Operate(ctx, ids[good], "deploy", nil); err != nil {
		t.Fatal(err)
	}
	waitForStatuses(t, c, map[string]string{good: "Deployed", hung: "Commissioning"})
	want := "commissioning-failed commissioning-failed deployed deployed booted booted "
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(text), "\n", " "); got == want && reported.Load() >= 4 {
			return // three verbs failed once, and the hanging command was killed
		} else if time.Now().After(end) || len(got) > len(want) {
			t.Fatalf("%d failures are reported; the calls are %s\nwant %s", reported.Load(), got, want)
		}
	}
}

// TestPilotStale: a list of machines that was requested before a command's end
// is not news. Otherwise the machine would be driven again for a status that it
// has left.
func TestPilotStale(t *testing.T) {
	t.Parallel()
	m := lentModel()
	m.Latency = sim.Latency{Commission: time.Hour}
	c, s := openMAAS(t, m)
	const name = "tf-acc-0001-good"
	composeVM(t, c, name)
	dir := t.TempDir()
	command, log, ended := filepath.Join(dir, "drive"), filepath.Join(dir, "log"), filepath.Join(dir, "ended")
	// The command ends after a list was requested.
	text := fmt.Sprintf("#!/bin/sh\necho $1 >> %[1]s\nwhile [ ! -e %[2]s ]; do sleep 0.01; done\ncurl -sf -X POST -d '{}' %[3]s/machines/$2/finish\n",
		log, ended, strings.TrimSuffix(s.URL, "/MAAS")+"/_sim")
	if err := executable.WriteProgram(command, text); err != nil {
		t.Fatal(err)
	}
	site, err := url.Parse(strings.TrimSuffix(s.URL, "/MAAS"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(site)
	var after atomic.Int64 // lists requested after the command's end
	proxy.ModifyResponse = func(*http.Response) error {
		if _, err := os.Stat(log); err != nil {
			return nil
		}
		if _, err := os.Stat(ended); err == nil {
			after.Add(1)
			return nil
		}
		if err := os.WriteFile(ended, nil, 0o600); err != nil {
			return err
		}
		waitForStatuses(t, c, map[string]string{name: "Ready"})
		time.Sleep(500 * time.Millisecond) // the command ends, too
		return nil
	}
	front := httptest.NewServer(proxy)
	defer front.Close()
	late, err := realmaas.NewClient(front.URL+"/MAAS", s.APIKey())
	if err != nil {
		t.Fatal(err)
	}
	ours := func(m realmaas.Machine) bool { return m.Hostname == name }
	p := realmaas.NewPilot(late, realmaas.Drive{Command: command}, ours, ours, 20*time.Millisecond, func(text string) { t.Log(text) })
	p.RetryAfter = 0
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() { p.Run(ctx); close(finished) }()
	defer func() { cancel(); <-finished }()
	for end := time.Now().Add(20 * time.Second); after.Load() < 3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the pilot does not look at the machines any more")
		}
	}
	if calls, err := os.ReadFile(log); err != nil || string(calls) != "commissioned\n" {
		t.Errorf("%v: the command was called for %q", err, calls)
	}
}

// composeVM makes a VM on the only VM host.
func composeVM(t *testing.T, c *realmaas.Client, name string) {
	t.Helper()
	if _, err := c.Send(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", url.Values{"hostname": {name}}); err != nil {
		t.Fatal(err)
	}
}

// waitForStatuses waits until the machines have these statuses.
func waitForStatuses(t *testing.T, c *realmaas.Client, want map[string]string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		wrong := ""
		for name, status := range want {
			if m := findMachine(t, c, name); m.StatusName != status {
				wrong = name + " is " + m.StatusName + ", not " + status
			}
		}
		if wrong == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(wrong)
		}
	}
}

// TestDriveFails: the error has the command's output.
func TestDriveFails(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "drive")
	if err := executable.WriteProgram(command, "#!/bin/sh\necho no such guest >&2\nexit 3\n"); err != nil {
		t.Fatal(err)
	}
	_, err := realmaas.Drive{Command: command}.Run(t.Context(), realmaas.VerbDeployed, "abc")
	if err == nil || !strings.Contains(err.Error(), "no such guest") || !strings.Contains(err.Error(), "deployed abc") {
		t.Errorf("it ends with %v", err)
	}
	if _, err := (realmaas.Drive{}).Run(t.Context(), realmaas.VerbDeployed, "abc"); err == nil {
		t.Error("without a command it is no error")
	}
}

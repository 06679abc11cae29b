package realmaas_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// script is a drive command that notes how it is called, and steers a simulator.
func script(t *testing.T, steer string) (command, log string) {
	t.Helper()
	dir := t.TempDir()
	command, log = filepath.Join(dir, "drive"), filepath.Join(dir, "log")
	text := fmt.Sprintf("#!/bin/sh\necho $1 >> %s\ncase $1 in *failed) end=fail ;; *) end=finish ;; esac\ncurl -sf -X POST -d '{}' %s/machines/$2/$end\n", log, steer)
	if err := os.WriteFile(command, []byte(text), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return command, log
}

// TestPilot drives what is the run's through its transitions, each once: not what a
// story holds, otherwise where a story wants so, and no machine of anybody else.
func TestPilot(t *testing.T) {
	t.Parallel()
	m := lentWorld()
	m.Latency = sim.Latency{Commission: time.Hour, Deploy: time.Hour, FirstBoot: time.Hour}
	c, s := open(t, m)
	command, log := script(t, strings.TrimSuffix(s.URL, "/MAAS")+"/_sim")
	ours := func(m realmaas.Machine) bool { return strings.HasPrefix(m.Hostname, "tf-acc-0001-") }
	p := realmaas.NewPilot(c, realmaas.Drive{Command: command}, ours, ours, 20*time.Millisecond, func(text string) { t.Log(text) })
	p.Hold("tf-acc-0001-held")
	p.End("tf-acc-0001-bad", realmaas.Commissioned, realmaas.CommissioningFailed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.Run(ctx)
	for _, name := range []string{"good", "bad", "held"} {
		compose(t, c, "tf-acc-0001-"+name)
	}
	compose(t, c, "web-1")
	becomes(t, c, map[string]string{
		"tf-acc-0001-good": "Ready", "tf-acc-0001-bad": "Failed commissioning", "tf-acc-0001-held": "Commissioning", "web-1": "Commissioning",
	})
	p.Release("tf-acc-0001-held")
	if err := c.Operate(ctx, find(t, c, "tf-acc-0001-good").SystemID, "deploy", nil); err != nil {
		t.Fatal(err)
	}
	becomes(t, c, map[string]string{"tf-acc-0001-good": "Deployed", "tf-acc-0001-held": "Ready", "web-1": "Commissioning"})
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

// compose makes a VM on the only VM host.
func compose(t *testing.T, c *realmaas.Client, name string) {
	t.Helper()
	if _, err := c.Do(t.Context(), http.MethodPost, "vm-hosts/1/?op=compose", url.Values{"hostname": {name}}); err != nil {
		t.Fatal(err)
	}
}

// becomes waits until machines have these statuses.
func becomes(t *testing.T, c *realmaas.Client, want map[string]string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		wrong := ""
		for name, status := range want {
			if m := find(t, c, name); m.StatusName != status {
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

// TestDriveFails tells what the command said.
func TestDriveFails(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "drive")
	if err := os.WriteFile(command, []byte("#!/bin/sh\necho no such guest >&2\nexit 3\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	_, err := realmaas.Drive{Command: command}.Run(t.Context(), realmaas.Deployed, "abc")
	if err == nil || !strings.Contains(err.Error(), "no such guest") || !strings.Contains(err.Error(), "deployed abc") {
		t.Errorf("it ends with %v", err)
	}
	if _, err := (realmaas.Drive{}).Run(t.Context(), realmaas.Deployed, "abc"); err == nil {
		t.Error("without a command it is no error")
	}
}

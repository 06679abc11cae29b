package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestMain puts maassim on PATH for the scripts, and a small curl, so that the README's
// commands run on machines without curl.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"maassim": main, "curl": curl})
}

// TestScripts runs testdata/script: flags and their errors.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestREADME runs the README's shell commands in their order, as one session.
func TestREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var session strings.Builder
	session.WriteString("set -eu\ntrap 'kill $! 2>/dev/null || true' EXIT\n")
	for _, block := range shellBlock.FindAllSubmatch(text, -1) {
		session.Write(block[1])
	}
	if n := strings.Count(session.String(), "curl "); n < 15 {
		t.Fatalf("only %d curl commands found", n)
	}
	session.WriteString("wait\n")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-xc", session.String())
	c.Dir, c.WaitDelay = t.TempDir(), 5*time.Second
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // so that twenty processes do not wait a second each
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"POST /_sim/faults"`, `"hostname":"metal1"`, `"name":"foreign"`, `"kind":"lost-reply"`, `"struck":0`, `"routes":`, "left: 0 VMs in MAAS, 0 instances in LXD"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the session does not show %s:\n%s", want, out)
		}
	}
}

// TestREADMEStartFails runs the README's first commands with a wrong flag. They must end
// and show the error.
func TestREADMEStartFails(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	start := string(shellBlock.FindSubmatch(text)[1])
	wrong := strings.Replace(start, "-hosts 3", "-hosts -3", 1)
	if wrong == start {
		t.Fatal("the README starts maassim in another way")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", wrong)
	c.Dir, c.WaitDelay = t.TempDir(), 5*time.Second
	out, err := c.CombinedOutput()
	if ctx.Err() != nil || !strings.Contains(string(out), "-hosts: -3 is negative") {
		t.Errorf("%v, %v\n%s", err, ctx.Err(), out)
	}
}

var pythonBlock = regexp.MustCompile("(?s)```python\n(.*?)```")

// TestPythonInREADME runs the README's Python, if Python is installed.
func TestPythonInREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	code := pythonBlock.FindSubmatch(text)
	if code == nil {
		t.Fatal("the README has no Python")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH: the README's Python example was not run")
	}
	server := sim.StartServer(t, sim.DefaultModel())
	c := exec.CommandContext(t.Context(), python, "-c", string(code[1]))
	c.Env = append(os.Environ(), "MAAS_API_URL="+server.URL, "MAAS_API_KEY="+server.APIKey(), "no_proxy=127.0.0.1")
	out, err := c.CombinedOutput()
	if err != nil || string(out) != "struck: [0]\nunknown to MAAS: ['stray']\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if left := server.Faults(); len(left) > 0 {
		t.Errorf("it did not reset: %+v", left)
	}
}

// TestModelInREADME loads the README's model.
func TestModelInREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	model := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	file := t.TempDir() + "/model.json"
	if err := os.WriteFile(file, model[1], 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parseFlags([]string{"-model", file, "-deploy", "1s"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.model.Hosts) != 2 || o.model.Latency.Deploy.String() != "1s" || o.model.Latency.Commission.String() != "5s" {
		t.Errorf("got %+v", o.model)
	}
}

// curl is curl -sf [-X METHOD] [-d BODY] URL.
func curl() {
	if err := fetchURL(os.Args[1:], os.Stdout); err != nil {
		os.Stderr.WriteString("curl: " + err.Error() + "\n")
		os.Exit(22)
	}
}

func fetchURL(args []string, w io.Writer) error {
	method, body, url := http.MethodGet, "", ""
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-sf":
		case "-X":
			i++
			method = args[i]
		case "-d":
			i++
			body = args[i]
		default:
			url = args[i]
		}
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode > 399 {
		return errors.New(resp.Status)
	}
	return nil
}

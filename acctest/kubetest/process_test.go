package kubetest

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCrashIsReported: only a program that nobody stopped counts as crashed. The end of
// its log says why.
func TestCrashIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		stop   func(*Process)
		want   string // part of the error; empty: no error
	}{
		"Fails":   {"echo the port is taken; exit 3", func(p *Process) { <-p.Done() }, "exit status 3"},
		"Ends":    {"echo the port is taken", func(p *Process) { <-p.Done() }, "exit status 0"},
		"Runs":    {"exec sleep 60", func(*Process) {}, ""},
		"Killed":  {"exec sleep 60", (*Process).Kill, ""},
		"Stopped": {"exec sleep 60", (*Process).Stop, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := StartProcess(t.TempDir(), "program", exec.Command("sh", "-c", test.script))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			test.stop(p)
			switch err := p.CrashError(); {
			case test.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the port is taken")):
				t.Errorf("got %v, want %q and the end of the log", err, test.want)
			}
		})
	}
}

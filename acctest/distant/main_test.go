package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/executable"
)

// TestLaunchFails leaves no process behind where the program does not print how
// it is reached. It may print something else, print nothing, or ignore a
// signal.
func TestLaunchFails(t *testing.T) {
	t.Parallel()
	for title, script := range map[string]string{
		"Other": "echo hello; exec sleep 600", "Nothing": "exit 3", "Deaf": "trap '' TERM; echo hello; while :; do sleep 1; done",
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "maassim")
			if err := executable.WriteProgram(program, "#!/bin/sh\n"+script+"\n"); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program) //nolint:noctx // startSimulator ends it
			if s, err := startSimulator(cmd); err == nil || s != nil || !strings.Contains(err.Error(), "does not print its address and key") {
				t.Errorf("it is launched: %v", err)
			}
			if cmd.ProcessState == nil {
				t.Error("it is left running")
			}
		})
	}
}

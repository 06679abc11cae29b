package executable_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/executable"
)

// TestWriteProgram runs each program at once, while others are written and run.
func TestWriteProgram(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 25 {
				program := filepath.Join(folder, fmt.Sprintf("program-%d-%d", i, k))
				if err := executable.WriteProgram(program, "#!/bin/sh\necho "+filepath.Base(program)+"\n"); err != nil {
					t.Error(err)
					return
				}
				out, err := exec.CommandContext(t.Context(), program).Output()
				if want := filepath.Base(program) + "\n"; err != nil || string(out) != want {
					t.Errorf("it printed %q (%v), want %q", out, err, want)
				}
			}
		})
	}
	all.Wait()
}

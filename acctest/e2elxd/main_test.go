package e2elxd

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	e2eEnabled = flag.Bool("e2e", false, "boot real hosts, which needs root and the packages that make e2e-lxd installs; what is missing is then a failure")
	keepLogs   = flag.Bool("e2e.keep", false, "show where the logs are, and leave them there")
)

// TestMain goes through three processes: one that builds the image, the first
// of new namespaces, and one that runs the tests in them.
func TestMain(m *testing.M) {
	flag.Parse()
	switch stage := os.Getenv(stageVariable); {
	case !*e2eEnabled || stage == stageTests:
		os.Exit(m.Run())
	case stage == stageInit:
		os.Exit(exitStatus(runAsInit()))
	}
	os.Exit(exitStatus(runInNamespaces()))
}

// exitStatus reports an error of the surroundings, which no test can.
func exitStatus(status int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-lxd:", err)
		return 1
	}
	return status
}

// needE2E announces why a test does not run. It never skips where it was asked
// for.
func needE2E(t *testing.T) {
	t.Helper()
	if !*e2eEnabled {
		t.Skip("real hosts are booted only where that is asked for, as root on Debian: make e2e-lxd")
	}
}

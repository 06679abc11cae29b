package e2elxd

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	e2eEnabled = flag.Bool("e2e", false, "boot real hosts; this needs root and the packages that make e2e-lxd installs, and fails without them")
	keepLogs   = flag.Bool("e2e.keep", false, "print the path of the logs, and keep them")
)

// TestMain starts three processes in turn. The first builds the image, the
// second is the first process of new namespaces, and the third runs the tests
// in them.
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

// exitStatus prints an error of the surroundings, which no test can report.
func exitStatus(status int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-lxd:", err)
		return 1
	}
	return status
}

// needE2E skips a test with the reason, unless -e2e asks for it.
func needE2E(t *testing.T) {
	t.Helper()
	if !*e2eEnabled {
		t.Skip("real hosts are booted only by make e2e-lxd, as root on Debian")
	}
}

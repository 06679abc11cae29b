package ledgercluster

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// program is a capi-bridge that was built with dqlite.
var program = os.Getenv("MAASLXD_CLUSTER_BIN")

// insideVariable tells a process that it has the networks and mounts to itself.
const insideVariable = "MAASLXD_TEST_INSIDE"

// TestMain runs the tests in a network and with mounts of their own, where that is possible.
func TestMain(m *testing.M) {
	flag.Parse()
	if why := missingPrerequisite(); why != "" || os.Getenv(insideVariable) != "" {
		os.Exit(m.Run())
	}
	inside := exec.Command("unshare", append([]string{"--net", "--mount", "--fork", "--kill-child", os.Args[0]}, os.Args[1:]...)...)
	inside.Env = append(os.Environ(), insideVariable+"=yes")
	inside.Stdout, inside.Stderr = os.Stdout, os.Stderr
	err := inside.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	} else if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// missingPrerequisite says why there can be no nodes here; empty: there can.
func missingPrerequisite() string {
	if program == "" {
		return "MAASLXD_CLUSTER_BIN names no capi-bridge that was built with dqlite: make test-cluster"
	}
	if os.Geteuid() != 0 {
		return "networks of their own need root"
	}
	for _, tool := range []string{"unshare", "ip", "nft", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed"
		}
	}
	return ""
}

// runCommand runs a command that must succeed, and returns what it printed.
func runCommand(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

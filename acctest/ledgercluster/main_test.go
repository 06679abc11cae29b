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

// insideVariable tells a process that its network and mounts are its own.
const insideVariable = "MAASLXD_TEST_INSIDE"

// TestMain runs the tests with a network and mounts of their own, where the
// system allows that.
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

// missingPrerequisite says why nodes cannot run here. It is empty where they
// can.
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

// runCommand runs a command that must succeed, and returns its output.
func runCommand(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

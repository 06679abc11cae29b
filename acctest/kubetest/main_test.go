package kubetest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
)

// stageVariable makes the test binary act as a manager, or as a test that will
// be killed.
const stageVariable = "KUBETEST_STAGE"

func TestMain(m *testing.M) {
	switch os.Getenv(stageVariable) {
	case "manager":
		runAsManager()
	case "victim":
		runAsVictim()
	default:
		os.Exit(m.Run())
	}
}

// managerStart is what the stand-in for a manager found at its start.
type managerStart struct {
	Args        []string
	Environment []string
	Folder      string
}

// runAsManager is a manager that is always ready, and writes down how it was
// started.
func runAsManager() {
	flags := flag.NewFlagSet("manager", flag.ExitOnError)
	health := flags.String("health-addr", "", "")
	for _, name := range []string{"diagnostics-address", "webhook-port", "webhook-cert-dir", "namespace", "ledger", "v"} {
		flags.String(name, "", "")
	}
	flags.Bool("leader-elect", false, "")
	_ = flags.Parse(os.Args[1:]) // it exits on an error
	folder, _ := os.Getwd()
	text, _ := json.Marshal(managerStart{os.Args[1:], os.Environ(), folder})
	if err := os.WriteFile("started.json", text, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(*health, nil))
	os.Exit(1)
}

// runAsVictim starts a control plane, prints the ids of its processes, and
// waits to be killed.
func runAsVictim() {
	ctx := context.Background()
	builder, err := programs.NewBuilder(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c, err := StartControlPlane(ctx, builder, Options{Dir: os.Getenv("KUBETEST_DIR"), ControllerManager: true, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, p := range c.processes {
		fmt.Println(p.PID())
	}
	fmt.Println(0)
	time.Sleep(time.Hour)
}

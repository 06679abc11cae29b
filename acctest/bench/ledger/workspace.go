package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// parallelism is how many VMs Terraform makes at once.
const parallelism = 64

// simulatedTimes are the same as in the provider's bench, as is the
// configuration.
var simulatedTimes = sim.Latency{
	Call: 20 * time.Millisecond, Compose: 300 * time.Millisecond, Commission: 5 * time.Second, Deploy: 5 * time.Second,
}

// configuration is what Terraform applies, below the repository's root.
const configuration = "acctest/bench/config/main.tf"

// stopTimeout is how long an interrupted Terraform may take to save its state.
const stopTimeout = 30 * time.Second

// workspace is a folder in which Terraform makes VMs on a simulated MAAS.
type workspace struct {
	dir  string
	cli  cli.CLI
	env  []string
	vms  int
	maas *sim.Server
}

// newWorkspace makes the folder and the MAAS. Each of its hosts has room for
// all VMs.
func newWorkspace(ctx context.Context, found cli.CLI, dir, bin string, vms int) (*workspace, error) {
	root, err := cli.Root(ctx)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, configuration))
	if err != nil {
		return nil, err
	}
	rc := filepath.Join(dir, "cli.tfrc")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), text, 0o600); err != nil {
		return nil, err
	}
	if err := cli.WriteOverrides(rc, bin); err != nil {
		return nil, err
	}
	maas, err := sim.New(simulatedModel(vms))
	if err != nil {
		return nil, err
	}
	server, err := sim.ServeAt(maas, loopback+":0")
	if err != nil {
		return nil, err
	}
	return &workspace{dir: dir, cli: found, vms: vms, maas: server, env: append(found.WithOverrides(os.Environ(), rc),
		"TF_INPUT=0", "TF_VAR_owner=bench", "MAAS_API_URL="+server.URL, "MAAS_API_KEY="+server.APIKey(),
		"TF_VAR_hosts="+strconv.Itoa(candidateHosts), "TF_VAR_vms="+strconv.Itoa(vms))}, nil
}

// simulatedModel is a MAAS with VM hosts.
func simulatedModel(vms int) sim.Model {
	m := sim.Model{
		MAASVersion: sim.Version37, Latency: simulatedTimes, Seed: 1,
		Subnets: []sim.SubnetModel{{Name: "lan", CIDR: "10.64.0.0/16", DHCP: true}},
	}
	for i := range candidateHosts {
		m.Hosts = append(m.Hosts, sim.HostModel{
			Name: fmt.Sprintf("host%d", i+1), Cores: 2 * vms, MemoryMiB: int64(4096 * vms),
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: int64(20 * vms), Default: true}},
		})
	}
	return m
}

// close stops the MAAS.
func (w *workspace) close() { _ = w.maas.Stop() }

// apply makes the VMs with a ledger, and checks that they exist.
func (w *workspace) apply(ctx context.Context, ledger ...string) (applyResult, error) {
	w.maas.ResetJournal()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, w.cli.Path, "apply", "-auto-approve", "-no-color", "-parallelism="+strconv.Itoa(parallelism))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, slices.Concat(w.env, ledger), &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopTimeout
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return applyResult{}, fmt.Errorf("%s apply: %w\n%s", filepath.Base(w.cli.Path), err, out.Bytes())
	}
	wall := time.Since(began)
	a := sumUp(w.maas.Journal())
	a.wall = wall
	if have := len(w.maas.Instances()); have != w.vms {
		return a, fmt.Errorf("there are %d VMs, want %d", have, w.vms)
	}
	return a, nil
}

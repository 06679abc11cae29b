// Distant runs a command beside a maassim in a process of its own. It sets the
// variables by which the acceptance suite reaches a real MAAS:
//
//	distant maas|lxd COMMAND ARGUMENT…
//
// Nothing boots there: the script "drive" simulates the guests. The model has
// other names than the one of the tests. It also has an operator's VM, which
// must stay.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

func main() {
	// A Ctrl-C also reaches the command, which may have to clean up. Distant
	// waits for it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1)) // -1 means that a signal killed it
	case err != nil:
		fmt.Fprintln(os.Stderr, "distant:", err)
		os.Exit(1)
	}
}

// run starts the simulator, runs the command, and stops the simulator.
func run(ctx context.Context, args []string) error {
	if len(args) < 2 || args[0] != "maas" && args[0] != "lxd" {
		return errors.New("usage: distant maas|lxd COMMAND ARGUMENT…")
	}
	dir, err := os.MkdirTemp("", "maaslxd-distant-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	key, err := fleetkey.LoadOrCreate(filepath.Join(dir, "key.pem"), time.Now())
	if err != nil {
		return err
	}
	model := operatorModel(args[0], key.Certificate)
	s, err := buildAndStart(ctx, dir, model)
	if err != nil {
		return err
	}
	defer s.stopProcess()
	env, err := s.environment(ctx, args[0], dir, key, model.Hosts)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[1], args[2:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}

// simulator is a running maassim.
type simulator struct {
	cmd        *exec.Cmd
	url        string
	key        string
	controlURL string
}

// accessLine is the first line that a maassim prints.
var accessLine = regexp.MustCompile(`^export MAAS_API_URL=(\S+) MAAS_API_KEY=(\S+)`)

// buildAndStart builds a maassim and starts it.
func buildAndStart(ctx context.Context, dir string, model sim.Model) (*simulator, error) {
	program, file := filepath.Join(dir, "maassim"), filepath.Join(dir, "model.json")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/maaslxd/maaslxd/acctest/maassim").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build maassim: %w\n%s", err, out)
	}
	text, err := json.Marshal(model)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return startSimulator(exec.Command(program, "-model", file)) //nolint:noctx // stopProcess stops it after the command has ended
}

// startSimulator starts a maassim, which prints how it is reached. If it does
// not, startSimulator stops it. It has a process group of its own: a Ctrl-C is
// for the suite, which uses the simulator to clean up.
func startSimulator(cmd *exec.Cmd) (*simulator, error) {
	cmd.Stderr = os.Stderr
	setProcessGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &simulator{cmd: cmd}
	lines := bufio.NewScanner(out)
	lines.Scan()
	access := accessLine.FindStringSubmatch(lines.Text())
	if access == nil {
		s.stopProcess()
		return nil, fmt.Errorf("maassim does not print its address and key, but %q", lines.Text())
	}
	s.url, s.key, s.controlURL = access[1], access[2], strings.TrimSuffix(access[1], "/MAAS")+"/_sim"
	return s, nil
}

// stopProcess stops the simulator. It gives it a moment to end by itself.
func (s *simulator) stopProcess() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait()
}

// stopTimeout is how long the simulator may take to end.
const stopTimeout = 5 * time.Second

// listLXDs lists the LXDs that listen.
func (s *simulator) listLXDs(ctx context.Context) (all []sim.LXD, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.controlURL+"/lxd", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return all, json.NewDecoder(res.Body).Decode(&all)
}

// environment is the variables by which the suite reaches the simulator as it
// reaches a real MAAS.
func (s *simulator) environment(ctx context.Context, column, dir string, key fleetkey.Key, hosts []sim.HostModel) ([]string, error) {
	servers, err := s.listLXDs(ctx)
	if err != nil {
		return nil, err
	}
	if column == "lxd" {
		if err := s.markHostMachines(ctx, hosts, servers); err != nil {
			return nil, err
		}
	}
	var addresses []string
	for _, l := range servers {
		addresses = append(addresses, l.Address)
	}
	var machines []string
	for n := range lentMachines {
		machines = append(machines, fmt.Sprintf("metal%d", n+1))
	}
	drive, err := filepath.Abs("acctest/distant/drive")
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"cert.pem": key.Certificate, "key.pem": key.Credentials.Key} {
		if err := os.WriteFile(filepath.Join(dir, "lxd-"+name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return []string{
		"MAAS_API_URL=" + s.url, "MAAS_API_KEY=" + s.key, "MAASLXD_ACC_COLUMN=" + column, "MAASLXD_ACC_ALIKE=yes",
		"MAASLXD_ACC_VM_HOST=alpha", "MAASLXD_ACC_VM_HOST2=beta", "MAASLXD_ACC_ZONE=south", "MAASLXD_ACC_POOL=compute", "MAASLXD_ACC_IMAGE=ubuntu/noble",
		"MAASLXD_ACC_LXD=" + strings.Join(addresses, ","), "MAASLXD_ACC_LXD_CERT=" + filepath.Join(dir, "lxd-cert.pem"), "MAASLXD_ACC_LXD_KEY=" + filepath.Join(dir, "lxd-key.pem"),
		"MAASLXD_ACC_DRIVE=" + drive, "MAASLXD_ACC_MACHINES=" + strings.Join(machines, ","), "MAASLXD_ACC_POLL_INTERVAL=100ms", "MAASLXD_ACC_PARALLEL=8", "MAASSIM_STEER=" + s.controlURL,
	}, nil
}

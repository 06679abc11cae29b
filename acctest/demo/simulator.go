package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

const (
	// startTimeout is how long the simulator may take to print its address. It
	// only reads a file and listens.
	startTimeout = 10 * time.Second
	// requestTimeout limits one request to the simulator's control API.
	requestTimeout = 10 * time.Second
	// stopTimeout is how long the simulator may take to end.
	stopTimeout = 5 * time.Second
)

// simulator is a maassim in a process of its own.
type simulator struct {
	cmd     *exec.Cmd
	exports []string // MAAS_API_URL=… and MAAS_API_KEY=…
	root    string   // http://127.0.0.1:port
}

// startSimulator starts the program on a free loopback port, and waits for the
// line with its address and key.
func startSimulator(ctx context.Context, program, world string) (*simulator, error) {
	fmt.Printf("$ %s -model %s &\n", program, world)
	s := &simulator{cmd: exec.CommandContext(ctx, program, "-model", world)}
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = stopTimeout
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the simulator: %w; run make build", err)
	}
	line, err := firstLine(stdout, startTimeout)
	if err == nil {
		fmt.Println(line)
		s.exports, s.root, err = readExports(line)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the simulator did not start: %w\n%s", err, stderr.Bytes())
	}
	return s, nil
}

// firstLine reads one line. It then reads on, so that the writer never blocks.
func firstLine(in io.Reader, timeout time.Duration) (string, error) {
	lines := make(chan string, 1)
	go func() {
		buffered := bufio.NewReader(in)
		line, _ := buffered.ReadString('\n')
		lines <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, buffered)
	}()
	select {
	case line := <-lines:
		return line, nil
	case <-time.After(timeout):
		return "", fmt.Errorf("it printed nothing in %s", timeout)
	}
}

// readExports reads "export MAAS_API_URL=… MAAS_API_KEY=…" and derives the
// root of the server from the URL.
func readExports(line string) (exports []string, root string, err error) {
	words, ok := strings.CutPrefix(line, "export ")
	if !ok {
		return nil, "", fmt.Errorf("its first line is %q, want export MAAS_API_URL=… MAAS_API_KEY=…", line)
	}
	seen := map[string]string{}
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		value = strings.Trim(value, `"'`)
		seen[name] = value
		exports = append(exports, name+"="+value)
	}
	address, key := seen["MAAS_API_URL"], seen["MAAS_API_KEY"]
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || key == "" {
		return nil, "", fmt.Errorf("its first line %q lacks MAAS_API_URL or MAAS_API_KEY", line)
	}
	host, _, _ := strings.Cut(rest, "/")
	return exports, scheme + "://" + host, nil
}

// stop stops the process and waits for it. It does nothing for a simulator that
// never started.
func (s *simulator) stop() {
	if s == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	kill := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // our signal ended it, so its status means nothing
}

// instance is a VM in one of the simulated LXDs.
type instance struct {
	Host      string `json:"host"`
	Name      string `json:"name"`
	MachineID string `json:"machine_id"` // empty where MAAS does not know it
	Running   bool   `json:"running"`
}

// instances lists the instances in the simulated LXDs, whatever MAAS knows.
func (s *simulator) instances(ctx context.Context) ([]instance, error) {
	var list []instance
	return list, s.getJSON(ctx, "/_sim/instances", &list)
}

// machine is a machine that MAAS knows.
type machine struct {
	Name      string            `json:"hostname"`
	Zone      string            `json:"zone"`
	Cores     int               `json:"cores"`
	MemoryMiB int64             `json:"memory_mib"`
	Status    string            `json:"status_name"`
	Owner     string            `json:"owner"`
	OwnerData map[string]string `json:"owner_data"`
	VMHost    string            `json:"host"`         // name of the host whose VM it is
	Hosted    string            `json:"hosted_hosts"` // VM hosts that run on it
}

// machines lists the machines that the simulated MAAS knows.
func (s *simulator) machines(ctx context.Context) ([]machine, error) {
	var list []machine
	return list, s.getJSON(ctx, "/_sim/machines", &list)
}

// countLXDs counts the simulated LXDs.
func (s *simulator) countLXDs(ctx context.Context) (int, error) {
	var list []struct{}
	err := s.getJSON(ctx, "/_sim/lxd", &list)
	return len(list), err
}

// calls is how the provider used MAAS's API and the LXDs' API.
type calls struct {
	Routes      []route `json:"routes"`
	Connections int     `json:"connections"`
	LXD         struct {
		Routes []route `json:"routes"`
	} `json:"lxd"`
}

// route is a kind of call.
type route struct {
	Route  string `json:"route"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed"`
}

// journal sums up the calls that the simulator got.
func (s *simulator) journal(ctx context.Context) (calls, error) {
	var c calls
	return c, s.getJSON(ctx, "/_sim/journal?calls=0", &c)
}

// getJSON reads a page of the simulator's control API.
func (s *simulator) getJSON(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	fmt.Printf("$ curl %s%s\n", s.root, path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.root+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("cannot look at the simulator: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the simulator answered %s to GET %s", response.Status, path)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("cannot read the simulator's answer to GET %s: %w", path, err)
	}
	return nil
}

// printCalls prints the calls to MAAS by route, their sum, and the number of
// calls to the LXDs.
func printCalls(out io.Writer, c calls) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CALLS\tFAILED\tROUTE")
	for _, r := range c.Routes {
		fmt.Fprintf(table, "%d\t%d\t%s\n", r.Calls, r.Failed, r.Route)
	}
	total, lxd := sumCalls(c.Routes), sumCalls(c.LXD.Routes)
	fmt.Fprintf(table, "%d\t%d\ttotal, over %d connections\n", total.Calls, total.Failed, c.Connections)
	fmt.Fprintf(table, "%d\t%d\tof the LXDs themselves\n", lxd.Calls, lxd.Failed)
	table.Flush()
	fmt.Fprintln(out, "A failed call may be normal. MAAS refuses to add a tag that it does not have, and the provider then makes the tag.")
	if total.Calls == 0 || lxd.Calls == 0 {
		return errCallsMissing
	}
	return nil
}

// sumCalls adds up calls.
func sumCalls(routes []route) (total route) {
	for _, r := range routes {
		total.Calls += r.Calls
		total.Failed += r.Failed
	}
	return total
}

package manager_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/cli"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	bridgeledger "github.com/maaslxd/maaslxd/capi-bridge/ledger"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

var (
	ownersRuns = flag.Int("owners.runs", 1, "how many times TestKubeOwnersKilled kills two CLIs, a manager and their ledger service")
	ownersSeed = flag.Uint64("owners.seed", 1, "the seed of the first of them; the others follow it")
)

// The environment of a process that a test starts.
const (
	// childLedger is the address at which a process serves the ledger in LEDGER_DIR.
	childLedger = "TEST_LEDGER_LISTEN"
	// childService and childKeys are the ledger service of a manager that is a process, and
	// the folder of its certificate.
	childService = "TEST_MANAGER_LEDGER"
	childKeys    = "TEST_MANAGER_LEDGER_KEYS"
)

// serveLedger is capi-bridge ledger serve until it is killed.
func serveLedger(listen string) int {
	go endWithTest()
	if err := ledgerCommand(context.Background(), os.Getenv("LEDGER_DIR"), os.Stderr, "serve", "--listen="+listen, "--health-addr="); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// endWithTest ends a process when the test that started it is gone.
func endWithTest() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// ledgerCommand runs capi-bridge ledger.
func ledgerCommand(ctx context.Context, folder string, log io.Writer, args ...string) error {
	return bridgeledger.Run(ctx, setting.Program{
		Name: "capi-bridge ledger", Args: args, Stdout: io.Discard, Stderr: log, Version: "test",
		Getenv: func(name string) string { return map[string]string{"LEDGER_DIR": folder}[name] },
	})
}

// useLedgerService has a manager that is a process keep its rows at a ledger service.
func useLedgerService(o *manager.Options) {
	address, keys := os.Getenv(childService), os.Getenv(childKeys)
	if address == "" {
		return
	}
	o.Ledger = address
	o.LedgerFiles = manager.LedgerFiles{CA: filepath.Join(keys, "ca.pem"), Certificate: filepath.Join(keys, "manager.crt"), Key: filepath.Join(keys, "manager.key")}
}

// TestKubeOwnersKilled runs two Terraform CLIs of two owners and a manager.
// They make and delete VMs on two hosts by one ledger service. The test kills
// each of the four at random moments. In the end each has what it wants, once.
// No host ever held more than it has, and nobody lost a VM that was to stay.
func TestKubeOwnersKilled(t *testing.T) {
	t.Parallel()
	for n := range *ownersRuns {
		seed := *ownersSeed + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newOwners(t, seed)
			c := w.createReadyCluster("c", nil)
			stop := w.killAtRandom()
			w.applyBoth(3, 3)
			w.createMachine("c", "w-0", newVMSpec(), nil)
			w.createMachine("c", "w-1", newVMSpec(), nil)
			w.awaitReady("w-0")
			w.awaitReady("w-1")
			w.applied.Wait()
			first := w.systemIDsByName()
			w.applyBoth(2, 1)
			w.deleteObject(w.machineObject("w-1"))
			w.awaitGone(w.machineObject("w-1"))
			w.applied.Wait()
			stop()
			w.applyBoth(2, 1)
			w.applied.Wait()
			w.wantVMs(first, w.systemIDsByName(), "red-0", "red-1", "blue-0", *w.awaitReady("w-0").Status.Hostname)
			w.applyBoth(0, 0)
			w.applied.Wait()
			w.deleteCluster(c, w.before, "w-0")
			if len(w.killed) == 0 {
				t.Error("nothing was killed: this proves nothing")
			}
			t.Logf("killed: %v; %d composes, %d VMs imported, over-commits %d, doubles %d, wipes %d",
				w.killed, w.maas.Journal().Count("POST vm-hosts/{id}/ compose"), w.imports, len(w.maas.Overcommits()), w.doubles, w.wipes)
		})
	}
}

// owners are two Terraform owners and a manager, who use one ledger service.
type owners struct {
	*world
	rnd     *rand.Rand
	folder  string // of the service
	address string
	before  int // machines in MAAS

	applied sync.WaitGroup
	red     *terraform
	blue    *terraform

	mu             sync.Mutex
	running        map[string]*exec.Cmd // what may be killed
	killed         map[string]int
	doubles, wipes int
	imports        int // of VMs that a CLI finished and did not live to write down
}

func newOwners(t *testing.T, seed uint64) *owners {
	t.Helper()
	space := fmt.Sprint("owners-", seed)
	w := &owners{
		world: &world{stage: onStage(t), t: t, namespace: space, watchLabel: space}, rnd: rand.New(rand.NewPCG(seed, 0)),
		running: map[string]*exec.Cmd{}, killed: map[string]int{},
	}
	model := fastModel()
	model.Machines, model.RandomFaults = nil, sim.RandomFaults{Overcommit: true} // only the ledger keeps the hosts from it
	for n := range model.Hosts {
		model.Hosts[n].Cores = 6 // of the ten that are wanted
	}
	w.maas = w.startMAAS(space, model)
	w.before = len(w.maas.Machines())
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.createIdentity(space, w.maas.URL, w.maas.APIKey(), space)
	w.startService()
	keys := w.addClient("manager", w.managementClusterID()+"/")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.keepProgramRunning(ctx, "manager", os.Args[0], childSpace+"="+space, clientcmd.RecommendedConfigPathEnvVar+"="+w.plane.Kubeconfig,
			childService+"="+w.address, childKeys+"="+keys)
	}()
	t.Cleanup(func() {
		cancel()
		w.killProgram("manager", true)
		<-ended
	})
	w.red, w.blue = w.newTerraform("red"), w.newTerraform("blue")
	return w
}

// managementClusterID is the UID by which the keys of this management cluster begin.
func (w *owners) managementClusterID() string {
	var system corev1.Namespace
	if err := w.Get(w.t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		w.t.Fatal(err)
	}
	return string(system.UID)
}

// startService starts the ledger service, which has one address all the time.
func (w *owners) startService() {
	w.t.Helper()
	ports, err := freeport.Ports(1)
	if err != nil {
		w.t.Fatal(err)
	}
	w.folder = w.t.TempDir()
	listen := fmt.Sprint("127.0.0.1:", ports[0])
	w.address = "https://" + listen
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.keepProgramRunning(ctx, "service", os.Args[0], childLedger+"="+listen, "LEDGER_DIR="+w.folder)
	}()
	w.t.Cleanup(func() {
		cancel()
		w.killProgram("service", true)
		<-ended
	})
	w.waitFor("the ledger service has an authority", func() string {
		if _, err := os.Stat(filepath.Join(w.folder, "ca.pem")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// addClient makes the certificate of a client, and returns its folder.
func (w *owners) addClient(name, prefix string) string {
	w.t.Helper()
	keys := w.t.TempDir()
	if err := ledgerCommand(w.t.Context(), w.folder, io.Discard, "client", "add", name, "--region=*", "--prefix", prefix, "--out", keys); err != nil {
		w.t.Fatal(err)
	}
	return keys
}

// keepProgramRunning runs a program again and again until ctx ends.
func (w *owners) keepProgramRunning(ctx context.Context, name, path string, env ...string) {
	for ctx.Err() == nil {
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), env...)
		_, inErr := cmd.StdinPipe() // which ends with the test
		said, outErr := cmd.StderrPipe()
		if err := errors.Join(inErr, outErr, w.startProgram(name, cmd)); err != nil {
			w.t.Error(err)
			return
		}
		for lines := bufio.NewScanner(said); lines.Scan(); {
			w.log.add(w.namespace+" "+name, fmt.Sprintf("%q", w.namespace)+" "+lines.Text())
		}
		_ = cmd.Wait() // it was killed
		time.Sleep(100 * time.Millisecond)
	}
}

// startProgram starts a program that may be killed under a name.
func (w *owners) startProgram(name string, cmd *exec.Cmd) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	w.running[name] = cmd
	return nil
}

// killProgram kills a program, if it runs; with what it started, or alone: then Terraform's
// provider runs on for a moment.
func (w *owners) killProgram(name string, alone bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	cmd := w.running[name]
	if cmd == nil {
		return false
	}
	w.killed[name]++
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid && !alone {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil
	}
	return cmd.Process.Kill() == nil
}

// maxKills is how often something is killed: a run that has to wait for a compose which may
// be under way would else never get to its end.
const maxKills = 15

// killAtRandom kills one after the other until stop is called.
func (w *owners) killAtRandom() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for kills := 0; kills < maxKills; {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(100+w.rnd.IntN(1200)) * time.Millisecond):
			}
			name := []string{"service", "manager", "red", "red", "blue", "blue"}[w.rnd.IntN(6)]
			if w.killProgram(name, w.rnd.IntN(2) == 0) {
				kills++
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// countKills is how often a program was killed.
func (w *owners) countKills(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.killed[name]
}

// applyBoth begins to give both Terraform owners so many VMs each. w.applied waits for it.
func (w *owners) applyBoth(red, blue int) {
	w.applied.Go(func() { w.red.applyUntilDone(red) })
	w.applied.Go(func() { w.blue.applyUntilDone(blue) })
}

// systemIDsByName is the system id of each VM of LXD, by its name. A name that is there twice is a
// double.
func (w *owners) systemIDsByName() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, i := range w.maas.Instances() {
		if _, there := all[i.Name]; there {
			w.doubles++
			w.t.Errorf("there are two VMs %s: %+v", i.Name, w.maas.Instances())
		}
		all[i.Name] = i.MachineID
	}
	return all
}

// wantVMs wants these VMs, each of which is the one that it was before.
func (w *owners) wantVMs(first, last map[string]string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if have := slices.Sorted(maps.Keys(last)); !slices.Equal(have, want) {
		w.t.Errorf("there are the VMs %v, want %v\n%s", have, want, w.log.lastLinesAbout(w.namespace))
	}
	for _, name := range want {
		if first[name] != last[name] {
			w.wipes++
			w.t.Errorf("%s was %s and is %s", name, first[name], last[name])
		}
	}
	for _, excess := range w.maas.Overcommits() {
		w.t.Error(excess)
	}
}

// terraform is an owner with a folder for the CLI.
type terraform struct {
	w    *owners
	name string
	dir  string
	env  []string
	cli  cli.CLI
	head string // of the configuration
}

// buildProviderOnce builds the provider once for all tests, in the folder of the stage.
var buildProviderOnce = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(theStage.folder, "provider")
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, cli.ProviderBinary), "github.com/maaslxd/maaslxd/terraform-provider-maaslxd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the provider: %w\n%s", err, out)
	}
	return dir, nil
})

// findCLIOnce looks for the CLI once for all tests.
var findCLIOnce = sync.OnceValues(func() (cli.CLI, error) {
	ctx := context.Background() // no test's own: the first one must not end it for all
	finder, err := cli.NewFinder(ctx)
	if err != nil {
		return cli.CLI{}, err
	}
	return finder.Find(ctx)
})

func (w *owners) newTerraform(name string) *terraform {
	w.t.Helper()
	bin, err := buildProviderOnce()
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := findCLIOnce()
	if err != nil {
		w.t.Fatal(err)
	}
	t := &terraform{w: w, name: name, dir: w.t.TempDir(), cli: found}
	rc := filepath.Join(t.dir, "cli.tfrc")
	if err := cli.WriteOverrides(rc, bin); err != nil {
		w.t.Fatal(err)
	}
	t.env = found.WithOverrides(os.Environ(), rc)
	keys := w.addClient(name, name)
	t.head = fmt.Sprintf(`terraform {
  required_providers {
    maaslxd = {
      source = %q
    }
  }
}
provider "maaslxd" {
  api_url       = %q
  api_key       = %q
  owner         = %q
  poll_interval = "50ms"
  ledger        = %q
  ledger_ca     = %q
  ledger_cert   = %q
  ledger_key    = %q
}
`, cli.ProviderSource, w.maas.URL, w.maas.APIKey(), name, w.address,
		filepath.Join(keys, "ca.pem"), filepath.Join(keys, name+".crt"), filepath.Join(keys, name+".key"))
	return t
}

// maxCLIErrors is how often a CLI may end with an error of its own before its owner gives up:
// what it works with is killed.
const maxCLIErrors = 5

// applyUntilDone runs the CLI until it has given its owner so many VMs, and has nothing left to do.
func (t *terraform) applyUntilDone(vms int) {
	body := fmt.Sprintf("resource \"maaslxd_vm\" \"some\" {\n  count = %d\n  name = \"%s-${count.index}\"\n  cores = 1\n  placement = {}\n}\n", vms, t.name)
	if err := os.WriteFile(filepath.Join(t.dir, "main.tf"), []byte(t.head+body), 0o600); err != nil {
		t.w.t.Error(err)
		return
	}
	var said string
	for failed := 0; failed < maxCLIErrors; {
		var err error
		before := t.w.countKills(t.name)
		if said, err = t.runCLI("apply", "-auto-approve", "-no-color"); err == nil {
			return
		}
		if t.w.countKills(t.name) == before && !t.importFinishedVMs(said) {
			failed++
		}
		t.w.log.add(t.w.namespace+" "+t.name, fmt.Sprintf("%q %v: %q", t.w.namespace, err, said))
	}
	t.w.t.Errorf("%s does not get what it wants:\n%s", t.name, said)
}

// finishedVMPattern is what the provider says of a VM that a run finished, whose CLI was killed
// before it wrote its state. The lines of the CLI end anywhere.
var finishedVMPattern = regexp.MustCompile(`VM\s+\w+-(\d+)\s+was\s+made\s+for\s+this\s+name\s+before\s+and\s+is\s+finished\s+\(system\s+id\s+(\w+)`)

// importFinishedVMs does what the CLI says of VMs that are not in the state, and tells whether it
// says that of any.
func (t *terraform) importFinishedVMs(said string) bool {
	lost := map[string]string{}
	for _, found := range finishedVMPattern.FindAllStringSubmatch(said, -1) {
		lost[found[1]] = found[2]
	}
	for index, systemID := range lost {
		text, err := t.runCLI("import", "-no-color", "maaslxd_vm.some["+index+"]", systemID)
		t.w.log.add(t.w.namespace+" "+t.name, fmt.Sprintf("%q imports %s: %v: %q", t.w.namespace, systemID, err, text))
	}
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	t.w.imports += len(lost)
	return len(lost) > 0
}

// runCLI runs the CLI, which may be killed.
func (t *terraform) runCLI(args ...string) (string, error) {
	cmd := exec.CommandContext(t.w.t.Context(), t.cli.Path, args...)
	var out strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.dir, t.env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	if err := t.w.startProgram(t.name, cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	// A provider whose CLI was killed runs on for a moment, beside the next run.
	time.AfterFunc(3*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	t.w.mu.Lock()
	delete(t.w.running, t.name)
	t.w.mu.Unlock()
	return out.String(), err
}

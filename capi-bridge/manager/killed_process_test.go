package manager_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
	"github.com/maaslxd/maaslxd/engine"
)

// childSpace is in the environment of a manager that is a process of its own; its
// kubeconfig is in KUBECONFIG.
const childSpace = "TEST_MANAGER_NAMESPACE"

// runManagerProcess is a manager until it is killed, or the test is: its standard input
// ends then. It returns an exit code.
func runManagerProcess(space string) int {
	go endWithTest()
	ctrl.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{}))
	to, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	to.QPS = -1 // no limit
	o := electionOptions(manager.MemoryLedger)
	o.Namespace, o.ManagerNamespace, o.WatchFilter = space, space, space
	useLedgerService(&o)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mgr, err := manager.New(ctx, to, o, manager.NewMetrics())
	if err == nil {
		err = mgr.Start(ctx)
	}
	fmt.Fprintln(os.Stderr, "the manager ended:", err)
	if err == nil && ctx.Err() != nil {
		return 0
	}
	return 1
}

// processes are a world on a MAAS without VM hosts, whose managers are processes
// that are killed. Two are there at any time: one leads, and the other one waits for its
// place.
type processes struct {
	*world
	ended  sync.WaitGroup
	endAll func() // ends the managers
}

// newProcesses makes the world. A manager is killed when it makes the calls that
// these faults keep from being answered.
func newProcesses(t *testing.T, space string, fatal ...sim.Fault) *processes {
	t.Helper()
	w := &processes{world: &world{stage: onStage(t), t: t, namespace: space, watchLabel: space}}
	model := fastModel()
	model.MAASVersion, model.LXDListen, model.Latency = sim.VersionGone, sim.LXDListenPorts, sim.Latency{}
	model.Hosts[1].Cores, model.Hosts[1].MemoryMiB = 8, 16384 // the first one has more room, and gets the VM
	for n := range model.Hosts {
		model.Hosts[n].TrustedCertificates = []string{w.key.Certificate}
	}
	w.maas = w.startMAAS(space, model)
	for n, h := range model.Hosts {
		w.noteLXDHost(w.maas.LXDs()[n], h.Name, h.Zone)
	}
	w.createObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: keySecret}, Type: corev1.SecretTypeTLS,
			StringData: map[string]string{corev1.TLSCertKey: w.key.Certificate, corev1.TLSPrivateKeyKey: w.key.Key},
		},
	)
	w.createIdentity(space, w.maas.URL, w.maas.APIKey(), space)
	for _, f := range fatal {
		w.maas.AddFault(f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.ended.Go(func() { w.keepManagersRunning(ctx) })
	w.endAll = sync.OnceFunc(func() {
		cancel()
		w.ended.Wait()
	})
	t.Cleanup(w.endAll)
	return w
}

// noteLXDHost writes into MAAS that a machine is an LXD host, as registering it does.
func (w *processes) noteLXDHost(server sim.LXD, name, zone string) {
	w.t.Helper()
	record := engine.HostRecord{
		Name: name, Zone: zone, Pool: "default", DefaultStoragePool: server.StoragePools[0].Name,
		Endpoint: engine.Endpoint{Address: server.Listening[0], Project: "default"},
	}
	data := record.OwnerData()
	for key, value := range data {
		if value == "" {
			delete(data, key)
		}
	}
	w.editMachine(name, sim.MachineEdit{Tags: ptr.To([]string{engine.HostTag}), OwnerData: &data})
}

// process is a manager that is one.
type process struct {
	kill  func()
	ended <-chan error
	os    *os.Process
}

// keepManagersRunning has managers live until ctx ends. The one that leads is killed when it makes a
// call that kills.
func (w *processes) keepManagersRunning(ctx context.Context) {
	var leader, waiting process
	defer func() {
		for _, p := range []process{leader, waiting} {
			if p.kill != nil {
				p.kill()
				<-p.ended
			}
		}
	}()
	leader = w.startManager(ctx, w.plane.Kubeconfig)
	for died, former := 0, ""; leader.kill != nil; died++ {
		if former = w.awaitLeader(ctx, former); former == "" {
			return
		}
		if waiting = w.startManager(ctx, w.plane.Kubeconfig); waiting.kill == nil {
			return
		}
		for w.countStruckFaults() <= died {
			select {
			case err := <-leader.ended:
				w.t.Errorf("the manager ended by itself: %v", err)
				leader.kill = nil
				return
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		leader.kill()
		<-leader.ended
		w.ageAttempts()
		leader, waiting = waiting, process{}
	}
}

// awaitLeader waits until another manager than the former one leads, and returns its
// name; empty: ctx has ended.
func (w *world) awaitLeader(ctx context.Context, former string) string {
	for ctx.Err() == nil {
		name, err := w.plane.Leader(ctx, client.ObjectKey{Namespace: w.namespace, Name: infrav1.LeaderElectionID})
		if err == nil && name != "" && name != former {
			return name
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}

// startManager starts a manager by a kubeconfig. It returns none where that fails.
func (w *world) startManager(ctx context.Context, kubeconfig string) process {
	ctx, kill := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childSpace+"="+w.namespace, clientcmd.RecommendedConfigPathEnvVar+"="+kubeconfig)
	_, inErr := cmd.StdinPipe()
	said, outErr := cmd.StderrPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		kill()
		w.t.Errorf("cannot start a manager: %v", err)
		return process{}
	}
	ended := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			w.log.add(w.namespace, lines.Text())
		}
		ended <- cmd.Wait()
	}()
	return process{kill, ended, cmd.Process}
}

// countStruckFaults is how many calls were made that kill.
func (w *processes) countStruckFaults() int {
	n := 0
	for _, f := range w.maas.Faults() {
		n += f.Struck
	}
	return n
}

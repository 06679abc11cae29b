package manager_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
	"github.com/maaslxd/maaslxd/engine"
)

// What a manager is told that is a process of its own; its kubeconfig is in
// KUBECONFIG.
const (
	childSpace  = "TEST_MANAGER_NAMESPACE"
	childLedger = "TEST_MANAGER_LEDGER"
)

// beManager is a manager until it is killed, or the test is: its standard input
// ends then. It returns an exit code.
func beManager(space string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctrl.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{}))
	to, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	to.QPS = -1 // no limit
	o := options(os.Getenv(childLedger))
	o.Namespace, o.ManagerNamespace, o.WatchFilter = space, space, space
	o.LeaderElect = false // who is killed gives no lease back, and the next one would wait for 15 s
	mgr, err := manager.New(context.Background(), to, o, manager.NewMetrics())
	if err == nil {
		err = mgr.Start(context.Background())
	}
	fmt.Fprintln(os.Stderr, "the manager ended:", err)
	return 1
}

// processes are a world on a MAAS without VM hosts, whose managers are processes
// that are killed, one after the other.
type processes struct {
	*world
	folder string // of the ledger
	ended  sync.WaitGroup
	endAll func() // ends the managers, and sees that the last one left no row
}

// newProcesses makes the world. A manager is killed when it makes the calls that
// these faults keep from being answered.
func newProcesses(t *testing.T, space string, fatal ...sim.Fault) *processes {
	t.Helper()
	w := &processes{world: &world{stage: onStage(t), t: t, space: space, watch: space}, folder: t.TempDir()}
	model := fastModel()
	model.MAASVersion, model.LXDListen, model.Latency = sim.VersionGone, sim.LXDListenPorts, sim.Latency{}
	model.Hosts[1].Cores, model.Hosts[1].MemoryMiB = 8, 16384 // the first one has more room, and gets the VM
	for n := range model.Hosts {
		model.Hosts[n].TrustedCertificates = []string{w.key.Certificate}
	}
	w.maas = w.startMAAS(space, model)
	for n, h := range model.Hosts {
		w.note(w.maas.LXDs()[n], h.Name, h.Zone)
	}
	w.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: keySecret}, Type: corev1.SecretTypeTLS,
			StringData: map[string]string{corev1.TLSCertKey: w.key.Certificate, corev1.TLSPrivateKeyKey: w.key.Key},
		},
	)
	w.identity(space, w.maas.URL, w.maas.APIKey(), space)
	for _, f := range fatal {
		w.maas.AddFault(f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.ended.Go(func() { w.liveOn(ctx) })
	w.endAll = sync.OnceFunc(func() {
		cancel()
		w.ended.Wait()
		w.isEmpty(w.folder)
	})
	t.Cleanup(w.endAll)
	return w
}

// note writes into MAAS that a machine is an LXD host, as registering it does.
func (w *processes) note(server sim.LXD, name, zone string) {
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
	w.edit(name, sim.MachineEdit{Tags: ptr.To([]string{engine.HostTag}), OwnerData: &data})
}

// liveOn has managers live until ctx ends, each until it is killed.
func (w *processes) liveOn(ctx context.Context) {
	for died := 0; ctx.Err() == nil; died++ {
		running, kill := context.WithCancel(ctx)
		ended, err := w.start(running)
		if err != nil {
			kill()
			w.t.Errorf("cannot start a manager: %v", err)
			return
		}
		for w.struck() <= died && running.Err() == nil {
			select {
			case err := <-ended:
				kill()
				w.t.Errorf("the manager ended by itself: %v", err)
				return
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
		kill()
		<-ended
		w.passTime(w.folder)
	}
}

// start starts a manager that is killed when ctx ends.
func (w *processes) start(ctx context.Context) (<-chan error, error) {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childSpace+"="+w.space, childLedger+"="+filepath.Join(w.folder, "ledger.db"),
		clientcmd.RecommendedConfigPathEnvVar+"="+w.plane.Kubeconfig)
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			w.log.add(w.space, lines.Text())
		}
		ended <- cmd.Wait()
	}()
	return ended, nil
}

// struck is how many calls were made that kill.
func (w *processes) struck() int {
	n := 0
	for _, f := range w.maas.Faults() {
		n += f.Struck
	}
	return n
}

//go:build unix

package manager_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// stall is a way to the API server that stops who uses it, once, at a request.
type stall struct {
	stallsAt func(r *http.Request, body string) bool
	before   bool // the request gets through only after the stall

	mu      sync.Mutex
	pid     int // zero: not started
	once    sync.Once
	struck  chan struct{} // closed when the manager stands still
	resumed chan struct{} // closed when it goes on
}

// proxy serves the way, and returns the kubeconfig of who uses it.
func (s *stall) proxy(t *testing.T, to *rest.Config) (kubeconfig string) {
	t.Helper()
	s.struck, s.resumed = make(chan struct{}), make(chan struct{})
	transport, err := rest.TransportFor(to)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(to.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the manager is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		stops := s.stallsAt(r, string(body))
		if stops && s.before {
			s.stop(t)
		}
		answer := rw
		if stops && !s.before {
			answer = stallingWriter{rw, func() { s.stop(t) }}
		}
		proxy.ServeHTTP(answer, r)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// stop has the manager stand still, once, until it is resumed.
func (s *stall) stop(t *testing.T) {
	s.mu.Lock()
	pid := s.pid
	s.mu.Unlock()
	if pid == 0 {
		return
	}
	s.once.Do(func() {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Errorf("cannot stop the leader: %v", err)
		}
		close(s.struck)
		<-s.resumed
	})
}

// stallingWriter is an answer that comes after the stall.
type stallingWriter struct {
	http.ResponseWriter
	stopManager func()
}

func (s stallingWriter) WriteHeader(code int) {
	s.stopManager()
	s.ResponseWriter.WriteHeader(code)
}

// recordsAttempt tells that a request writes down what is begun.
func recordsAttempt(r *http.Request, body string) bool {
	return r.Method == http.MethodPatch && strings.Contains(body, ownership.AttemptAnnotation) && strings.Contains(body, `\"host\"`)
}

// asksWhoLeads reports whether a request is the read of the lease before MAAS
// is asked. The renewal has another User-Agent.
func asksWhoLeads(r *http.Request, _ string) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/leases/"+infrav1.LeaderElectionID) && !strings.Contains(r.UserAgent(), "leader-election")
}

// TestKubeLeaderStalled stops a leader (SIGSTOP) through its lease, and lets it go on
// when another one leads: it asks MAAS for nothing more, and ends.
func TestKubeLeaderStalled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		stall  *stall
	}{
		"BeforeRecord": {"Its record comes late, over that of another leader.", &stall{stallsAt: recordsAttempt, before: true}},
		"AfterRecord":  {"Its record is there, and its compose is not sent.", &stall{stallsAt: recordsAttempt}},
		"AfterLease":   {"It has read that it leads, when that was so.", &stall{stallsAt: asksWhoLeads}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithStalledLeader(t, "stalled-"+strings.ToLower(name), tc.reason, tc.stall)
		})
	}
}

// runWithStalledLeader makes a machine, and deletes it, with a leader that stalls.
func runWithStalledLeader(t *testing.T, space, reason string, s *stall) {
	w := &world{stage: onStage(t), t: t, namespace: space, watchLabel: space}
	w.maas = w.startMAAS(space, fastModel())
	before := len(w.maas.Machines())
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.createIdentity(space, w.maas.URL, w.maas.APIKey(), space)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)

	leader := w.startManager(ctx, s.proxy(t, w.plane.Config))
	first := w.awaitLeader(t.Context(), "")
	waiting := w.startManager(ctx, w.plane.Kubeconfig)
	if leader.kill == nil || waiting.kill == nil {
		return
	}
	t.Cleanup(func() {
		cancel()
		<-waiting.ended
	})
	s.mu.Lock()
	s.pid = leader.os.Pid
	s.mu.Unlock()

	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "m", newVMSpec(), nil)
	select {
	case <-s.struck:
	case <-time.After(waitTimeout):
		t.Fatalf("%s The leader was not stopped: %s", reason, w.log.lastLinesAbout(space))
	}
	w.awaitLeader(t.Context(), first)
	w.ageAttempts()
	if strings.HasSuffix(space, "beforerecord") {
		w.awaitReady("m") // by the next leader, which knows of no record
	}
	if err := leader.os.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	close(s.resumed)
	select {
	case err := <-leader.ended:
		if err == nil {
			t.Errorf("%s It ended without an error", reason)
		}
	case <-time.After(waitTimeout):
		t.Errorf("%s It lives on without its lease", reason)
	}
	w.awaitReady("m")
	if vms, composed := len(w.maas.Instances()), w.maas.Journal().Count(composeRoute); vms != 1 || composed != 1 {
		t.Errorf("%s There are %d VMs, and MAAS was asked %d times", reason, vms, composed)
	}
	w.deleteCluster(c, before, "m")
}

// composeRoute is the compose in the journal.
const composeRoute = "POST vm-hosts/{id}/ compose"

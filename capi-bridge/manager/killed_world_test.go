package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/crash"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
)

// attemptAging is how long ago the row of a killed manager was begun, for the next one:
// MAAS is through with what it was asked to compose.
const attemptAging = 3 * time.Minute

// The election of these tests is as fast as the API server of a busy machine allows.
const (
	testLease = 6 * time.Second
	testRenew = 4 * time.Second
	testRetry = time.Second
)

// killableWorld are a world whose managers are killed. Two are there at any time: one leads,
// and the other one waits for its place.
type killableWorld struct {
	*world
	fate *crash.Plan
	gate *crash.Gateway // before MAAS

	mu              sync.Mutex
	managersStarted int
	ended           sync.WaitGroup
	endAll          func() // ends the managers
}

// newKillableWorld makes a world, and has managers live in it until endAll, or the
// test's end.
func newKillableWorld(t *testing.T, space string, fate *crash.Plan) *killableWorld {
	t.Helper()
	w := &killableWorld{world: &world{stage: onStage(t), t: t, namespace: space, watchLabel: space}, fate: fate}
	model := fastModel()
	model.Latency = sim.Latency{Compose: 40 * time.Millisecond, Commission: 100 * time.Millisecond, Deploy: 100 * time.Millisecond, Release: 50 * time.Millisecond}
	w.maas = w.startMAAS(space, model)
	w.gate = crash.NewGateway(w.maas, crash.MAASCallName)
	server := httptest.NewServer(w.gate)
	t.Cleanup(server.Close)
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.createIdentity(space, server.URL+"/MAAS", w.maas.APIKey(), space)
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		w.ended.Go(func() { w.keepManagerRunning(ctx) })
	}
	w.endAll = sync.OnceFunc(func() {
		cancel()
		w.ended.Wait()
	})
	t.Cleanup(w.endAll)
	return w
}

// keepManagerRunning has one manager after the other live until ctx ends. A dead one may take its
// time to end: it has no effect any more.
func (w *killableWorld) keepManagerRunning(ctx context.Context) {
	for ctx.Err() == nil {
		life := w.fate.StartProcess(w.ageAttempts)
		running, kill := life.Context(ctx)
		mgr, err := w.newManager(running, life)
		if err != nil {
			kill()
			if !life.HasCrashed() && ctx.Err() == nil {
				w.t.Errorf("cannot begin a manager: %v", err)
				return
			}
			continue
		}
		w.ended.Go(func() {
			defer kill()
			if err := mgr.Start(running); err != nil && !life.HasCrashed() {
				w.t.Errorf("the manager ended with %v", err)
			}
		})
		<-running.Done()
	}
}

// newManager makes one whose ways to MAAS and to the API server are those of a life.
func (w *killableWorld) newManager(ctx context.Context, life *crash.Process) (*manager.Manager, error) {
	w.mu.Lock()
	w.managersStarted++
	version := fmt.Sprintf("%s-%d", w.namespace, w.managersStarted)
	w.mu.Unlock()
	o := electionOptions(manager.MemoryLedger)
	o.Version = version
	o.Namespace, o.ManagerNamespace, o.WatchFilter = w.namespace, w.namespace, w.namespace
	w.gate.Register("capi-bridge/"+o.Version, life)
	to := rest.CopyConfig(w.plane.Config)
	to.Wrap(func(inner http.RoundTripper) http.RoundTripper { return life.Transport(inner, kubeWriteName) })
	return manager.New(ctx, to, o, manager.NewMetrics())
}

// electionOptions are the options of a manager that another one waits for.
func electionOptions(ledger string) manager.Options {
	o := testOptions(ledger)
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = testLease, testRenew, testRetry
	return o
}

// kubeWriteName names a write to the API server, as "API PATCH maasmachines/status".
// Events are told beside all else, and decide nothing. A lease is renewed all the time.
func kubeWriteName(r *http.Request) string {
	parts := strings.Split(r.URL.Path, "/")
	i := slices.Index(parts, "namespaces")
	if r.Method == http.MethodGet || i < 0 || len(parts) < i+3 || parts[i+2] == "events" || parts[i+2] == "leases" {
		return ""
	}
	what := parts[i+2]
	if len(parts) > i+4 {
		what += "/" + parts[i+4]
	}
	return "API " + r.Method + " " + what
}

// ageAttempts has what was begun be begun a while ago, for the manager that takes the place
// of a killed one.
func (w *world) ageAttempts() {
	var list infrav1.MaasMachineList
	if err := w.List(context.Background(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Error(err)
	}
	for _, m := range list.Items {
		text := m.Annotations[ownership.AttemptAnnotation]
		if text == "" || text == ownership.NoAttempt {
			continue
		}
		var record map[string]any
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			w.t.Errorf("the record of %s is %q: %v", m.Name, text, err)
			continue
		}
		since, err := time.Parse(time.RFC3339Nano, fmt.Sprint(record["since"]))
		record["since"] = since.Add(-attemptAging)
		changed, marshalErr := json.Marshal(record)
		before := m.DeepCopy()
		m.Annotations[ownership.AttemptAnnotation] = string(changed)
		if err := errors.Join(err, marshalErr, w.Patch(context.Background(), &m, client.MergeFrom(before))); client.IgnoreNotFound(err) != nil {
			w.t.Error(err)
		}
	}
}

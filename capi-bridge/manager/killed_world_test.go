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

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/mortal"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
)

// pauseBetween is how long ago the row of a killed manager was begun, for the next one:
// MAAS is through with what it was asked to compose.
const pauseBetween = 3 * time.Minute

// The election of these tests is as fast as the API server of a busy machine allows.
const (
	testLease = 6 * time.Second
	testRenew = 4 * time.Second
	testRetry = time.Second
)

// mortals are a world whose managers are killed. Two are there at any time: one leads,
// and the other one waits for its place.
type mortals struct {
	*world
	fate *mortal.Fate
	gate *mortal.Gate // before MAAS

	mu     sync.Mutex
	born   int
	ended  sync.WaitGroup
	endAll func() // ends the managers
}

// newMortals makes a world, and has managers live in it until endAll, or the
// test's end.
func newMortals(t *testing.T, space string, fate *mortal.Fate) *mortals {
	t.Helper()
	w := &mortals{world: &world{stage: onStage(t), t: t, space: space, watch: space}, fate: fate}
	model := fastModel()
	model.Latency = sim.Latency{Compose: 40 * time.Millisecond, Commission: 100 * time.Millisecond, Deploy: 100 * time.Millisecond, Release: 50 * time.Millisecond}
	w.maas = w.startMAAS(space, model)
	w.gate = mortal.NewGate(w.maas, mortal.MAASCall)
	server := httptest.NewServer(w.gate)
	t.Cleanup(server.Close)
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.identity(space, server.URL+"/MAAS", w.maas.APIKey(), space)
	ctx, cancel := context.WithCancel(context.Background())
	for range 2 {
		w.ended.Go(func() { w.liveOn(ctx) })
	}
	w.endAll = sync.OnceFunc(func() {
		cancel()
		w.ended.Wait()
	})
	t.Cleanup(w.endAll)
	return w
}

// liveOn has one manager after the other live until ctx ends. A dead one may take its
// time to end: it has no effect any more.
func (w *mortals) liveOn(ctx context.Context) {
	for ctx.Err() == nil {
		life := w.fate.Begin(w.passTime)
		running, kill := life.Context(ctx)
		mgr, err := w.manager(running, life)
		if err != nil {
			kill()
			if !life.Dead() && ctx.Err() == nil {
				w.t.Errorf("cannot begin a manager: %v", err)
				return
			}
			continue
		}
		w.ended.Go(func() {
			defer kill()
			if err := mgr.Start(running); err != nil && !life.Dead() {
				w.t.Errorf("the manager ended with %v", err)
			}
		})
		<-running.Done()
	}
}

// manager makes one whose ways to MAAS and to the API server are those of a life.
func (w *mortals) manager(ctx context.Context, life *mortal.Life) (*manager.Manager, error) {
	w.mu.Lock()
	w.born++
	version := fmt.Sprintf("%s-%d", w.space, w.born)
	w.mu.Unlock()
	o := electing(manager.MemoryLedger)
	o.Version = version
	o.Namespace, o.ManagerNamespace, o.WatchFilter = w.space, w.space, w.space
	w.gate.Know("capi-bridge/"+o.Version, life)
	to := rest.CopyConfig(w.plane.Config)
	to.Wrap(func(inner http.RoundTripper) http.RoundTripper { return life.Transport(inner, kubeWrite) })
	return manager.New(ctx, to, o, manager.NewMetrics())
}

// electing are the options of a manager that another one waits for.
func electing(ledger string) manager.Options {
	o := options(ledger)
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = testLease, testRenew, testRetry
	return o
}

// kubeWrite names a write to the API server, as "API PATCH maasmachines/status".
// Events are told beside all else, and decide nothing. A lease is renewed all the time.
func kubeWrite(r *http.Request) string {
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

// passTime has what was begun be begun a while ago, for the manager that takes the place
// of a killed one.
func (w *world) passTime() {
	var list infrav1.MaasMachineList
	if err := w.List(context.Background(), &list, client.InNamespace(w.space)); err != nil {
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
		record["since"] = since.Add(-pauseBetween)
		changed, marshalErr := json.Marshal(record)
		before := m.DeepCopy()
		m.Annotations[ownership.AttemptAnnotation] = string(changed)
		if err := errors.Join(err, marshalErr, w.Patch(context.Background(), &m, client.MergeFrom(before))); client.IgnoreNotFound(err) != nil {
			w.t.Error(err)
		}
	}
}

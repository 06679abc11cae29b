package manager_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/mortal"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
)

// pauseBetween is how long it takes, by the ledger, until another manager takes the
// place of a killed one: by then MAAS is through with what it was asked to compose.
const pauseBetween = 3 * time.Minute

// mortals are a world whose managers are killed, one after the other.
type mortals struct {
	*world
	fate *mortal.Fate
	gate *mortal.Gate // before MAAS

	mu     sync.Mutex
	folder string // of the ledger that the manager has, or the next one
	born   int
	ended  sync.WaitGroup
	endAll func() // ends the managers, and sees that the last one left no row
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
	w.folder = t.TempDir()
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}})
	w.identity(space, server.URL+"/MAAS", w.maas.APIKey(), space)
	ctx, cancel := context.WithCancel(context.Background())
	w.ended.Go(func() { w.liveOn(ctx) })
	w.endAll = sync.OnceFunc(func() {
		cancel()
		w.ended.Wait()
		w.emptyLedger()
	})
	t.Cleanup(w.endAll)
	return w
}

// liveOn has managers live until ctx ends. A dead one may take its time to end: it
// has no effect any more.
func (w *mortals) liveOn(ctx context.Context) {
	for ctx.Err() == nil {
		life := w.fate.Begin(w.keep)
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
	defer w.mu.Unlock()
	w.born++
	o := options(filepath.Join(w.folder, ledgerFile))
	o.Version = fmt.Sprintf("%s-%d", w.space, w.born)
	o.Namespace, o.ManagerNamespace, o.WatchFilter = w.space, w.space, w.space
	o.LeaderElect = false // who is killed gives no lease back, and the next one would wait for 15 s
	w.gate.Know("capi-bridge/"+o.Version, life)
	to := rest.CopyConfig(w.plane.Config)
	to.Wrap(func(inner http.RoundTripper) http.RoundTripper { return life.Transport(inner, kubeWrite) })
	return manager.New(ctx, to, o, manager.NewMetrics())
}

// kubeWrite names a write to the API server, as "API PATCH maasmachines/status".
// Events are told beside all else, and decide nothing.
func kubeWrite(r *http.Request) string {
	parts := strings.Split(r.URL.Path, "/")
	i := slices.Index(parts, "namespaces")
	if r.Method == http.MethodGet || i < 0 || len(parts) < i+3 || parts[i+2] == "events" {
		return ""
	}
	what := parts[i+2]
	if len(parts) > i+4 {
		what += "/" + parts[i+4]
	}
	return "API " + r.Method + " " + what
}

// keep copies the files that a manager has as they are when it is killed: what it
// does on its way to its end, the next one does not see.
func (w *mortals) keep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := filepath.Join(w.folder, "next")
	if err := os.Mkdir(to, 0o700); err != nil {
		w.t.Error(err)
		return
	}
	names, err := filepath.Glob(filepath.Join(w.folder, "*.*"))
	if err != nil {
		w.t.Error(err)
	}
	for _, name := range names {
		var err error
		switch base := filepath.Base(name); {
		case base == ledgerFile:
			err = w.snapshot(filepath.Join(to, base))
		case strings.HasPrefix(base, ledgerFile):
			continue // the log and its index, which are in the snapshot
		default:
			err = copyFile(name, filepath.Join(to, base))
		}
		if err != nil {
			w.t.Error(err)
		}
	}
	w.folder = to
	w.passTime(to)
}

// snapshot has SQLite copy the ledger: between two reads of its files the manager may
// write to it, or close it.
func (w *mortals) snapshot(to string) error {
	db, ok := w.ledger(w.folder)
	if !ok {
		return nil
	}
	defer db.Close()
	_, err := db.Exec("VACUUM INTO ?", to)
	return err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// emptyLedger sees that the last manager left no row.
func (w *mortals) emptyLedger() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isEmpty(w.folder)
}

// isEmpty sees that there is no row in the ledger of a folder.
func (w *world) isEmpty(folder string) {
	db, ok := w.ledger(folder)
	if !ok {
		return
	}
	defer db.Close()
	var rows sql.NullString
	if err := db.QueryRow("SELECT group_concat(key || ' ' || state || ' ' || system_id) FROM reservations").Scan(&rows); err != nil || rows.Valid {
		w.t.Errorf("left in the ledger: %s, %v", rows.String, err)
	}
}

// passTime lets the pause between two managers pass in the ledger of a folder.
func (w *world) passTime(folder string) {
	db, ok := w.ledger(folder)
	if !ok {
		return
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE reservations SET since_ms = since_ms - ?", pauseBetween.Milliseconds()); err != nil {
		w.t.Error(err)
	}
}

// ledgerFile is what a manager's ledger is called.
const ledgerFile = "ledger.db"

// ledger opens that of a folder, if there is one. Its manager may hold it for a moment.
func (w *world) ledger(folder string) (db *sql.DB, ok bool) {
	file := filepath.Join(folder, ledgerFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Error(err)
		return nil, false
	}
	return db, true
}

package manager_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
	"github.com/maaslxd/maaslxd/capi-bridge/manager"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// stage is what the tests of this package share: a real API server and, on it, a
// manager of all namespaces. Each test has a namespace and a MAAS of its own.
type stage struct {
	client.Client
	plane   *kubetest.ControlPlane
	log     *lines             // of all managers
	key     engine.Credentials // of the fleet, which the shared manager is given
	folder  string
	stopAll func() error // ends the shared manager
}

const (
	// sharedSpace is the namespace that the shared manager runs in, and the watch
	// label of what it reconciles: other managers of a test have others.
	sharedSpace = "capmaas-shared"
	// keySecret has the fleet's key pair.
	keySecret = "maaslxd-lxd-client"
)

// theStage is set by the first test that needs it.
var theStage struct {
	once sync.Once
	*stage
	err error
}

// TestMain ends what the tests share. The program is a manager instead where a test
// started it as one.
func TestMain(m *testing.M) {
	if space := os.Getenv(childSpace); space != "" {
		os.Exit(runManagerProcess(space))
	}
	if listen := os.Getenv(childLedger); listen != "" {
		os.Exit(serveLedger(listen))
	}
	code := m.Run()
	if s := theStage.stage; s != nil {
		if err := s.close(); err != nil {
			fmt.Fprintln(os.Stderr, "the shared manager ended with", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// onStage returns what the tests share. Where the programs cannot be built, because
// their modules are neither in the module cache nor to be had, the test is skipped
// and says so.
func onStage(t *testing.T) *stage {
	t.Helper()
	theStage.once.Do(func() { theStage.stage, theStage.err = openStage() })
	var unavailable *programs.BuildError
	switch {
	case errors.As(theStage.err, &unavailable):
		t.Skipf("skipped: there is no Kubernetes: %v", theStage.err)
	case theStage.err != nil:
		t.Fatal(theStage.err)
	}
	return theStage.stage
}

// openStage starts all of it. The managers log all that they can.
func openStage() (*stage, error) {
	s := &stage{log: &lines{}, stopAll: func() error { return nil }}
	builder, err := programs.NewBuilder(context.Background())
	if err != nil {
		return nil, err
	}
	if _, err := builder.Build(context.Background(), programs.Etcd, programs.KubeAPIServer); err != nil {
		return nil, err // after minutes, where nothing is built yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	if err := s.open(ctx, builder); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context, builder *programs.Builder) (err error) {
	if s.folder, err = os.MkdirTemp("", "manager-test-"); err != nil {
		return err
	}
	if s.plane, err = kubetest.StartControlPlane(ctx, builder, kubetest.Options{Dir: s.folder}); err != nil {
		return err
	}
	if err := installKinds(ctx, s.plane); err != nil {
		return err
	}
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	if s.Client, err = client.New(s.plane.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	// From 5 on controller-runtime logs its queue's items while it changes them.
	ctrl.SetLogger(funcr.New(s.log.add, funcr.Options{Verbosity: 4}))
	return s.startSharedManager(ctx)
}

// startSharedManager starts the manager of all namespaces, with a key of the fleet that is there
// already.
func (s *stage) startSharedManager(ctx context.Context) error {
	key, err := fleetkey.LoadOrCreate(filepath.Join(s.folder, "fleet.key"), time.Now())
	if err != nil {
		return err
	}
	s.key = key.Credentials
	if err := s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sharedSpace}}); err != nil {
		return err
	}
	err = s.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: sharedSpace, Name: keySecret}, Type: corev1.SecretTypeTLS,
		StringData: map[string]string{corev1.TLSCertKey: s.key.Certificate, corev1.TLSPrivateKeyKey: s.key.Key},
	})
	if err != nil {
		return err
	}
	as, err := s.grantRights(ctx, sharedSpace, "")
	if err != nil {
		return err
	}
	o := testOptions(manager.MemoryLedger)
	o.ManagerNamespace, o.WatchFilter = sharedSpace, sharedSpace
	running, stop := context.WithCancel(context.Background())
	mgr, err := manager.New(running, as, o, manager.NewMetrics())
	if err != nil {
		stop()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	s.stopAll = func() error {
		stop()
		return <-ended
	}
	return nil
}

// close ends the manager, then the API server.
func (s *stage) close() error {
	err := s.stopAll()
	if s.plane != nil {
		s.plane.Stop()
	}
	if s.folder == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// runUntilCleanup runs a manager until it is stopped, or the test ends.
func runUntilCleanup(t *testing.T, mgr *manager.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

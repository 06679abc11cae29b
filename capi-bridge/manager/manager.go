package manager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// Scheme returns a scheme with the kinds that the manager reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	var errs []error
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		errs = append(errs, add(scheme))
	}
	return scheme, errors.Join(errs...)
}

// Manager is a controller-runtime manager with its MAAS connections and its
// ledger.
type Manager struct {
	ctrl.Manager
	sites   *identity.Sites
	regions ledger.Regions
}

// Start runs until ctx ends, and then closes the ledger. Call it once only.
func (m *Manager) Start(ctx context.Context) error {
	err := m.Manager.Start(ctx)
	m.sites.Close()
	return errors.Join(err, m.regions.Close())
}

// New makes a manager for the API server of to. It reconciles nothing before
// Start. metrics may be registered anywhere, or nowhere.
func New(ctx context.Context, to *rest.Config, o Options, metrics *Metrics) (*Manager, error) {
	options, err := o.managerOptions()
	if err != nil {
		return nil, err
	}
	election, err := o.joinElection(to, &options)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(to, options)
	if err != nil {
		return nil, fmt.Errorf("cannot make the manager: %w", err)
	}
	management, err := readManagementClusterID(ctx, mgr.GetAPIReader())
	if err != nil {
		return nil, err
	}
	rows, err := o.newRegions(ctx, mgr, election)
	if err != nil {
		return nil, err
	}
	sites := identity.New(o.identityConfig(mgr, rows, metrics))
	err = errors.Join(
		mgr.Add(metrics.watchPhases(mgr.GetCache())),
		o.addControllers(ctx, mgr, sites, management),
		o.addWebhooks(ctx, mgr, sites),
		mgr.AddHealthzCheck("ping", healthz.Ping),
	)
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return &Manager{mgr, sites, rows}, nil
}

// readManagementClusterID reads the id that tells this cluster from others: the
// UID of its namespace kube-system, which is created only once.
func readManagementClusterID(ctx context.Context, api client.Reader) (string, error) {
	var system corev1.Namespace
	if err := api.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		return "", fmt.Errorf("cannot read the namespace %s, by whose UID machines are marked: %w", metav1.NamespaceSystem, err)
	}
	return string(system.UID), nil
}

// managerOptions returns the options of controller-runtime. Secrets, ConfigMaps
// and the objects of identities are never cached: they are read one by one.
func (o Options) managerOptions() (ctrl.Options, error) {
	scheme, err := Scheme()
	cached := cache.Options{SyncPeriod: &o.SyncPeriod, DefaultTransform: cache.TransformStripManagedFields()}
	if o.Namespace != "" {
		cached.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	uncached := []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Namespace{}, &infrav1.MaasClusterIdentity{}}
	options := ctrl.Options{
		Scheme: scheme, Cache: cached, Client: client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		LeaderElection: o.LeaderElect, LeaderElectionID: infrav1.LeaderElectionID, LeaderElectionNamespace: o.ManagerNamespace,
		LeaderElectionResourceLock:    resourcelock.LeasesResourceLock,
		LeaderElectionReleaseOnCancel: true, // the process ends when the manager does
		LeaseDuration:                 &o.LeaseDuration, RenewDeadline: &o.RenewDeadline, RetryPeriod: &o.RetryPeriod,
		HealthProbeBindAddress: o.HealthAddr, PprofBindAddress: o.ProfilerAddr, Metrics: o.Metrics,
		// The priority queue of controller-runtime v0.24.1 keeps its locks
		// while it hands an item to workers that have ended (priorityqueue.go,
		// handleReadyItems). About one time in ten the manager then ends half a
		// minute late, with an error.
		Controller: config.Controller{SkipNameValidation: ptr.To(o.NamesRepeat), UsePriorityQueue: ptr.To(false)},
	}
	if o.WebhookPort != 0 {
		options.WebhookServer = webhook.NewServer(webhook.Options{
			Port: o.WebhookPort, CertDir: o.WebhookCertDir, CertName: o.WebhookCertName, KeyName: o.WebhookKeyName, TLSOpts: o.TLS,
		})
	}
	return options, err
}

// identityConfig says how the MAAS of a cluster is found and reached.
func (o Options) identityConfig(mgr ctrl.Manager, rows ledger.Regions, metrics *Metrics) identity.Config {
	c := identity.Config{
		Finder: identity.Finder{Reader: mgr.GetAPIReader(), Namespace: o.ManagerNamespace, Getenv: o.Getenv, AllowTakeOver: o.AllowTakeOver, DefaultNamespaces: o.DefaultNamespaces},
		Ledger: rows, LXDKeySecret: o.LXDKeySecret, AllowInsecureKey: o.AllowInsecureKey, Composer: o.Composer, ProbeLXD: o.ProbeLXD,
		CredentialsPeriod: o.CredentialsPeriod, Timeout: o.MAASTimeout, Interval: o.MAASPollInterval, MaxConns: o.MAASConnections,
		UserAgent: "capi-bridge/" + o.Version, Log: engineLog(mgr.GetLogger().WithName("engine")),
		OnRequest: metrics.CountRequests, OnHostsListed: metrics.NoteHostsListed, WrapLedger: metrics.CountPlacements,
	}
	c.KeyWriter = mgr.GetClient()
	if o.hasLedgerFile() {
		c.Folder = filepath.Dir(o.Ledger)
	}
	return c
}

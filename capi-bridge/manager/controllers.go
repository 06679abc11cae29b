package manager

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	bridge "github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/machine"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/template"
	"github.com/maaslxd/maaslxd/capi-bridge/webhook"
)

// addControllers adds the controllers of all kinds, and the cache of
// connections to workload clusters.
func (o Options) addControllers(ctx context.Context, mgr ctrl.Manager, sites bridge.Sites, management string) error {
	workloads, err := o.newClusterCache(ctx, mgr)
	if err != nil {
		return fmt.Errorf("cannot reach workload clusters: %w", err)
	}
	clusters := &cluster.Reconciler{
		Client: mgr.GetClient(), Sites: sites, Workloads: workloads, WatchFilter: o.WatchFilter,
		Recorder: mgr.GetEventRecorder("maascluster-controller"),
	}
	machines := &machine.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Sites: sites, Workloads: workloads, WatchFilter: o.WatchFilter,
		Published: &clusters.Published, Recorder: mgr.GetEventRecorder("maasmachine-controller"), ManagementCluster: management,
		RecordsAttempts: o.Ledger == MemoryLedger,
	}
	templates := &template.Reconciler{Client: mgr.GetClient(), WatchFilter: o.WatchFilter}
	connects := func(name string, to func(context.Context, client.Object) []ctrl.Request) source.Source {
		return workloads.GetClusterSource(name, to)
	}
	return errors.Join(
		clusters.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.ClusterConcurrency}, connects),
		machines.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.MachineConcurrency}),
		templates.SetupWithManager(ctx, mgr, controller.Options{}),
	)
}

// newClusterCache connects to the API servers of clusters that have one. It
// caches no objects of them: each machine reads its Node only once.
func (o Options) newClusterCache(ctx context.Context, mgr ctrl.Manager) (clustercache.ClusterCache, error) {
	live := []client.Object{&corev1.Node{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Pod{}}
	return clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:     mgr.GetAPIReader(),
		WatchFilterValue: o.WatchFilter,
		Client: clustercache.ClientOptions{
			QPS: o.ClusterCacheQPS, Burst: o.ClusterCacheBurst, UserAgent: "capi-bridge/" + o.Version,
			Cache: clustercache.ClientCacheOptions{DisableFor: live},
		},
	}, controller.Options{MaxConcurrentReconciles: o.ClusterCacheConcurrency})
}

// addWebhooks adds the webhooks, unless a flag turns them off, and a readiness
// check that waits for their server.
func (o Options) addWebhooks(ctx context.Context, mgr ctrl.Manager, sites bridge.Sites) error {
	if o.WebhookPort == 0 {
		return nil
	}
	user, err := readOwnUser(ctx, mgr.GetClient())
	if err != nil {
		return err
	}
	takeOver := func(ctx context.Context, c *infrav1.MaasCluster) (bool, error) {
		site, err := sites.Site(ctx, c)
		if err != nil {
			return false, err
		}
		return site.AllowTakeOver, nil
	}
	return errors.Join(
		webhook.SetupWithManager(mgr, webhook.Guard{Reader: mgr.GetAPIReader(), ManagerUser: user, IdentityAllowsTakeOver: takeOver}),
		mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()),
		mgr.AddHealthzCheck("webhook", mgr.GetWebhookServer().StartedChecker()),
	)
}

// readOwnUser reads the manager's user name from the API server: its service
// account, as a rule.
func readOwnUser(ctx context.Context, api client.Writer) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := api.Create(ctx, review); err != nil {
		return "", fmt.Errorf("cannot find out the manager's user at the API server: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

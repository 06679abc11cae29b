package manager

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	bridge "github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/webhook"
)

// addControllers adds those of all kinds, and what reaches workload clusters.
func (o Options) addControllers(ctx context.Context, mgr ctrl.Manager, sites bridge.Sites) error {
	workloads, err := o.workloads(ctx, mgr)
	if err != nil {
		return fmt.Errorf("cannot reach workload clusters: %w", err)
	}
	clusters := &bridge.ClusterReconciler{
		Client: mgr.GetClient(), Sites: sites, Workloads: workloads, WatchFilter: o.WatchFilter,
		Recorder: mgr.GetEventRecorder("maascluster-controller"),
	}
	machines := &bridge.MachineReconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Sites: sites, Workloads: workloads, WatchFilter: o.WatchFilter,
		Published: &clusters.Published, Recorder: mgr.GetEventRecorder("maasmachine-controller"),
	}
	templates := &bridge.TemplateReconciler{Client: mgr.GetClient(), WatchFilter: o.WatchFilter}
	connects := func(name string, to func(context.Context, client.Object) []ctrl.Request) source.Source {
		return workloads.GetClusterSource(name, to)
	}
	return errors.Join(
		clusters.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.ClusterConcurrency}, connects),
		machines.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.MachineConcurrency}),
		templates.SetupWithManager(ctx, mgr, controller.Options{}),
	)
}

// workloads connects to the API servers of clusters that have one. Nothing of them
// is cached: of a Node, each machine needs one look.
func (o Options) workloads(ctx context.Context, mgr ctrl.Manager) (clustercache.ClusterCache, error) {
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

// addWebhooks adds the webhooks, unless they are not wanted, and a readiness check
// that waits for their server.
func (o Options) addWebhooks(mgr ctrl.Manager) error {
	if o.WebhookPort == 0 {
		return nil
	}
	return errors.Join(
		webhook.SetupWithManager(mgr),
		mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()),
		mgr.AddHealthzCheck("webhook", mgr.GetWebhookServer().StartedChecker()),
	)
}

// Package cluster reconciles MaasClusters: the zones that machines may be in,
// and the name of the cluster's API.
package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/patch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
)

// Reconciler reconciles MaasClusters: the availability zones that machines may
// be in, and the name of the cluster's API.
type Reconciler struct {
	// Client reads Clusters, MaasClusters and MaasMachines from a cache, and
	// ConfigMaps from the API server.
	Client client.Client
	Sites  controller.Sites
	// Workloads reaches the clusters' own API servers; nil: no cluster can be
	// reached.
	Workloads controller.Workloads
	Recorder  events.EventRecorder
	// WatchFilter is the value of Cluster API's label that objects must have;
	// empty: all objects are reconciled.
	WatchFilter string
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	// Published remembers the addresses of the clusters' names.
	Published endpoint.Publications

	indexed               bool // MaasClusters can be listed by apiNameIndex
	outbox                outbox.Outbox
	controlPlaneSnapshots controlPlaneSnapshots
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	maas := &infrav1.MaasCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, maas); err != nil {
		if apierrors.IsNotFound(err) {
			r.Published.Forget(request.NamespacedName) // deleted, or moved away
			r.outbox.Forget(request.NamespacedName)
			r.controlPlaneSnapshots.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(maas, r.WatchFilter) {
		return ctrl.Result{}, nil
	}
	s := &scope{Reconciler: r, maasCluster: maas}
	if ready, err := s.prepare(ctx); !ready || err != nil {
		return ctrl.Result{}, problem.IgnoreConflict(err)
	}
	if s.cluster != nil {
		ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.cluster)))
	}
	return s.reconcileAndPatch(ctx)
}

// reconcileAndPatch takes the steps that are due, and then writes the result
// once.
func (s *scope) reconcileAndPatch(ctx context.Context) (ctrl.Result, error) {
	helper, err := patch.NewHelper(s.maasCluster, s.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := slices.Clone(s.maasCluster.Status.Conditions)
	if s.machines, err = s.listMachines(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if !s.maasCluster.DeletionTimestamp.IsZero() {
		err = deletion{s}.reconcile(ctx)
	} else {
		err = s.reconcileNormal(ctx)
	}
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // a manager that is stopping writes nothing
	}
	err = errors.Join(err, s.setReady())
	saved := helper.Patch(ctx, s.maasCluster, patch.WithOwnedConditions{Conditions: ownedConditions})
	if !s.maasCluster.DeletionTimestamp.IsZero() {
		saved = problem.IgnoreGone(saved) // the object is gone with its last finalizer
	}
	news := s.conditionEvents(before)
	outbox.LogWarnings(ctx, news)
	s.outbox.Send(s.Recorder, s.maasCluster, news, saved)
	return ctrl.Result{RequeueAfter: s.requeueAfter}, errors.Join(err, saved)
}

func (s *scope) currentTime() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// ClusterReconciler keeps MaasClusters: the availability zones that machines may
// be in, and the name by which the cluster's API is reached.
type ClusterReconciler struct {
	// Client reads Clusters, MaasClusters and MaasMachines from a cache, and
	// ConfigMaps from the API server.
	Client client.Client
	Sites  Sites
	// Workloads reaches the clusters' own API servers; nil: none can be.
	Workloads Workloads
	Recorder  events.EventRecorder
	// WatchFilter is the value of Cluster API's label that objects must have;
	// empty: all objects are reconciled.
	WatchFilter string
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	// Published is what the names of the clusters are known to point to.
	Published Publications

	indexed bool // MaasClusters can be listed by nameIndex
	tells   teller
	beside  controlPlanes
}

// clusterScope is one reconcile of a MaasCluster.
type clusterScope struct {
	*ClusterReconciler
	cluster  *clusterv1.Cluster // nil where it is gone
	maas     *infrav1.MaasCluster
	machines []infrav1.MaasMachine // of the cluster, sorted by name
	site     *Site                 // nil as long as there is none
	answered bool                  // MAAS has taken the key
	denied   bool                  // MAAS does not take it, or not for all

	next time.Duration // when to look again; zero: at rest
}

// Reconcile implements reconcile.Reconciler.
func (r *ClusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	maas := &infrav1.MaasCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, maas); err != nil {
		if apierrors.IsNotFound(err) {
			r.Published.forget(request.NamespacedName) // deleted, or moved away
			r.tells.forget(request.NamespacedName)
			r.beside.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(maas, r.WatchFilter) {
		return ctrl.Result{}, nil
	}
	s := &clusterScope{ClusterReconciler: r, maas: maas}
	if ready, err := s.prepare(ctx); !ready || err != nil {
		return ctrl.Result{}, ignoreConflict(err)
	}
	if s.cluster != nil {
		ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("Cluster", klog.KObj(s.cluster)))
	}
	return s.reconcile(ctx)
}

// reconcile does what is to be done, and writes down once what was found.
func (s *clusterScope) reconcile(ctx context.Context) (ctrl.Result, error) {
	helper, err := patch.NewHelper(s.maas, s.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := slices.Clone(s.maas.Status.Conditions)
	if s.machines, err = s.listMachines(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if !s.maas.DeletionTimestamp.IsZero() {
		err = s.delete(ctx)
	} else {
		err = s.normal(ctx)
	}
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err() // what was seen is of a manager that is going away
	}
	s.summarize()
	saved := helper.Patch(ctx, s.maas, patch.WithOwnedConditions{Conditions: clusterConditions})
	if !s.maas.DeletionTimestamp.IsZero() {
		saved = ignoreGone(saved) // the finalizer was the last one
	}
	news := s.changed(before)
	logWarnings(ctx, news)
	s.tells.tell(s.Recorder, s.maas, news, saved)
	return ctrl.Result{RequeueAfter: s.next}, errors.Join(err, saved)
}

// prepare finds the Cluster, and says whether there is something to be done now:
// not for objects without an owner, in somebody else's hands, or paused. It
// leaves the finalizer and the endpoint on the object, each before anything is
// made in MAAS.
func (s *clusterScope) prepare(ctx context.Context) (bool, error) {
	cluster, err := util.GetOwnerCluster(ctx, s.Client, s.maas.ObjectMeta)
	deleting := !s.maas.DeletionTimestamp.IsZero()
	switch {
	case apierrors.IsNotFound(err) && deleting: // what it left in MAAS must still go
	case err != nil:
		return false, err
	case cluster == nil && !deleting:
		ctrl.LoggerFrom(ctx).V(4).Info("waiting for the Cluster to own the MaasCluster")
		return false, nil
	}
	s.cluster = cluster
	if annotations.IsExternallyManaged(s.maas) {
		return false, nil
	}
	if isPaused, again, err := paused.EnsurePausedCondition(ctx, s.Client, cluster, s.maas); isPaused || again || err != nil {
		return false, err
	}
	if err := s.noteOrigin(ctx); err != nil {
		return false, err
	}
	if deleting {
		return true, nil
	}
	if _, err := finalizers.EnsureFinalizer(ctx, s.Client, s.maas, infrav1.ClusterFinalizer); err != nil {
		return false, err
	}
	return true, s.settleEndpoint(ctx)
}

// listMachines lists the MaasMachines of the cluster.
func (s *clusterScope) listMachines(ctx context.Context) ([]infrav1.MaasMachine, error) {
	name := s.name()
	if name == "" {
		return nil, nil
	}
	var list infrav1.MaasMachineList
	err := s.Client.List(ctx, &list, client.InNamespace(s.maas.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
	if err != nil {
		return nil, fmt.Errorf("cannot list the MaasMachines: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.MaasMachine) int { return compareNames(&a, &b) })
	return list.Items, nil
}

// name is the Cluster's, even where that is gone.
func (s *clusterScope) name() string {
	if s.cluster != nil {
		return s.cluster.Name
	}
	for _, owner := range s.maas.OwnerReferences {
		if owner.Kind == clusterv1.ClusterKind {
			return owner.Name
		}
	}
	return s.maas.Labels[clusterv1.ClusterNameLabel]
}

// soon makes the next look come after a time, at the latest.
func (s *clusterScope) soon(after time.Duration) {
	if s.next == 0 || after < s.next {
		s.next = after
	}
}

package machine

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// SetupWithManager makes a controller of the reconciler. Besides MaasMachines
// it watches the objects that they depend on. The engine's poller wakes it as
// well.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx).WithValues("controller", "maasmachine")
	ofCluster, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.MaasMachineList{}, mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("cannot map Clusters to MaasMachines: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.MaasMachine{}, ownership.SystemIDIndex, ownership.IndexSystemID); err != nil {
		return fmt.Errorf("cannot index MaasMachines by the machine that they name: %w", err)
	}
	r.indexed = true
	err = ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.MaasMachine{}, filterUpdates(maasMachineFields)).
		Named("maasmachine").
		WithOptions(options).
		WithEventFilter(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(
			util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("MaasMachine"))), filterUpdates(machineFields)).
		Watches(&infrav1.MaasCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfMaasCluster), filterUpdates(maasClusterFields)).
		Watches(&infrav1.MaasCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesAwaitingDNS), builder.WithPredicates(dnsRecordPredicate)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(ofCluster), filterUpdates(clusterFields)).
		WatchesRawSource(r.wakeups.watchSource()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("cannot set up the controller of MaasMachines: %w", err)
	}
	return nil
}

// machinesOfMaasCluster lists the MaasMachines of a MaasCluster's Cluster.
func (r *Reconciler) machinesOfMaasCluster(ctx context.Context, o client.Object) []reconcile.Request {
	cluster, err := util.GetOwnerCluster(ctx, r.Client, metav1.ObjectMeta{Namespace: o.GetNamespace(), OwnerReferences: o.GetOwnerReferences()})
	if err != nil || cluster == nil {
		return nil // there are no machines yet, or the Cluster's own events wake them
	}
	machines := &infrav1.MaasMachineList{}
	of := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	if err := r.Client.List(ctx, machines, client.InNamespace(cluster.Namespace), of); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the machines of a cluster", "cluster", cluster.Name)
		return nil
	}
	requests := make([]reconcile.Request, len(machines.Items))
	for n := range machines.Items {
		requests[n].NamespacedName = client.ObjectKeyFromObject(&machines.Items[n])
	}
	return requests
}

// machinesAwaitingDNS lists the machines of a MaasCluster that wait for its DNS
// record: their address must appear in it, or disappear. A new wait may not be
// in the cache yet. So every machine counts that has an address and is not
// attached.
func (r *Reconciler) machinesAwaitingDNS(ctx context.Context, o client.Object) []reconcile.Request {
	return slices.DeleteFunc(r.machinesOfMaasCluster(ctx, o), func(request reconcile.Request) bool {
		m := &infrav1.MaasMachine{}
		if err := r.Client.Get(ctx, request.NamespacedName, m); err != nil || !endpoint.IsControlPlane(m) || len(endpoint.IPs(m)) == 0 {
			return true
		}
		settled := []string{infrav1.DNSAttachedReason, infrav1.DNSDetachedReason}
		return m.DeletionTimestamp.IsZero() && slices.Contains(settled, conditions.GetReason(m, infrav1.DNSAttachedCondition))
	})
}

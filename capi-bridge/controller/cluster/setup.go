package cluster

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
)

// controllerName is the controller's name in logs and metrics.
const controllerName = "maascluster"

// ConnectSource makes a source of Clusters whose API starts or stops answering.
// clustercache.ClusterCache's GetClusterSource is one.
type ConnectSource func(controllerName string, to func(context.Context, client.Object) []ctrl.Request) source.Source

// SetupWithManager adds the reconciler to the manager. It wakes for changes of
// MaasClusters, of their Clusters, and of some fields of their MaasMachines.
// Unless connects is nil, it also wakes when an API starts or stops answering.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options, connects ConnectSource) error {
	toMaas := util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("MaasCluster"), mgr.GetClient(), &infrav1.MaasCluster{})
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.MaasCluster{}, apiNameIndex, indexAPIName); err != nil {
		return fmt.Errorf("cannot index MaasClusters by the name of their API: %w", err)
	}
	r.indexed = true
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&infrav1.MaasCluster{}).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toMaas), builder.WithPredicates(clusterChangePredicate)).
		Watches(&infrav1.MaasMachine{}, handler.EnqueueRequestsFromMapFunc(r.maasClusterOfMachine), builder.WithPredicates(machineChangePredicate))
	if connects != nil {
		b = b.WatchesRawSource(connects(controllerName, toMaas))
	}
	return b.Complete(r)
}

// maasClusterOfMachine finds the MaasCluster of a MaasMachine.
func (r *Reconciler) maasClusterOfMachine(ctx context.Context, machine client.Object) []ctrl.Request {
	name := machine.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	var list infrav1.MaasClusterList
	if err := r.Client.List(ctx, &list, client.InNamespace(machine.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the MaasClusters", "namespace", machine.GetNamespace())
		return nil
	}
	var all []ctrl.Request
	for i := range list.Items {
		if s := (&scope{maasCluster: &list.Items[i]}); s.clusterName() == name {
			all = append(all, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return all
}

// clusterChangePredicate accepts changes of a Cluster that matter to its
// MaasCluster.
var clusterChangePredicate = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*clusterv1.Cluster), e.ObjectNew.(*clusterv1.Cluster)
	return before.Generation != after.Generation || !before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		ptr.Deref(before.Status.Initialization.ControlPlaneInitialized, false) != ptr.Deref(after.Status.Initialization.ControlPlaneInitialized, false)
}}

// machineChangePredicate accepts changes of a MaasMachine that its MaasCluster
// shows or publishes.
var machineChangePredicate = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return !reflect.DeepEqual(machineFactsOf(e.ObjectOld.(*infrav1.MaasMachine)), machineFactsOf(e.ObjectNew.(*infrav1.MaasMachine)))
}}

// machineFacts are the parts of a MaasMachine that matter to its MaasCluster.
type machineFacts struct {
	cluster, zone                            string
	controlPlane, deleting                   bool
	provisioned, hasFinalAddress, lost, down bool
	addresses                                []clusterv1.MachineAddress
	hostStatus, hostReason, hostMessage      string
}

// machineFactsOf returns the facts of a machine. A worker has none that only
// the API's name depends on.
func machineFactsOf(m *infrav1.MaasMachine) machineFacts {
	_, controlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]
	f := machineFacts{
		cluster: m.Labels[clusterv1.ClusterNameLabel], zone: m.Status.FailureDomain,
		controlPlane: controlPlane, deleting: !m.DeletionTimestamp.IsZero(),
	}
	if controlPlane {
		f.provisioned, f.hasFinalAddress, f.addresses = endpoint.IsProvisioned(m), endpoint.IsProvisioned(m) || endpoint.HasFinalAddress(m), m.Status.Addresses
		f.lost, f.down = endpoint.IsLost(m), endpoint.IsDown(m)
	}
	if c := conditions.Get(m, infrav1.LXDReadyCondition); c != nil {
		f.hostStatus, f.hostReason, f.hostMessage = string(c.Status), c.Reason, c.Message
	}
	return f
}

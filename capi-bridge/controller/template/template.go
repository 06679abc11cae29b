// Package template tells an autoscaler which resources a Node of a
// MaasMachineTemplate has.
package template

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// Reconciler writes the resources of a template's Nodes into its status. An
// autoscaler can then scale from zero Nodes. The Reconciler never asks MAAS.
type Reconciler struct {
	Client client.Client
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that
	// objects must have; empty: all are reconciled.
	WatchFilter string
}

// SetupWithManager adds the controller of the reconciler to a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.MaasMachineTemplate{}).
		Named("maasmachinetemplate").
		WithOptions(options).
		WithEventFilter(r.updatePredicate(mgr.GetScheme(), ctrl.LoggerFrom(ctx).WithValues("controller", "maasmachinetemplate"))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.templatesOfCluster)). // it may be unpaused
		Complete(r)
	if err != nil {
		return fmt.Errorf("cannot set up the controller of MaasMachineTemplates: %w", err)
	}
	return nil
}

// updatePredicate accepts objects of this manager. It accepts an update that
// may change the work: also a new label, which can make a template ours or
// assign it to a Cluster.
func (r *Reconciler) updatePredicate(scheme *runtime.Scheme, log logr.Logger) predicate.Predicate {
	return predicate.And(
		predicates.ResourceNotPausedAndHasFilterLabel(scheme, log, r.WatchFilter),
		predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}),
	)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t := &infrav1.MaasMachineTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, t); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(t, r.WatchFilter) { // the Cluster that wakes the template may carry another label
		return ctrl.Result{}, nil
	}
	if !t.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if isPaused, err := r.isPaused(ctx, t); isPaused || err != nil {
		return ctrl.Result{}, err
	}
	before := t.DeepCopy()
	t.Status = templateStatus(&t.Spec.Template.Spec)
	if equality.Semantic.DeepEqual(before.Status, t.Status) {
		return ctrl.Result{}, nil
	}
	err := r.Client.Status().Patch(ctx, t, client.MergeFrom(before))
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// isPaused reports whether the template or its Cluster is paused. A template
// without a Cluster, or whose Cluster is gone, is paused only by its own
// annotation.
func (r *Reconciler) isPaused(ctx context.Context, t *infrav1.MaasMachineTemplate) (bool, error) {
	if annotations.HasPaused(t) {
		return true, nil
	}
	name := clusterNameOf(t)
	if name == "" {
		return false, nil
	}
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, cluster); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return annotations.IsPaused(cluster, t), nil
}

// clusterNameOf returns the name of a template's Cluster: that of its owner,
// else, in a topology, that of its label. Empty: it has no Cluster yet.
func clusterNameOf(t *infrav1.MaasMachineTemplate) string {
	for _, owner := range t.OwnerReferences {
		if owner.Kind == clusterv1.ClusterKind {
			return owner.Name
		}
	}
	return t.Labels[clusterv1.ClusterNameLabel]
}

// templatesOfCluster lists the templates of a Cluster.
func (r *Reconciler) templatesOfCluster(ctx context.Context, o client.Object) []reconcile.Request {
	templates := &infrav1.MaasMachineTemplateList{}
	if err := r.Client.List(ctx, templates, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the templates of a cluster", "cluster", o.GetName())
		return nil
	}
	var requests []reconcile.Request
	for n := range templates.Items {
		if t := &templates.Items[n]; clusterNameOf(t) == o.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(t)})
		}
	}
	return requests
}

// templateStatus returns the least resources of the template's Nodes. A VM has
// exactly these; bare metal may have more. A spec that contradicts itself makes
// no Node.
func templateStatus(spec *infrav1.MaasMachineSpec) infrav1.MaasMachineTemplateStatus {
	want, errs := spec.Resolve(field.NewPath("spec"))
	if len(errs) > 0 {
		return infrav1.MaasMachineTemplateStatus{}
	}
	capacity := corev1.ResourceList{}
	if want.Cores > 0 {
		capacity[corev1.ResourceCPU] = *resource.NewQuantity(int64(want.Cores), resource.DecimalSI)
	}
	if want.MemoryMiB > 0 {
		capacity[corev1.ResourceMemory] = *resource.NewQuantity(want.MemoryMiB<<20, resource.BinarySI)
	}
	diskGB := want.MinDiskGB
	if want.VM != nil {
		diskGB = want.VM.Disks[0].SizeGB
	}
	if diskGB > 0 {
		capacity[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(diskGB*1e9, resource.DecimalSI)
	}
	return infrav1.MaasMachineTemplateStatus{Capacity: capacity, NodeInfo: infrav1.NodeInfo{OperatingSystem: "linux"}}
}

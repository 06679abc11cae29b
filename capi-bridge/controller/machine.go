package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// MachineReconciler keeps MaasMachines as they are wanted. One reconcile takes
// one step of the engine. SetupWithManager makes it a controller.
type MachineReconciler struct {
	Client client.Client
	// APIReader reads past the cache: bootstrap data are Secrets, which are
	// fetched one by one and never kept.
	APIReader client.Reader
	Sites     Sites
	// Workloads reaches the Nodes of clusters. Nil: their providerIDs are left
	// to others.
	Workloads Workloads
	// Published is what is known of the names of clusters, by whose reconcilers
	// they are published. Nil: MAAS is asked each time.
	Published *Publications
	Recorder  events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that
	// objects must have; empty: all are reconciled.
	WatchFilter string
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	wakes wakes
	tells teller
}

func (r *MachineReconciler) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// Reconcile implements reconcile.Reconciler.
func (r *MachineReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &infrav1.MaasMachine{}
	if err := r.Client.Get(ctx, req.NamespacedName, m); err != nil {
		r.wakes.forget(req.NamespacedName)
		if apierrors.IsNotFound(err) {
			r.tells.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(m, r.WatchFilter) {
		r.wakes.forget(req.NamespacedName) // what wakes it need not carry its label
		return ctrl.Result{}, nil
	}
	if annotations.IsExternallyManaged(m) {
		return ctrl.Result{}, nil
	}
	s, err := r.scope(ctx, m)
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	isPaused, written, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, m)
	switch {
	case err != nil:
		return ctrl.Result{}, ignoreConflict(err)
	case isPaused:
		r.wakes.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	case written:
		return ctrl.Result{RequeueAfter: rereadAfter}, nil
	}
	return r.reconcilePatching(ctx, s)
}

// reconcilePatching does what is to be done and writes down, in one patch, what
// came of it.
func (r *MachineReconciler) reconcilePatching(ctx context.Context, s *machineScope) (ctrl.Result, error) {
	if s.deleting() && s.untouched() {
		return r.letGoUntouched(ctx, s)
	}
	if err := r.hold(ctx, s); err != nil {
		return ctrl.Result{RequeueAfter: rereadAfter}, ignoreConflict(err)
	}
	helper, err := patch.NewHelper(s.maasMachine, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := s.maasMachine.DeepCopy()
	var pause time.Duration
	if s.deleting() {
		pause = r.reconcileDelete(ctx, s)
	} else {
		pause = r.reconcileNormal(ctx, s)
	}
	if err := ctx.Err(); err != nil {
		return ctrl.Result{}, err // what was seen is of a manager that is going away
	}
	s.sumUp()
	s.news = append(s.news, changed(before, s.maasMachine)...)
	err = helper.Patch(ctx, s.maasMachine, patch.WithOwnedConditions{Conditions: ownedConditions})
	if s.deleting() {
		err = ignoreGone(err)
	}
	r.tells.tell(r.Recorder, s.maasMachine, s.news, err)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cannot write down what was seen: %w", err)
	}
	return ctrl.Result{RequeueAfter: pause}, nil
}

// scope fetches what the machine hangs on. Nil: something of it is not there
// yet, and its coming wakes us. What is being deleted needs none of it.
func (r *MachineReconciler) scope(ctx context.Context, m *infrav1.MaasMachine) (*machineScope, error) {
	s := &machineScope{maasMachine: m}
	log := ctrl.LoggerFrom(ctx)
	var err error
	s.machine, err = util.GetOwnerMachine(ctx, r.Client, m.ObjectMeta)
	switch {
	case err != nil && !(s.deleting() && apierrors.IsNotFound(err)):
		return nil, fmt.Errorf("cannot read the Machine of %s: %w", m.Name, err)
	case s.machine == nil && !s.deleting():
		log.V(4).Info("no Machine owns it yet")
		return nil, nil
	}
	meta := m.ObjectMeta
	if s.machine != nil {
		meta = s.machine.ObjectMeta
	}
	s.cluster, err = util.GetClusterFromMetadata(ctx, r.Client, meta)
	absent := apierrors.IsNotFound(err) || errors.Is(err, util.ErrNoCluster)
	switch {
	case err != nil && !absent:
		return nil, fmt.Errorf("cannot read the Cluster of %s: %w", m.Name, err)
	case absent && !s.deleting():
		log.V(4).Info("no Cluster of it is there yet")
		return nil, nil
	case absent:
		return s, nil
	}
	return r.withMaasCluster(ctx, s)
}

func (r *MachineReconciler) withMaasCluster(ctx context.Context, s *machineScope) (*machineScope, error) {
	key := client.ObjectKey{Namespace: s.cluster.Namespace, Name: s.cluster.Spec.InfrastructureRef.Name}
	c := &infrav1.MaasCluster{}
	err := r.Client.Get(ctx, key, c)
	switch {
	case err == nil:
		s.maasCluster = c
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read the MaasCluster %s: %w", key.Name, err)
	case !s.deleting():
		ctrl.LoggerFrom(ctx).V(4).Info("its MaasCluster is not there yet", "maasCluster", key.Name)
		return nil, nil
	}
	return s, nil
}

// hold puts the finalizer on the object and, once it is about to be made, notes
// by which key the engine knows the machine and of which kind it is. That is
// written before the engine is asked for anything. A machine that another provider
// made is held whatever its spec says, which can no longer change. It fails where the
// object has changed since it was read: it may be going by now.
func (r *MachineReconciler) hold(ctx context.Context, s *machineScope) error {
	if s.deleting() {
		return nil
	}
	before := s.maasMachine.DeepCopy()
	changed := controllerutil.AddFinalizer(s.maasMachine, infrav1.MachineFinalizer)
	if changed && !s.claimed() {
		s.isNew()
	}
	if !s.claimed() && !s.grasping() && s.gates() == nil && (s.resolve() == nil || systemIDOf(s.maasMachine) != "") {
		s.mark(s.maasMachine)
		changed = true
	}
	if !changed {
		return nil
	}
	return r.Client.Patch(ctx, s.maasMachine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// isNew notes that no provider held the object before: its finalizer was missing.
func (s *machineScope) isNew() {
	m := s.maasMachine
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[InheritedAnnotation] = inheritanceNone
}

// ignoreConflict lets a change pass that came in between: it wakes us.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ignoreGone lets the last patch of an object pass that its own finalizer let go.
func ignoreGone(err error) error {
	var several kerrors.Aggregate
	if errors.As(err, &several) {
		return kerrors.FilterOut(several, apierrors.IsNotFound)
	}
	return client.IgnoreNotFound(err)
}

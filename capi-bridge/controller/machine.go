package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util"
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
	// ManagementCluster tells this cluster from others, whoever calls it what: the
	// UID of its namespace kube-system. Machines are marked with it.
	ManagementCluster string
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	indexed bool // MaasMachines can be listed by systemIDIndex
	wakes   wakes
	tells   teller
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
	s, err := r.scope(ctx, m)
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	ctx = s.withLogKeys(ctx)
	isPaused, written, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, m)
	switch {
	case err != nil:
		return ctrl.Result{}, ignoreConflict(err)
	case isPaused:
		r.wakes.forget(req.NamespacedName)
		return r.noteArrival(ctx, s)
	case written:
		return ctrl.Result{RequeueAfter: rereadAfter}, nil
	}
	if noted, err := r.noteOrigin(ctx, s); noted || err != nil {
		return ctrl.Result{RequeueAfter: rereadAfter}, ignoreConflict(err)
	}
	if s.maasCluster == nil && !s.deleting() {
		return r.withoutMaasCluster(ctx, s)
	}
	return r.reconcilePatching(ctx, s)
}

// withLogKeys names in each line of the log what the object hangs on, by the keys that
// all of Cluster API's providers use.
func (s *machineScope) withLogKeys(ctx context.Context) context.Context {
	log := ctrl.LoggerFrom(ctx)
	if s.cluster != nil {
		log = log.WithValues("Cluster", klog.KObj(s.cluster))
	}
	if s.machine != nil {
		log = log.WithValues("Machine", klog.KObj(s.machine))
		for _, owner := range s.machine.OwnerReferences {
			log = log.WithValues(owner.Kind, klog.KRef(s.machine.Namespace, owner.Name))
		}
	}
	return ctrl.LoggerInto(ctx, log)
}

// logWarnings logs each new failure once, as it is told by an event, too.
func logWarnings(ctx context.Context, all []news) {
	for _, n := range all {
		if n.kind == corev1.EventTypeWarning {
			ctrl.LoggerFrom(ctx).Info(n.note, "condition", n.about, "reason", n.reason)
		}
	}
}

// reconcilePatching does what is to be done and writes down, in one patch, what
// came of it.
func (r *MachineReconciler) reconcilePatching(ctx context.Context, s *machineScope) (ctrl.Result, error) {
	if s.deleting() {
		if s.ownerUnknown = r.checkOwner(ctx, s); s.ownerUnknown == nil && (s.untouched() || s.refused != nil) {
			return r.letGoUntouched(ctx, s)
		}
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
	logWarnings(ctx, s.news)
	err = helper.Patch(ctx, s.maasMachine, patch.WithOwnedConditions{Conditions: ownedConditions})
	if s.deleting() {
		err = r.unlessGone(ctx, s.maasMachine, err)
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
	s := &machineScope{maasMachine: m, management: r.ManagementCluster}
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

// maasClusterKind is the kind of the infrastructure of clusters that are ours.
const maasClusterKind = "MaasCluster"

// withMaasCluster reads the MaasCluster that the Cluster names. Where it names
// another provider's object, or one that is not there, there is none.
func (r *MachineReconciler) withMaasCluster(ctx context.Context, s *machineScope) (*machineScope, error) {
	ref := s.cluster.Spec.InfrastructureRef
	if ref.Kind != maasClusterKind || ref.APIGroup != infrav1.GroupVersion.Group {
		return s, nil
	}
	key := client.ObjectKey{Namespace: s.cluster.Namespace, Name: ref.Name}
	c := &infrav1.MaasCluster{}
	err := r.Client.Get(ctx, key, c)
	switch {
	case err == nil:
		s.maasCluster = c
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read the MaasCluster %s: %w", key.Name, err)
	}
	return s, nil
}

// withoutMaasCluster says that nobody tells in which MAAS the machine is, or is to
// be. What was seen of one that runs still stands. The MaasCluster's coming wakes us.
func (r *MachineReconciler) withoutMaasCluster(ctx context.Context, s *machineScope) (ctrl.Result, error) {
	helper, err := patch.NewHelper(s.maasMachine, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	ref := s.cluster.Spec.InfrastructureRef
	message := fmt.Sprintf("cluster %s names no MaasCluster of this namespace that there is (infrastructureRef: %s %s). It says in which MAAS the machine is to be: make it, or mend infrastructureRef",
		s.cluster.Name, ref.Kind, ref.Name)
	if !s.provisioned() || s.conditionMissing(infrav1.MachineDeployedCondition) {
		s.notDeleting()
		s.lacks(infrav1.MachineDeployedCondition, infrav1.WaitingForClusterInfrastructureReason, message)
	}
	ctrl.LoggerFrom(ctx).Info("the machine's Cluster has no MaasCluster", "infrastructureRef", ref.Name, "kind", ref.Kind)
	s.sumUp()
	return ctrl.Result{}, ignoreConflict(helper.Patch(ctx, s.maasMachine, patch.WithOwnedConditions{Conditions: ownedConditions}))
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
		annotate(s.maasMachine, InheritedAnnotation, inheritanceNone) // no provider held the object before
	}
	if s.ownerUnknown = r.checkOwner(ctx, s); s.mayClaim() {
		s.mark(s.maasMachine)
		changed = true
	}
	if !changed {
		return nil
	}
	return r.Client.Patch(ctx, s.maasMachine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// mayClaim tells that the engine is about to be asked for the machine for the first
// time.
func (s *machineScope) mayClaim() bool {
	return !s.claimed() && s.refused == nil && s.ownerUnknown == nil && s.gates() == nil &&
		(s.resolve() == nil || systemIDOf(s.maasMachine) != "")
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

// unlessGone is ignoreGone for an object whose status may fail to be written in another
// way, too: then the object is looked for. What is to be told of it is told now or never.
func (r *MachineReconciler) unlessGone(ctx context.Context, m *infrav1.MaasMachine, err error) error {
	err = ignoreGone(err)
	if err == nil || len(m.Finalizers) > 0 {
		return err
	}
	if apierrors.IsNotFound(r.APIReader.Get(ctx, client.ObjectKeyFromObject(m), &infrav1.MaasMachine{})) {
		return nil
	}
	return err
}

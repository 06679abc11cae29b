// Package machine reconciles MaasMachines. A reconcile lets the engine take one
// step, and writes down what it saw.
package machine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/labels"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
)

// Reconciler reconciles MaasMachines. One reconcile takes one step of the
// engine. SetupWithManager makes it a controller.
type Reconciler struct {
	Client client.Client
	// APIReader reads past the cache. Bootstrap data are Secrets, which are
	// read one by one and never cached.
	APIReader client.Reader
	Sites     controller.Sites
	// Workloads reaches the Nodes of clusters. nil: somebody else sets their
	// providerIDs.
	Workloads controller.Workloads
	// Published holds the addresses of the clusters' names, from the reconciler
	// that publishes them. nil: MAAS is asked each time.
	Published *endpoint.Publications
	Recorder  events.EventRecorder
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter that
	// objects must have; empty: all are reconciled.
	WatchFilter string
	// ManagementCluster identifies this management cluster: it is the UID of
	// its namespace kube-system. Machines are marked with it.
	ManagementCluster string
	// RecordsAttempts: the ledger ends with the manager, so each attempt to
	// make a VM is also recorded in its object's annotations.
	RecordsAttempts bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	indexed bool // MaasMachines can be listed by ownership.SystemIDIndex
	wakeups wakeups
	outbox  outbox.Outbox
}

func (r *Reconciler) currentTime() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &infrav1.MaasMachine{}
	if err := r.Client.Get(ctx, req.NamespacedName, m); err != nil {
		r.wakeups.forget(req.NamespacedName)
		if apierrors.IsNotFound(err) {
			r.outbox.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && !labels.HasWatchLabel(m, r.WatchFilter) {
		r.wakeups.forget(req.NamespacedName) // an object that wakes it may lack the label
		return ctrl.Result{}, nil
	}
	s, err := r.newScope(ctx, m)
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	ctx = s.withLogKeys(ctx)
	isPaused, written, err := paused.EnsurePausedCondition(ctx, r.Client, s.cluster, m)
	switch {
	case err != nil:
		return ctrl.Result{}, problem.IgnoreConflict(err)
	case isPaused:
		r.wakeups.forget(req.NamespacedName)
		return claim{s}.noteArrival(ctx)
	case written:
		return ctrl.Result{RequeueAfter: requeue.StaleCacheAfter}, nil
	}
	if noted, err := (claim{s}).noteOrigin(ctx); noted || err != nil {
		return ctrl.Result{RequeueAfter: requeue.StaleCacheAfter}, problem.IgnoreConflict(err)
	}
	if s.maasCluster == nil && !s.IsDeleting() {
		return s.reportMissingMaasCluster(ctx)
	}
	return s.reconcileAndPatch(ctx)
}

// reconcileAndPatch takes the steps that are due, and writes the result in one
// patch.
func (s *scope) reconcileAndPatch(ctx context.Context) (ctrl.Result, error) {
	if s.IsDeleting() {
		if s.ownershipErr = (claim{s}).checkOwnership(ctx); s.ownershipErr == nil && (s.IsUntouched() || s.refusal != nil) {
			return deletion{s}.releaseUntouchedObject(ctx)
		}
	}
	if err := (claim{s}).ensure(ctx); err != nil {
		return ctrl.Result{RequeueAfter: requeue.StaleCacheAfter}, problem.IgnoreConflict(err)
	}
	helper, err := patch.NewHelper(s.MaasMachine, s.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := s.MaasMachine.DeepCopy()
	var pause time.Duration
	if s.IsDeleting() {
		pause = deletion{s}.reconcile(ctx)
	} else {
		pause = s.reconcileNormal(ctx)
	}
	if err := ctx.Err(); err != nil {
		return ctrl.Result{}, err // a manager that is stopping writes nothing
	}
	s.setReady()
	s.events = append(s.events, machineEvents(before, s.MaasMachine)...)
	outbox.LogWarnings(ctx, s.events)
	err = helper.Patch(ctx, s.MaasMachine, patch.WithOwnedConditions{Conditions: ownedConditions})
	if s.IsDeleting() {
		err = s.ignoreGoneObject(ctx, s.MaasMachine, err)
	}
	s.outbox.Send(s.Recorder, s.MaasMachine, s.events, err)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("cannot write the status: %w", err)
	}
	return ctrl.Result{RequeueAfter: pause}, nil
}

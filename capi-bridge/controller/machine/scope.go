package machine

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/patch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/engine"
)

// scope is one reconcile of a MaasMachine, with what that hangs on.
type scope struct {
	*Reconciler
	ownership.Record
	cluster     *clusterv1.Cluster   // nil: gone, and the machine is being deleted
	machine     *clusterv1.Machine   // likewise
	maasCluster *infrav1.MaasCluster // likewise

	rival   *infrav1.MaasMachine  // with a better right to the machine
	refusal *problem.BlockedError // why the object has no right to it; nil: it has
	// ownershipErr is why it could not be told whether it has.
	ownershipErr error

	want   infrav1.ResolvedMachine
	hosts  *infrav1.ResolvedHosts // nil: machines do not become LXD hosts
	site   *controller.Site
	events []outbox.Event // what is told once this reconcile is written down
}

// newScope fetches what the machine hangs on. Nil: something of it is not there
// yet, and its coming wakes us. What is being deleted needs none of it.
func (r *Reconciler) newScope(ctx context.Context, m *infrav1.MaasMachine) (*scope, error) {
	s := &scope{Reconciler: r, Record: ownership.Record{MaasMachine: m, Management: r.ManagementCluster}}
	log := ctrl.LoggerFrom(ctx)
	var err error
	s.machine, err = util.GetOwnerMachine(ctx, r.Client, m.ObjectMeta)
	switch {
	case err != nil && !(s.IsDeleting() && apierrors.IsNotFound(err)):
		return nil, fmt.Errorf("cannot read the Machine of %s: %w", m.Name, err)
	case s.machine == nil && !s.IsDeleting():
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
	case absent && !s.IsDeleting():
		log.V(4).Info("no Cluster of it is there yet")
		return nil, nil
	case absent:
		return s, nil
	}
	return s.readMaasCluster(ctx)
}

// readMaasCluster reads the MaasCluster that the Cluster names. Where it names
// another provider's object, or one that is not there, there is none.
func (s *scope) readMaasCluster(ctx context.Context) (*scope, error) {
	ref := s.cluster.Spec.InfrastructureRef
	if ref.Kind != maasClusterKind || ref.APIGroup != infrav1.GroupVersion.Group {
		return s, nil
	}
	key := client.ObjectKey{Namespace: s.cluster.Namespace, Name: ref.Name}
	c := &infrav1.MaasCluster{}
	err := s.Client.Get(ctx, key, c)
	switch {
	case err == nil:
		s.maasCluster = c
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read the MaasCluster %s: %w", key.Name, err)
	}
	return s, nil
}

// withLogKeys names in each line of the log what the object hangs on, by the keys that
// all of Cluster API's providers use.
func (s *scope) withLogKeys(ctx context.Context) context.Context {
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

// reportMissingMaasCluster says that nobody tells in which MAAS the machine is, or is to
// be. What was seen of one that runs still stands. The MaasCluster's coming wakes us.
func (s *scope) reportMissingMaasCluster(ctx context.Context) (ctrl.Result, error) {
	helper, err := patch.NewHelper(s.MaasMachine, s.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	ref := s.cluster.Spec.InfrastructureRef
	message := fmt.Sprintf("cluster %s names no MaasCluster of this namespace that there is (infrastructureRef: %s %s). It says in which MAAS the machine is to be: make it, or mend infrastructureRef",
		s.cluster.Name, ref.Kind, ref.Name)
	if !s.IsProvisioned() || s.isConditionMissing(infrav1.MachineDeployedCondition) {
		s.setNotDeleting()
		s.setFalse(infrav1.MachineDeployedCondition, infrav1.WaitingForClusterInfrastructureReason, message)
	}
	ctrl.LoggerFrom(ctx).Info("the machine's Cluster has no MaasCluster", "infrastructureRef", ref.Name, "kind", ref.Kind)
	s.setReady()
	return ctrl.Result{}, problem.IgnoreConflict(helper.Patch(ctx, s.MaasMachine, patch.WithOwnedConditions{Conditions: ownedConditions}))
}

// isControlPlane tells that the machine is one of the cluster's control plane.
func (s *scope) isControlPlane() bool {
	if s.machine != nil {
		return util.IsControlPlaneMachine(s.machine)
	}
	_, ok := s.MaasMachine.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// engineRef is the machine as the engine knows it.
func (s *scope) engineRef() engine.Ref {
	ref := engine.Ref{
		Key: s.EngineKey(), Name: s.VMName(), SystemID: s.SystemID(),
		Finished: s.IsProvisioned() && s.Kind() != ownership.KindHost,
	}
	if s.site != nil {
		ref.Release.Credentials = s.site.Credentials
	}
	return ref
}

// failureDomain is the availability zone that the machine must be in; empty:
// any. That of the Machine counts, where it has one.
func (s *scope) failureDomain() string {
	if s.machine != nil && s.machine.Spec.FailureDomain != "" {
		return s.machine.Spec.FailureDomain
	}
	return s.want.FailureDomain
}

// resolveSpec reads the specs. Its error says what they contradict themselves in.
func (s *scope) resolveSpec() error {
	var errs, more field.ErrorList
	s.want, errs = s.MaasMachine.Spec.Resolve(field.NewPath("spec"))
	if s.maasCluster != nil && s.want.Mode == infrav1.ProvisioningModeBareMetal {
		s.hosts, more = s.maasCluster.Spec.ResolveHosts(field.NewPath("spec"))
	}
	if len(more) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("MaasCluster"), fmt.Sprintf("%s: %v", s.maasCluster.Name, more.ToAggregate())))
	}
	if len(errs) == 0 {
		return nil
	}
	return &problem.BlockedError{Reason: infrav1.InvalidSpecReason, Message: errs.ToAggregate().Error()}
}

// maasClusterKind is the kind of the infrastructure of clusters that are ours.
const maasClusterKind = "MaasCluster"

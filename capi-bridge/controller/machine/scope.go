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

// scope is one reconcile of a MaasMachine, with the objects that it depends on.
type scope struct {
	*Reconciler
	ownership.Record
	cluster     *clusterv1.Cluster   // nil: gone, and the machine is being deleted
	machine     *clusterv1.Machine   // likewise
	maasCluster *infrav1.MaasCluster // likewise

	rival   *infrav1.MaasMachine  // another object, with a better right to the machine
	refusal *problem.BlockedError // why the object has no right to the machine; nil: it has
	// ownershipErr says why the right could not be found out.
	ownershipErr error

	want   infrav1.ResolvedMachine
	hosts  *infrav1.ResolvedHosts // nil: machines do not become LXD hosts
	site   *controller.Site
	events []outbox.Event // to send once this reconcile is written
}

// newScope reads the objects that the machine depends on. nil: one of them does
// not exist yet, and its creation wakes us. An object that is being deleted
// needs none of them.
func (r *Reconciler) newScope(ctx context.Context, m *infrav1.MaasMachine) (*scope, error) {
	s := &scope{Reconciler: r, Record: ownership.Record{MaasMachine: m, Management: r.ManagementCluster}}
	log := ctrl.LoggerFrom(ctx)
	var err error
	s.machine, err = util.GetOwnerMachine(ctx, r.Client, m.ObjectMeta)
	switch {
	case err != nil && !(s.IsDeleting() && apierrors.IsNotFound(err)):
		return nil, fmt.Errorf("cannot read the Machine of %s: %w", m.Name, err)
	case s.machine == nil && !s.IsDeleting():
		log.V(4).Info("no Machine owns the MaasMachine yet")
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
		log.V(4).Info("the Cluster of the MaasMachine does not exist yet")
		return nil, nil
	case absent:
		return s, nil
	}
	return s.readMaasCluster(ctx)
}

// readMaasCluster reads the MaasCluster that the Cluster names. It is nil where
// the Cluster names another provider's object, or a missing one.
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

// withLogKeys adds the objects that the machine depends on to each log line,
// under the keys that all Cluster API providers use.
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

// reportMissingMaasCluster reports that the MAAS of the machine is unknown. The
// last observation of a running machine still stands. The MaasCluster's
// creation wakes us.
func (s *scope) reportMissingMaasCluster(ctx context.Context) (ctrl.Result, error) {
	helper, err := patch.NewHelper(s.MaasMachine, s.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	ref := s.cluster.Spec.InfrastructureRef
	message := fmt.Sprintf("the MaasCluster of cluster %s does not exist in this namespace (infrastructureRef: %s %s). It names the MAAS of the machine: create it, or correct infrastructureRef",
		s.cluster.Name, ref.Kind, ref.Name)
	if !s.IsProvisioned() || s.isConditionMissing(infrav1.MachineDeployedCondition) {
		s.setNotDeleting()
		s.setFalse(infrav1.MachineDeployedCondition, infrav1.WaitingForClusterInfrastructureReason, message)
	}
	ctrl.LoggerFrom(ctx).Info("the machine's Cluster has no MaasCluster", "infrastructureRef", ref.Name, "kind", ref.Kind)
	s.setReady()
	return ctrl.Result{}, problem.IgnoreConflict(helper.Patch(ctx, s.MaasMachine, patch.WithOwnedConditions{Conditions: ownedConditions}))
}

// isControlPlane reports whether the machine belongs to the cluster's control
// plane.
func (s *scope) isControlPlane() bool {
	if s.machine != nil {
		return util.IsControlPlaneMachine(s.machine)
	}
	_, ok := s.MaasMachine.Labels[clusterv1.MachineControlPlaneLabel]
	return ok
}

// engineRef returns the engine's reference to the machine.
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

// failureDomain returns the machine's availability zone; empty: any. The
// Machine's zone comes before that of the spec.
func (s *scope) failureDomain() string {
	if s.machine != nil && s.machine.Spec.FailureDomain != "" {
		return s.machine.Spec.FailureDomain
	}
	return s.want.FailureDomain
}

// resolveSpec resolves the specs. Its error lists their contradictions.
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

// maasClusterKind is the infrastructure kind of our clusters.
const maasClusterKind = "MaasCluster"

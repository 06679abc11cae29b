package cluster

import (
	"cmp"
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// reconcileNormal takes a MaasCluster towards its spec. Problems with MAAS
// become conditions. The error is the API server's.
func (s *scope) reconcileNormal(ctx context.Context) error {
	s.requeueWithin(requeue.WithJitter(requeue.SteadyInterval))
	s.setCondition(infrav1.DeletingCondition, metav1.ConditionFalse, infrav1.NotDeletingReason, "")
	s.reportHosts()
	s.reportAPIServer(ctx)
	if !s.findSite(ctx) {
		return nil
	}
	zoned, unread := failureDomains{s}.reconcile(ctx)
	named, err := apiRecord{s}.reconcile(ctx) // a running cluster needs its record, even where the zones cannot be found out
	if err := errors.Join(unread, err); err != nil {
		return err
	}
	if s.keyAccepted && !s.keyRefused {
		s.noteRegion(ctx)
		s.setCondition(infrav1.IdentityReadyCondition, metav1.ConditionTrue, infrav1.IdentityReadyReason, "")
	}
	if zoned && named {
		s.maasCluster.Status.Initialization.Provisioned = ptr.To(true)
	}
	s.maasCluster.Status.Ready = ptr.Deref(s.maasCluster.Status.Initialization.Provisioned, false)
	return nil
}

// reportIdentityError reports a problem with the credentials.
func (s *scope) reportIdentityError(err error) {
	p := problem.FromError(err)
	if missing, ok := errors.AsType[*controller.CredentialsError](err); ok {
		p.Reason = cmp.Or(missing.Reason, p.Reason)
	}
	s.setCondition(infrav1.IdentityReadyCondition, metav1.ConditionFalse, p.Reason, p.Message)
	s.requeueWithin(requeue.WithJitter(p.RetryAfter))
}

// reportError turns an error of MAAS into a condition. If MAAS refuses the key,
// it reports that of the identity as well.
func (s *scope) reportError(condition string, err error) {
	p := problem.FromError(err)
	if errors.Is(err, engine.ErrForbidden) {
		s.keyRefused = true
		s.setCondition(infrav1.IdentityReadyCondition, metav1.ConditionFalse, infrav1.CredentialsRefusedReason, p.Message)
		p.Reason, p.RetryAfter = infrav1.IdentityNotReadyReason, min(p.RetryAfter, cmp.Or(s.site.KeyRecheckAfter, requeue.CredentialsAfter)) // until the key is read again
	}
	if condition == infrav1.DNSReadyCondition && p.Reason == infrav1.MAASRefusedReason {
		p.Reason = infrav1.DNSFailedReason
	}
	s.setCondition(condition, metav1.ConditionFalse, p.Reason, p.Message)
	s.requeueWithin(requeue.WithJitter(p.RetryAfter))
}

// reportAPIServer reports whether the cluster's API answers.
func (s *scope) reportAPIServer(ctx context.Context) {
	message := "the control plane is not initialised yet"
	if s.Workloads != nil && s.cluster != nil && ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false) {
		_, err := s.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
		if err == nil {
			s.setCondition(infrav1.APIServerAvailableCondition, metav1.ConditionTrue, infrav1.APIServerAvailableReason, "")
			return
		}
		message = "the API of the cluster cannot be reached"
	}
	s.setCondition(infrav1.APIServerAvailableCondition, metav1.ConditionFalse, infrav1.APIServerNotReadyReason, message)
}

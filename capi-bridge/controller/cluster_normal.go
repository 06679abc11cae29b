package controller

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// normal brings a MaasCluster to what is wanted. What MAAS says against it
// becomes a condition; errors are the API server's.
func (s *clusterScope) normal(ctx context.Context) error {
	s.soon(jittered(restEvery))
	s.set(infrav1.DeletingCondition, no, infrav1.NotDeletingReason, "")
	s.reportHosts()
	s.reportAPI(ctx)
	if !s.findSite(ctx) {
		return nil
	}
	zoned, unread := s.reconcileZones(ctx)
	named, err := s.reconcileDNS(ctx) // a cluster that runs needs it, whatever cannot be read for another machine
	if err := errors.Join(unread, err); err != nil {
		return err
	}
	if s.answered && !s.denied {
		s.noteRegion(ctx)
		s.set(infrav1.IdentityReadyCondition, yes, infrav1.IdentityReadyReason, "")
	}
	if zoned && named {
		s.maas.Status.Initialization.Provisioned = ptr.To(true)
	}
	s.maas.Status.Ready = ptr.Deref(s.maas.Status.Initialization.Provisioned, false)
	return nil
}

// findSite finds the MAAS of the cluster, or says why there is none.
func (s *clusterScope) findSite(ctx context.Context) bool {
	site, err := siteOf(ctx, s.Sites, s.maas)
	s.site = site
	switch {
	case site == nil:
		s.identityFailed(err)
	case err != nil: // nobody knows which MAAS this is
		s.failed(infrav1.FailureDomainsReadyCondition, err)
	}
	return err == nil
}

// identityFailed says what is wrong with the credentials.
func (s *clusterScope) identityFailed(err error) {
	p := explain(err)
	if missing, ok := errors.AsType[*CredentialsError](err); ok {
		p.reason = cmp.Or(missing.Reason, p.reason)
	}
	s.set(infrav1.IdentityReadyCondition, no, p.reason, p.message)
	s.soon(jittered(p.after))
}

// failed makes an error of MAAS a condition. That MAAS refuses the key is said of
// the identity, too.
func (s *clusterScope) failed(condition string, err error) {
	p := explain(err)
	if errors.Is(err, engine.ErrForbidden) {
		s.denied = true
		s.set(infrav1.IdentityReadyCondition, no, infrav1.CredentialsRefusedReason, p.message)
		p.reason, p.after = infrav1.IdentityNotReadyReason, min(p.after, cmp.Or(s.site.Anew, anewAfter)) // until the key is read again
	}
	if condition == infrav1.DNSReadyCondition && p.reason == infrav1.MAASRefusedReason {
		p.reason = infrav1.DNSFailedReason
	}
	s.set(condition, no, p.reason, p.message)
	s.soon(jittered(p.after))
}

// reportAPI says whether the cluster's API answers.
func (s *clusterScope) reportAPI(ctx context.Context) {
	message := "the control plane is not initialised yet"
	if s.Workloads != nil && s.cluster != nil && ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false) {
		_, err := s.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
		if err == nil {
			s.set(infrav1.APIServerAvailableCondition, yes, infrav1.APIServerAvailableReason, "")
			return
		}
		message = "the API of the cluster cannot be reached"
	}
	s.set(infrav1.APIServerAvailableCondition, no, infrav1.APIServerNotReadyReason, message)
}

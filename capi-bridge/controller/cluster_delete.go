package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// delete waits for the cluster's machines, whose DNS record is kept until then,
// removes the record, and lets the object go.
func (s *clusterScope) delete(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(s.maas, infrav1.ClusterFinalizer) {
		return nil
	}
	if len(s.machines) > 0 {
		return s.awaitMachines(ctx)
	}
	s.Published.forget(client.ObjectKeyFromObject(s.maas))
	removed, err := s.removeDNS(ctx)
	if removed {
		s.set(infrav1.DeletingCondition, yes, infrav1.DeletionCompletedReason, "")
		controllerutil.RemoveFinalizer(s.maas, infrav1.ClusterFinalizer)
		s.next = 0
	}
	return err
}

// awaitMachines keeps the record up to date meanwhile: a machine that goes while
// others serve is taken out of it first.
func (s *clusterScope) awaitMachines(ctx context.Context) error {
	s.soon(jittered(retryAfter)) // they wake us when they are gone
	s.set(infrav1.DeletingCondition, yes, infrav1.WaitingForMachinesReason, fmt.Sprintf("waiting for %d MaasMachines to go: %s", len(s.machines), s.someNames()))
	name, published := s.dnsName()
	if !published || s.maas.Annotations[DNSNameAnnotation] != name.String() || !s.findSite(ctx) || !s.mayUseDomain() {
		return nil
	}
	if may, err := s.mayUseName(ctx, name); !may || err != nil {
		return err
	}
	if !s.claim(ctx, name) {
		return nil // it came from elsewhere, and the record is not known to be its own
	}
	return s.publish(ctx, name)
}

// someNames are those of the first machines.
func (s *clusterScope) someNames() string {
	const most = 5
	var names []string
	for i := range s.machines {
		if i == most {
			names = append(names, "…")
			break
		}
		names = append(names, s.machines[i].Name)
	}
	return strings.Join(names, ", ")
}

// ownName is the name whose record is the cluster's: the one that was written down,
// or that an earlier provider published for a cluster which we see only as it goes.
// Under the annotation that somebody else publishes the endpoint there is none.
func (s *clusterScope) ownName() (engine.DNSName, bool) {
	return publishedName(s.maas, cmp.Or(s.maas.Annotations[DNSNameAnnotation], earlierName(s.maas)))
}

// removeDNS removes the record that is the cluster's, if there ever was one, and
// reports whether nothing is left of it. The error is the API server's.
func (s *clusterScope) removeDNS(ctx context.Context) (bool, error) {
	name, ok := s.ownName()
	if !ok {
		return true, nil
	}
	if s.isUnproven() {
		ctrl.LoggerFrom(ctx).Info("only the object's annotations say that the DNS record is the cluster's: it is left as it is", "name", name.String())
		return true, nil
	}
	if !s.findSite(ctx) {
		s.set(infrav1.DeletingCondition, yes, infrav1.DeletionBlockedReason, fmt.Sprintf(
			"cannot remove the DNS record %s without credentials for MAAS. Bring them back; or remove the record in MAAS, and take the finalizer %s off", name, infrav1.ClusterFinalizer))
		return false, nil
	}
	rival, err := s.nameRival(ctx, name)
	switch {
	case err != nil:
		return false, err
	case rival != nil:
		ctrl.LoggerFrom(ctx).Info("the DNS record is another cluster's, and is left as it is", "name", name.String(), "MaasCluster", client.ObjectKeyFromObject(rival))
		return true, nil
	}
	if err := s.site.DNS.RemoveDNS(ctx, name); err != nil && !isNoDomain(err) {
		s.failed(infrav1.DNSReadyCondition, err)
		s.set(infrav1.DeletingCondition, yes, infrav1.RemovingDNSReason, explain(err).message)
		return false, nil
	}
	ctrl.LoggerFrom(ctx).Info("removed the DNS record of the cluster", "name", name.String())
	return true, nil
}

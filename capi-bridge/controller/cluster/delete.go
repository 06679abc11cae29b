package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// deletion removes a cluster from MAAS and releases its object.
type deletion struct{ *scope }

// reconcile waits for the cluster's machines, removes the DNS record after
// them, and then removes the finalizer.
func (s deletion) reconcile(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(s.maasCluster, infrav1.ClusterFinalizer) {
		return nil
	}
	if len(s.machines) > 0 {
		return s.awaitMachines(ctx)
	}
	s.Published.Forget(client.ObjectKeyFromObject(s.maasCluster))
	removed, err := apiRecord(s).remove(ctx)
	if removed {
		s.setCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionCompletedReason, "")
		controllerutil.RemoveFinalizer(s.maasCluster, infrav1.ClusterFinalizer)
		s.requeueAfter = 0
	}
	return err
}

// awaitMachines keeps the record up to date meanwhile: a machine that goes
// while others serve is taken out of it first.
func (s deletion) awaitMachines(ctx context.Context) error {
	s.requeueWithin(requeue.WithJitter(requeue.RetryAfter)) // each machine wakes us when it is gone
	s.setCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.WaitingForMachinesReason, fmt.Sprintf("waiting for %d MaasMachines to go: %s", len(s.machines), s.firstMachineNames()))
	name, published := s.dnsName()
	record, claim := apiRecord(s), nameClaim(s)
	if !published || s.maasCluster.Annotations[DNSNameAnnotation] != name.String() || !s.findSite(ctx) || !record.checkDomainAllowed() {
		return nil
	}
	if may, err := claim.checkRivals(ctx, name); !may || err != nil {
		return err
	}
	if !claim.claimName(ctx, name) {
		return nil // the cluster came from elsewhere, and nothing proves that the record is its own
	}
	return record.publish(ctx, name)
}

// firstMachineNames lists the names of the first machines.
func (s deletion) firstMachineNames() string {
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

// ownedName returns the name whose record belongs to the cluster: the name in
// the annotation, or the name that an earlier provider published. The latter
// counts for a cluster that we first see while it is deleted. Where somebody
// else publishes the endpoint, the cluster owns no record.
func (s apiRecord) ownedName() (engine.DNSName, bool) {
	return endpoint.PublishedName(s.maasCluster, cmp.Or(s.maasCluster.Annotations[DNSNameAnnotation], earlierProviderDNSName(s.maasCluster)))
}

// remove removes the cluster's record, if there ever was one, and reports
// whether nothing is left of it. The error is the API server's.
func (s apiRecord) remove(ctx context.Context) (bool, error) {
	name, ok := s.ownedName()
	if !ok {
		return true, nil
	}
	if s.isUnproven() {
		ctrl.LoggerFrom(ctx).Info("left the DNS record as it is, because only the object's annotations say that it is the cluster's", "name", name.String())
		return true, nil
	}
	if !s.findSite(ctx) {
		s.setCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, fmt.Sprintf(
			"cannot remove the DNS record %s without credentials for MAAS. Restore the credentials; or remove the record in MAAS, and then the finalizer %s", name, infrav1.ClusterFinalizer))
		return false, nil
	}
	rival, err := nameClaim(s).findRival(ctx, name)
	switch {
	case err != nil:
		return false, err
	case rival != nil:
		ctrl.LoggerFrom(ctx).Info("left the DNS record as it is, because it is another cluster's", "name", name.String(), "MaasCluster", client.ObjectKeyFromObject(rival))
		return true, nil
	}
	if err := s.site.DNS.RemoveDNS(ctx, name); err != nil && !isDomainNotFound(err) {
		s.reportError(infrav1.DNSReadyCondition, err)
		s.setCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.RemovingDNSReason, problem.FromError(err).Message)
		return false, nil
	}
	ctrl.LoggerFrom(ctx).Info("removed the DNS record of the cluster", "name", name.String())
	return true, nil
}

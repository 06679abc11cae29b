package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// nameClaim decides whether a cluster may have the name of its API.
type nameClaim struct{ *scope }

// apiNameIndex is the index by which MaasClusters are found from their name.
const apiNameIndex = "apiName"

// indexAPIName returns the index value of a MaasCluster: the name of its API.
func indexAPIName(o client.Object) []string {
	c, ok := o.(*infrav1.MaasCluster)
	if !ok {
		return nil
	}
	if name, ok := apiName(c); ok {
		return []string{name.String()}
	}
	return nil
}

// apiName returns the name that a cluster publishes, or is about to publish.
func apiName(c *infrav1.MaasCluster) (engine.DNSName, bool) {
	noted := c.Annotations[DNSNameAnnotation]
	if noted == noDNSName {
		noted = ""
	}
	return endpoint.PublishedName(c, cmp.Or(noted, c.Spec.ControlPlaneEndpoint.Host, earlierProviderDNSName(c)))
}

// checkRivals reports whether no other cluster of this MAAS has the better
// right to a name. Otherwise a condition names the other cluster.
func (s nameClaim) checkRivals(ctx context.Context, name engine.DNSName) (bool, error) {
	rival, err := s.findRival(ctx, name)
	if err != nil || rival == nil {
		return err == nil, err
	}
	if !hasClaimed(rival, name) && s.hasPublishedName(ctx, name) {
		return true, nil
	}
	s.reportTaken(name, fmt.Sprintf("%s is the name of the MaasCluster %s", name, client.ObjectKeyFromObject(rival)))
	return false, nil
}

// reportTaken says that the name already leads to something else.
func (s nameClaim) reportTaken(name engine.DNSName, whose string) {
	s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason, fmt.Sprintf(
		"%s; the manager does not publish %s for this cluster. Make a new cluster with another spec.controlPlaneEndpoint.host, or with none", whose, name))
	s.requeueWithin(requeue.WithJitter(requeue.ManualAfter))
}

// findRival finds another MaasCluster, in any namespace, with the better right
// to a name in the same MAAS; nil: there is none.
func (s nameClaim) findRival(ctx context.Context, name engine.DNSName) (*infrav1.MaasCluster, error) {
	var list infrav1.MaasClusterList
	var options []client.ListOption
	if s.indexed {
		options = append(options, client.MatchingFields{apiNameIndex: name.String()})
	}
	if err := s.Client.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("cannot look for other MaasClusters with the name %s: %w", name, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if has, ok := apiName(other); !ok || has != name || client.ObjectKeyFromObject(other) == client.ObjectKeyFromObject(s.maasCluster) {
			continue
		}
		if hasBetterRightToName(other, s.maasCluster, name) && s.sharesMAAS(ctx, other) {
			return other, nil
		}
	}
	return nil, nil
}

// hasBetterRightToName reports whether a has the better right to a name that
// both clusters name. The cluster that has claimed it comes first, then the
// older one. A copy of an object is younger than its original.
func hasBetterRightToName(a, b *infrav1.MaasCluster, name engine.DNSName) bool {
	x, y := hasClaimed(a, name), hasClaimed(b, name)
	switch {
	case x != y:
		return x
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return client.ObjectKeyFromObject(a).String() < client.ObjectKeyFromObject(b).String()
}

// sharesMAAS reports whether another cluster's names are in the same MAAS.
// Where its credentials cannot be found, it is so if both clusters have the
// same identity.
func (s nameClaim) sharesMAAS(ctx context.Context, other *infrav1.MaasCluster) bool {
	site, err := s.Sites.Site(ctx, other)
	if err == nil {
		return site.Address == s.site.Address || haveSameRegionMark(ctx, site, s.site)
	}
	ref := other.Spec.IdentityRef
	return equality.Semantic.DeepEqual(ref, s.maasCluster.Spec.IdentityRef) &&
		(ref == nil || ref.Kind != infrav1.IdentityKindSecret || other.Namespace == s.maasCluster.Namespace)
}

// regionMarkTimeout is how long two MAAS may take to answer with their marks.
// One of them may be a tenant's, and no other cluster must wait long for it.
const regionMarkTimeout = 10 * time.Second

// haveSameRegionMark reports whether two addresses lead to the same MAAS. It
// marks the MAAS for that where it has no mark yet. It returns false where it
// cannot find out, as when a MAAS does not answer. Otherwise a user could name
// such a MAAS to keep others from their names.
func haveSameRegionMark(ctx context.Context, a, b *controller.Site) bool {
	ctx, done := context.WithTimeout(ctx, regionMarkTimeout)
	defer done()
	first, err := a.RegionMarks.MakeRegionMark(ctx)
	if err != nil {
		return false
	}
	second, err := b.RegionMarks.MakeRegionMark(ctx)
	return err == nil && first == second
}

// refuseMachineName reports whether a machine of MAAS has a name that nobody
// has claimed yet, and sets a condition. MAAS would answer with the addresses
// of both (dnsresource.py, get_addresses), so that a lookup of the machine
// could lead to the cluster.
func (s nameClaim) refuseMachineName(ctx context.Context, name engine.DNSName) (bool, error) {
	found, err := s.site.Hostnames.MachinesNamed(ctx, name.Label)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(found, func(m engine.Machine) bool { return m.Domain == name.Domain })
	if at < 0 {
		return false, nil
	}
	s.reportTaken(name, fmt.Sprintf("%s is the name of machine %s in MAAS", name, found[at].SystemID))
	return true, nil
}

// claimName claims a name that a user set or that the object brought with it.
// It does not where the name in MAAS points to an address outside the cluster,
// or to a machine's name. It writes the claim down before anything is published
// under the name.
func (s nameClaim) claimName(ctx context.Context, name engine.DNSName) bool {
	if s.maasCluster.Annotations[DNSNameAnnotation] == name.String() && !s.isUnproven() {
		return true
	}
	have, err := s.site.DNS.DNSRecord(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		s.reportError(infrav1.DNSReadyCondition, err)
		return false
	}
	if stranger := slices.IndexFunc(have.Addresses, s.strangerFilter()); stranger >= 0 {
		s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason, fmt.Sprintf(
			"MAAS already has %s, for %s, which is not a machine of the cluster. Remove the name in MAAS, or set the annotation %s, so that the manager leaves the name alone",
			name, have.Addresses[stranger], infrav1.CustomEndpointAnnotation))
		s.requeueWithin(requeue.ManualAfter)
		if s.isUnproven() {
			s.requeueWithin(requeue.WithJitter(requeue.RetryAfter)) // the record may have the address of a machine that we do not know yet
		}
		return false
	}
	if taken, err := s.refuseMachineName(ctx, name); taken || err != nil {
		if err != nil {
			s.reportError(infrav1.DNSReadyCondition, err)
		}
		return false
	}
	annotations.AddAnnotations(s.maasCluster, map[string]string{DNSNameAnnotation: name.String()})
	delete(s.maasCluster.Annotations, controller.UnprovenAnnotation)
	s.requeueWithin(requeue.BusyAfter) // to publish the name once the claim is saved
	return false
}

// hasPublishedName reports whether the record of an unproven name leads only to
// machines of the cluster. A cluster that merely wants the name has no such
// record.
func (s nameClaim) hasPublishedName(ctx context.Context, name engine.DNSName) bool {
	if !s.isUnproven() || s.maasCluster.Annotations[DNSNameAnnotation] != name.String() {
		return false
	}
	have, err := s.site.DNS.DNSRecord(ctx, name)
	return err == nil && len(have.Addresses) > 0 && !slices.ContainsFunc(have.Addresses, s.strangerFilter())
}

// strangerFilter returns a test for addresses that no machine of the cluster
// has.
func (s nameClaim) strangerFilter() func(netip.Addr) bool {
	known := s.addressesOfMachines(func(*infrav1.MaasMachine) bool { return true })
	return func(ip netip.Addr) bool { return !slices.Contains(known, ip) }
}

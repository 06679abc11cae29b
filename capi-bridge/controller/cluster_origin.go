package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// noteOrigin writes down that an object came from elsewhere with the name that it has
// published: another management cluster, a backup, or a user who made it up. Such an
// object has no status, as with MaasMachines. A name made of the Cluster's UID nobody can
// forge.
func (s *clusterScope) noteOrigin(ctx context.Context) error {
	noted := s.maas.Annotations[DNSNameAnnotation]
	generated := s.cluster != nil && noted == s.generatedHost()
	if s.maas.Annotations[UnprovenAnnotation] != "" || !isUnprovenName(s.maas) || generated {
		return nil
	}
	before := s.maas.DeepCopy()
	annotate(s.maas, UnprovenAnnotation, "true")
	if err := s.Client.Patch(ctx, s.maas, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("cannot write down where the cluster came from: %w", err)
	}
	return nil
}

// isUnproven tells whether only the object's annotations say that it has its name.
// What this reconcile finds out does not count: noteOrigin comes before it.
func (s *clusterScope) isUnproven() bool { return s.maas.Annotations[UnprovenAnnotation] != "" }

// isUnprovenName tells the same of any cluster, also before its origin is noted.
func isUnprovenName(c *infrav1.MaasCluster) bool {
	noted := c.Annotations[DNSNameAnnotation]
	return c.Annotations[UnprovenAnnotation] != "" || noted != "" && noted != noName && !clusterHasStatus(c)
}

// clusterHasStatus tells whether a controller saw an object while it was not paused.
func clusterHasStatus(c *infrav1.MaasCluster) bool {
	seen := infrav1.MaasCluster{Status: *c.Status.DeepCopy()}
	conditions.Delete(&seen, infrav1.PausedCondition)
	return !equality.Semantic.DeepEqual(seen.Status, infrav1.MaasClusterStatus{})
}

// hasClaimed tells whether a cluster has a name by a look at its record.
func hasClaimed(c *infrav1.MaasCluster, name engine.DNSName) bool {
	return c.Annotations[DNSNameAnnotation] == name.String() && !isUnprovenName(c)
}

// publishedBefore tells whether the record of an unproven name leads to machines of the
// cluster, and to nothing else. A cluster that only wants the name comes later.
func (s *clusterScope) publishedBefore(ctx context.Context, name engine.DNSName) bool {
	if !s.isUnproven() || s.maas.Annotations[DNSNameAnnotation] != name.String() {
		return false
	}
	have, err := s.site.DNS.DNSRecord(ctx, name)
	return err == nil && len(have.Addresses) > 0 && !slices.ContainsFunc(have.Addresses, s.isStranger())
}

// isStranger makes a test for addresses that no machine of the cluster has.
func (s *clusterScope) isStranger() func(netip.Addr) bool {
	known := s.allAddresses(func(*infrav1.MaasMachine) bool { return true })
	return func(ip netip.Addr) bool { return !slices.Contains(known, ip) }
}

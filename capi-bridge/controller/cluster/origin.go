package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/engine"
)

// noteOrigin writes down that an object came from elsewhere with the name that it has
// published: another management cluster, a backup, or a user who made it up. Such an
// object has no status, as with MaasMachines. A name made of the Cluster's UID nobody can
// forge.
func (s *scope) noteOrigin(ctx context.Context) error {
	noted := s.maasCluster.Annotations[DNSNameAnnotation]
	generated := s.cluster != nil && noted == (apiEndpoint{s}).generatedHost()
	if s.maasCluster.Annotations[controller.UnprovenAnnotation] != "" || !isUnprovenName(s.maasCluster) || generated {
		return nil
	}
	before := s.maasCluster.DeepCopy()
	annotations.AddAnnotations(s.maasCluster, map[string]string{controller.UnprovenAnnotation: "true"})
	if err := s.Client.Patch(ctx, s.maasCluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("cannot write down where the cluster came from: %w", err)
	}
	return nil
}

// isUnproven tells whether only the object's annotations say that it has its name.
// What this reconcile finds out does not count: noteOrigin comes before it.
func (s *scope) isUnproven() bool {
	return s.maasCluster.Annotations[controller.UnprovenAnnotation] != ""
}

// isUnprovenName tells the same of any cluster, also before its origin is noted.
func isUnprovenName(c *infrav1.MaasCluster) bool {
	noted := c.Annotations[DNSNameAnnotation]
	return c.Annotations[controller.UnprovenAnnotation] != "" || noted != "" && noted != noDNSName && !clusterHasStatus(c)
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

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

// noteOrigin writes down that an object arrived with the name that it has
// published. It came from another management cluster, from a backup, or from a
// user who made it up. As with MaasMachines, such an object has no status.
// Nobody can forge a name made of the Cluster's UID.
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

// isUnproven reports whether only the object's annotations say that it has its
// name. It does not change within a reconcile: noteOrigin runs first.
func (s *scope) isUnproven() bool {
	return s.maasCluster.Annotations[controller.UnprovenAnnotation] != ""
}

// isUnprovenName reports the same for any cluster, also before its origin is
// noted.
func isUnprovenName(c *infrav1.MaasCluster) bool {
	noted := c.Annotations[DNSNameAnnotation]
	return c.Annotations[controller.UnprovenAnnotation] != "" || noted != "" && noted != noDNSName && !clusterHasStatus(c)
}

// clusterHasStatus reports whether a controller has worked on the object while
// it was not paused.
func clusterHasStatus(c *infrav1.MaasCluster) bool {
	seen := infrav1.MaasCluster{Status: *c.Status.DeepCopy()}
	conditions.Delete(&seen, infrav1.PausedCondition)
	return !equality.Semantic.DeepEqual(seen.Status, infrav1.MaasClusterStatus{})
}

// hasClaimed reports whether a cluster has claimed a name after a look at its
// record.
func hasClaimed(c *infrav1.MaasCluster, name engine.DNSName) bool {
	return c.Annotations[DNSNameAnnotation] == name.String() && !isUnprovenName(c)
}

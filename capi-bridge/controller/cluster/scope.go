package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/engine"
)

// scope is one reconcile of a MaasCluster.
type scope struct {
	*Reconciler
	cluster     *clusterv1.Cluster // nil: it is gone
	maasCluster *infrav1.MaasCluster
	machines    []infrav1.MaasMachine // of the cluster, sorted by name
	site        *controller.Site      // nil until it is found
	keyAccepted bool                  // MAAS has accepted the key
	keyRefused  bool                  // MAAS refuses the key, at least for some requests

	requeueAfter time.Duration // when to reconcile again; zero: on the next change
}

// prepare finds the Cluster, and reports whether there is something to do now.
// There is not for objects without an owner, in somebody else's hands, or
// paused. It adds the finalizer and the endpoint to the object, each before
// anything is made in MAAS.
func (s *scope) prepare(ctx context.Context) (bool, error) {
	cluster, err := util.GetOwnerCluster(ctx, s.Client, s.maasCluster.ObjectMeta)
	deleting := !s.maasCluster.DeletionTimestamp.IsZero()
	switch {
	case apierrors.IsNotFound(err) && deleting: // its DNS record in MAAS must still go
	case err != nil:
		return false, err
	case cluster == nil && !deleting:
		ctrl.LoggerFrom(ctx).V(4).Info("waiting for the Cluster to own the MaasCluster")
		return false, nil
	}
	s.cluster = cluster
	if annotations.IsExternallyManaged(s.maasCluster) {
		return false, nil
	}
	if isPaused, again, err := paused.EnsurePausedCondition(ctx, s.Client, cluster, s.maasCluster); isPaused || again || err != nil {
		return false, err
	}
	if err := s.noteOrigin(ctx); err != nil {
		return false, err
	}
	if deleting {
		return true, nil
	}
	if _, err := finalizers.EnsureFinalizer(ctx, s.Client, s.maasCluster, infrav1.ClusterFinalizer); err != nil {
		return false, err
	}
	return true, apiEndpoint{s}.ensure(ctx)
}

// listMachines lists the MaasMachines of the cluster.
func (s *scope) listMachines(ctx context.Context) ([]infrav1.MaasMachine, error) {
	name := s.clusterName()
	if name == "" {
		return nil, nil
	}
	var list infrav1.MaasMachineList
	err := s.Client.List(ctx, &list, client.InNamespace(s.maasCluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
	if err != nil {
		return nil, fmt.Errorf("cannot list the MaasMachines: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.MaasMachine) int { return compareNames(&a, &b) })
	return list.Items, nil
}

// clusterName returns the name of the Cluster, even where the Cluster is gone.
func (s *scope) clusterName() string {
	if s.cluster != nil {
		return s.cluster.Name
	}
	for _, owner := range s.maasCluster.OwnerReferences {
		if owner.Kind == clusterv1.ClusterKind {
			return owner.Name
		}
	}
	return s.maasCluster.Labels[clusterv1.ClusterNameLabel]
}

// requeueWithin makes the next reconcile come after this time at the latest.
func (s *scope) requeueWithin(after time.Duration) {
	if s.requeueAfter == 0 || after < s.requeueAfter {
		s.requeueAfter = after
	}
}

// addressesOfMachines returns all addresses of the cluster's machines that pass
// the test picks.
func (s *scope) addressesOfMachines(picks func(*infrav1.MaasMachine) bool) []netip.Addr {
	var all []netip.Addr
	for i := range s.machines {
		if m := &s.machines[i]; picks(m) {
			all = append(all, endpoint.IPs(m)...)
		}
	}
	return all
}

// isCustom reports whether somebody else publishes the endpoint.
func (s *scope) isCustom() bool { return endpoint.IsCustom(s.maasCluster) }

// dnsName returns the endpoint's name where we publish it.
func (s *scope) dnsName() (engine.DNSName, bool) {
	return endpoint.PublishedName(s.maasCluster, s.maasCluster.Spec.ControlPlaneEndpoint.Host)
}

// findSite finds the MAAS of the cluster, or reports why there is none.
func (s *scope) findSite(ctx context.Context) bool {
	site, err := controller.FindSite(ctx, s.Sites, s.maasCluster)
	s.site = site
	switch {
	case site == nil:
		s.reportIdentityError(err)
	case err != nil: // we cannot tell which MAAS this is
		s.reportError(infrav1.FailureDomainsReadyCondition, err)
	}
	return err == nil
}

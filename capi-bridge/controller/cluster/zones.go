package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
)

// failureDomains finds the availability zones that the machines of a cluster may be in.
type failureDomains struct{ *scope }

// reconcile writes down the availability zones that machines may be in, and
// reports whether they are known. What was written stays where MAAS cannot be
// asked. The error is the API server's.
func (s failureDomains) reconcile(ctx context.Context) (bool, error) {
	have, err := s.site.Names.Zones(ctx)
	if err != nil {
		s.reportError(infrav1.FailureDomainsReadyCondition, err)
		return false, nil
	}
	s.keyAccepted = true
	if len(s.maasCluster.Spec.FailureDomains) > 0 {
		for _, zone := range s.maasCluster.Spec.FailureDomains {
			if _, err := demand.PickAllowed("spec.failureDomains", zone, s.site.Limits.Zones); err != nil {
				s.reportError(infrav1.FailureDomainsReadyCondition, err)
				return false, nil
			}
		}
		return s.reconcileSpecZones(ctx, have), nil
	}
	if !s.cluster.DeletionTimestamp.IsZero() {
		return true, nil // nothing more is made
	}
	want, err := s.readControlPlaneMachine(ctx)
	if missing, ok := errors.AsType[*problem.BlockedError](err); ok {
		if len(s.maasCluster.Status.FailureDomains) > 0 {
			return true, nil // it was there, and no machine is made without it
		}
		s.reportError(infrav1.FailureDomainsReadyCondition, missing)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.reconcileDiscoveredZones(ctx, have, want), nil
}

// reconcileSpecZones are those of the spec. All of them must be there.
func (s failureDomains) reconcileSpecZones(ctx context.Context, have []string) bool {
	want := slices.Compact(slices.Sorted(slices.Values(s.maasCluster.Spec.FailureDomains)))
	missing := subtractNames(want, have)
	if len(missing) > 0 { // somebody may just have made them
		s.site.Names.Refresh()
		if again, err := s.site.Names.Zones(ctx); err == nil {
			missing = subtractNames(want, again)
		}
	}
	s.writeZones(zonesOfferedToAll(subtractNames(want, missing)))
	if len(missing) > 0 {
		s.setCondition(infrav1.FailureDomainsReadyCondition, metav1.ConditionFalse, infrav1.ZoneNotFoundReason, fmt.Sprintf(
			"MAAS has no zone %s, but %s; make it there, or mend spec.failureDomains", strings.Join(missing, ", "), strings.Join(have, ", ")))
		s.requeueWithin(requeue.WithJitter(requeue.RetryAfter))
		return false
	}
	s.reportZones(len(want))
	return true
}

// maxZones is how many zones an object can list, by its schema.
const maxZones = 100

// limitZones are the zones that an object can list: before others those that
// machines of the cluster are in, then those for its control plane.
func (s failureDomains) limitZones(zones map[string]bool) map[string]bool {
	rank := map[string]int{}
	for zone, controlPlane := range zones {
		if !controlPlane {
			rank[zone] = 1
		}
	}
	for i := range s.machines {
		rank[s.machines[i].Status.FailureDomain] = -1
	}
	names := slices.SortedFunc(maps.Keys(zones), func(a, b string) int { return cmp.Or(rank[a]-rank[b], cmp.Compare(a, b)) })
	listed := map[string]bool{}
	for _, zone := range names[:min(len(names), maxZones)] {
		listed[zone] = zones[zone]
	}
	return listed
}

// reportZones says that the zones are known, and where not all of them are listed.
func (s failureDomains) reportZones(known int) {
	message := ""
	if listed := len(s.maasCluster.Status.FailureDomains); listed < known {
		message = fmt.Sprintf("%d of %d zones with room are listed; name others in spec.failureDomains", listed, known)
	}
	s.setCondition(infrav1.FailureDomainsReadyCondition, metav1.ConditionTrue, infrav1.FailureDomainsReadyReason, message)
}

// writeZones writes the status as the contract wants it: zones, and whether machines
// of the control plane may be there.
func (s failureDomains) writeZones(zones map[string]bool) {
	s.maasCluster.Status.FailureDomains = nil
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		s.maasCluster.Status.FailureDomains = append(s.maasCluster.Status.FailureDomains, clusterv1.FailureDomain{Name: zone, ControlPlane: ptr.To(zones[zone])})
	}
}

// zonesOfferedToAll are zones in which every machine may be.
func zonesOfferedToAll(names []string) map[string]bool {
	zones := map[string]bool{}
	for _, name := range names {
		zones[name] = true
	}
	return zones
}

func subtractNames(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

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

// failureDomains finds the availability zones for the machines of a cluster.
type failureDomains struct{ *scope }

// reconcile writes the availability zones for machines into the status, and
// reports whether they are known. Where MAAS cannot be asked, the status keeps
// its zones. The error is the API server's.
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
		return true, nil // no more machines are made
	}
	want, err := s.readControlPlaneMachine(ctx)
	if missing, ok := errors.AsType[*problem.BlockedError](err); ok {
		if len(s.maasCluster.Status.FailureDomains) > 0 {
			return true, nil // the control plane existed before, and while it is missing nobody makes machines of it
		}
		s.reportError(infrav1.FailureDomainsReadyCondition, missing)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.reconcileDiscoveredZones(ctx, have, want), nil
}

// reconcileSpecZones takes the zones of the spec. MAAS must have all of them.
func (s failureDomains) reconcileSpecZones(ctx context.Context, have []string) bool {
	want := slices.Compact(slices.Sorted(slices.Values(s.maasCluster.Spec.FailureDomains)))
	missing := subtractNames(want, have)
	if len(missing) > 0 { // somebody may just have created them
		s.site.Names.Refresh()
		if again, err := s.site.Names.Zones(ctx); err == nil {
			missing = subtractNames(want, again)
		}
	}
	s.writeZones(zonesOfferedToAll(subtractNames(want, missing)))
	if len(missing) > 0 {
		s.setCondition(infrav1.FailureDomainsReadyCondition, metav1.ConditionFalse, infrav1.ZoneNotFoundReason, fmt.Sprintf(
			"MAAS has no zone %s, only %s; create it in MAAS, or correct spec.failureDomains", strings.Join(missing, ", "), strings.Join(have, ", ")))
		s.requeueWithin(requeue.WithJitter(requeue.RetryAfter))
		return false
	}
	s.reportZones(len(want))
	return true
}

// maxZones is how many zones an object can list, by its schema.
const maxZones = 100

// limitZones cuts the zones to the number that an object can list. Zones of the
// cluster's machines come first, then zones for its control plane.
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

// reportZones reports that the zones are known, and whether some are not
// listed.
func (s failureDomains) reportZones(known int) {
	message := ""
	if listed := len(s.maasCluster.Status.FailureDomains); listed < known {
		message = fmt.Sprintf("%d of %d zones with room are listed; name others in spec.failureDomains", listed, known)
	}
	s.setCondition(infrav1.FailureDomainsReadyCondition, metav1.ConditionTrue, infrav1.FailureDomainsReadyReason, message)
}

// writeZones writes the status in the form of the contract: the zones, and
// whether machines of the control plane may be there.
func (s failureDomains) writeZones(zones map[string]bool) {
	s.maasCluster.Status.FailureDomains = nil
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		s.maasCluster.Status.FailureDomains = append(s.maasCluster.Status.FailureDomains, clusterv1.FailureDomain{Name: zone, ControlPlane: ptr.To(zones[zone])})
	}
}

// zonesOfferedToAll returns zones that every machine may be in.
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

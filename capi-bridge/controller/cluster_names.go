package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// nameIndex is the field of MaasClusters by which those of a name are found.
const nameIndex = "apiName"

// indexName is what a MaasCluster is found by: the name of its API.
func indexName(o client.Object) []string {
	c, ok := o.(*infrav1.MaasCluster)
	if !ok {
		return nil
	}
	if name, ok := nameOfAPI(c); ok {
		return []string{name.String()}
	}
	return nil
}

// nameOfAPI is the name that a cluster publishes, or is about to.
func nameOfAPI(c *infrav1.MaasCluster) (engine.DNSName, bool) {
	noted := c.Annotations[DNSNameAnnotation]
	if noted == noName {
		noted = ""
	}
	return publishedName(c, cmp.Or(noted, c.Spec.ControlPlaneEndpoint.Host, earlierName(c)))
}

// mayUseName tells whether no other cluster of this MAAS has the better right to a
// name. Otherwise a condition says who has it.
func (s *clusterScope) mayUseName(ctx context.Context, name engine.DNSName) (bool, error) {
	rival, err := s.nameRival(ctx, name)
	if err != nil || rival == nil {
		return err == nil, err
	}
	if !hasClaimed(rival, name) && s.publishedBefore(ctx, name) {
		return true, nil
	}
	s.nameTaken(name, fmt.Sprintf("%s is the name of the MaasCluster %s", name, client.ObjectKeyFromObject(rival)))
	return false, nil
}

// nameTaken says that a name leads to something else.
func (s *clusterScope) nameTaken(name engine.DNSName, whose string) {
	s.set(infrav1.DNSReadyCondition, no, infrav1.ConflictReason, fmt.Sprintf(
		"%s; nothing is published as %s for this cluster. Make a new cluster with another spec.controlPlaneEndpoint.host, or with none", whose, name))
	s.soon(jittered(mendAfter))
}

// nameRival is another MaasCluster, of any namespace, with the better right to a name
// in the same MAAS; nil: there is none.
func (s *clusterScope) nameRival(ctx context.Context, name engine.DNSName) (*infrav1.MaasCluster, error) {
	var list infrav1.MaasClusterList
	var options []client.ListOption
	if s.indexed {
		options = append(options, client.MatchingFields{nameIndex: name.String()})
	}
	if err := s.Client.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("cannot look for other MaasClusters with the name %s: %w", name, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if has, ok := nameOfAPI(other); !ok || has != name || client.ObjectKeyFromObject(other) == client.ObjectKeyFromObject(s.maas) {
			continue
		}
		if precedes(other, s.maas, name) && s.sharesMAAS(ctx, other) {
			return other, nil
		}
	}
	return nil, nil
}

// precedes tells which of two clusters has a name that both give: the one that has
// claimed it, else the older one. A copy of an object is younger than its original.
func precedes(a, b *infrav1.MaasCluster, name engine.DNSName) bool {
	x, y := hasClaimed(a, name), hasClaimed(b, name)
	switch {
	case x != y:
		return x
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return client.ObjectKeyFromObject(a).String() < client.ObjectKeyFromObject(b).String()
}

// sharesMAAS tells whether another cluster's names are in the same MAAS. Where its
// credentials cannot be found, those of the same identity are.
func (s *clusterScope) sharesMAAS(ctx context.Context, other *infrav1.MaasCluster) bool {
	site, err := s.Sites.Site(ctx, other)
	if err == nil {
		return site.MAAS == s.site.MAAS || haveOneMark(ctx, site, s.site)
	}
	ref := other.Spec.IdentityRef
	return equality.Semantic.DeepEqual(ref, s.maas.Spec.IdentityRef) &&
		(ref == nil || ref.Kind != infrav1.IdentityKindSecret || other.Namespace == s.maas.Namespace)
}

// marksWithin is how long two MAAS may take to show their marks: one of them may be a
// tenant's, for whom nobody else's cluster should wait.
const marksWithin = 10 * time.Second

// haveOneMark tells whether two addresses are of one MAAS. It is marked for that, unless
// it was before. Where that cannot be told, as of a MAAS that is away, they are not: who
// names such a MAAS could keep others from their names.
func haveOneMark(ctx context.Context, a, b *Site) bool {
	ctx, done := context.WithTimeout(ctx, marksWithin)
	defer done()
	first, err := a.RegionMarks.MakeRegionMark(ctx)
	if err != nil {
		return false
	}
	second, err := b.RegionMarks.MakeRegionMark(ctx)
	return err == nil && first == second
}

// isMachinesName tells whether a machine of MAAS bears a name that nobody has claimed
// yet, and says so. MAAS would answer with the addresses of both (dnsresource.py,
// get_addresses): whoever looks for the machine would find the cluster.
func (s *clusterScope) isMachinesName(ctx context.Context, name engine.DNSName) (bool, error) {
	found, err := s.site.Hostnames.MachinesNamed(ctx, name.Label)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(found, func(m engine.Machine) bool { return m.Domain == name.Domain })
	if at < 0 {
		return false, nil
	}
	s.nameTaken(name, fmt.Sprintf("%s is the name of machine %s in MAAS", name, found[at].SystemID))
	return true, nil
}

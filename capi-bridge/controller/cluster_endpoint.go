package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// DNSNameAnnotation on a MaasCluster is the name whose DNS record in MAAS is the
// cluster's: kept up to date, and removed with it. It stands there before the
// record is made, and survives a move to another management cluster, which status
// does not.
const DNSNameAnnotation = "infrastructure.cluster.x-k8s.io/maas-dns-name"

// noName is its value once somebody else publishes the endpoint: from then on no
// record is the cluster's, not even one that was, until it is claimed by a look.
const noName = "none"

// settleEndpoint writes down where the cluster's API is reached, once, and
// whether the name is ours to publish. A host or port that somebody gave is
// kept.
func (s *clusterScope) settleEndpoint(ctx context.Context) error {
	before := s.maas.DeepCopy()
	endpoint := &s.maas.Spec.ControlPlaneEndpoint
	endpoint.Host = cmp.Or(endpoint.Host, s.givenHost(), s.generatedHost())
	if endpoint.Host == "" {
		return nil
	}
	endpoint.Port = cmp.Or(endpoint.Port, s.port())
	switch {
	case s.isCustom():
		annotate(s.maas, DNSNameAnnotation, noName)
	case s.isOurName(endpoint.Host):
		annotate(s.maas, DNSNameAnnotation, endpoint.Host)
	}
	if equality.Semantic.DeepEqual(before, s.maas) {
		return nil
	}
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Patch(ctx, s.maas, lock); err != nil {
		return fmt.Errorf("cannot write down the endpoint of the cluster: %w", err)
	}
	return nil
}

// givenHost is the host that the Cluster, or an earlier provider, names.
func (s *clusterScope) givenHost() string {
	return cmp.Or(s.cluster.Spec.ControlPlaneEndpoint.Host, s.maas.Status.Network.DNSName)
}

func (s *clusterScope) port() int32 {
	return cmp.Or(s.cluster.Spec.ControlPlaneEndpoint.Port, s.cluster.Spec.ClusterNetwork.APIServerPort, infrav1.DefaultEndpointPort)
}

// endpointRoom is how many letters of the cluster's name fit into a DNS label
// with a hyphen and six digits.
const endpointRoom = 63 - 7

// generatedHost is the name of a cluster that nobody named, always the same;
// empty where somebody else is to name it.
func (s *clusterScope) generatedHost() string {
	if s.isCustom() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.cluster.UID))
	name := strings.ReplaceAll(s.cluster.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), endpointRoom)], "-")
	return fmt.Sprintf("%s-%s.%s", name, hex.EncodeToString(sum[:3]), s.maas.Spec.DNSDomain)
}

// isOurName tells whether a name's record is surely the cluster's: it was made
// for it, by us or by an earlier provider.
func (s *clusterScope) isOurName(host string) bool {
	if _, published := s.dnsName(); !published {
		return false
	}
	if written, is := s.maas.Annotations[DNSNameAnnotation]; is {
		return host == written
	}
	return host == s.generatedHost() || host == earlierName(s.maas)
}

// earlierName is the name that an earlier provider published for a cluster without
// our annotation, empty if there is none. We write the status, too, and of names that
// somebody else publishes; but then the annotation is there before. Who has lost it
// since is known by `initialization`, of which earlier providers knew nothing.
func earlierName(maas *infrav1.MaasCluster) string {
	if maas.Status.Initialization.Provisioned != nil {
		return ""
	}
	return maas.Status.Network.DNSName
}

// isCustom tells whether somebody else publishes the endpoint.
func (s *clusterScope) isCustom() bool { return isCustom(s.maas) }

// dnsName is the endpoint's host as a name that is ours to publish, if it is.
func (s *clusterScope) dnsName() (engine.DNSName, bool) {
	return publishedName(s.maas, s.maas.Spec.ControlPlaneEndpoint.Host)
}

// isCustom tells whether a cluster's user says that somebody else publishes its
// endpoint.
func isCustom(maas *infrav1.MaasCluster) bool {
	_, custom := maas.Annotations[infrav1.CustomEndpointAnnotation]
	return custom
}

// publishedName is a host as a name in the cluster's domain. It is none where the
// host is an address or a name elsewhere, below the domain too, or somebody else
// publishes it.
func publishedName(maas *infrav1.MaasCluster, host string) (engine.DNSName, bool) {
	label, ok := strings.CutSuffix(host, "."+maas.Spec.DNSDomain)
	if !ok || strings.Contains(label, ".") || isCustom(maas) {
		return engine.DNSName{}, false
	}
	return engine.DNSName{Label: label, Domain: maas.Spec.DNSDomain}, true
}

// annotate sets an annotation.
func annotate(o client.Object, key, text string) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = text
	o.SetAnnotations(all)
}

package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// apiEndpoint says where a cluster's API is reached.
type apiEndpoint struct{ *scope }

// DNSNameAnnotation on a MaasCluster is the name whose DNS record in MAAS is the
// cluster's: kept up to date, and removed with it. It stands there before the
// record is made, and survives a move to another management cluster, which status
// does not.
const DNSNameAnnotation = "infrastructure.cluster.x-k8s.io/maas-dns-name"

// noDNSName is its value once somebody else publishes the endpoint: from then on no
// record is the cluster's, not even one that was, until it is claimed by a look.
const noDNSName = "none"

// ensure writes down where the cluster's API is reached, once, and
// whether the name is ours to publish. A host or port that somebody gave is
// kept.
func (s apiEndpoint) ensure(ctx context.Context) error {
	before := s.maasCluster.DeepCopy()
	endpoint := &s.maasCluster.Spec.ControlPlaneEndpoint
	endpoint.Host = cmp.Or(endpoint.Host, s.givenHost(), s.generatedHost())
	if endpoint.Host == "" {
		return nil
	}
	endpoint.Port = cmp.Or(endpoint.Port, s.port())
	switch {
	case s.isCustom():
		annotations.AddAnnotations(s.maasCluster, map[string]string{DNSNameAnnotation: noDNSName})
	case s.isOurName(endpoint.Host):
		annotations.AddAnnotations(s.maasCluster, map[string]string{DNSNameAnnotation: endpoint.Host})
	}
	if equality.Semantic.DeepEqual(before, s.maasCluster) {
		return nil
	}
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.Client.Patch(ctx, s.maasCluster, lock); err != nil {
		return fmt.Errorf("cannot write down the endpoint of the cluster: %w", err)
	}
	return nil
}

// givenHost is the host that the Cluster, or an earlier provider, names.
func (s apiEndpoint) givenHost() string {
	return cmp.Or(s.cluster.Spec.ControlPlaneEndpoint.Host, s.maasCluster.Status.Network.DNSName)
}

func (s apiEndpoint) port() int32 {
	return cmp.Or(s.cluster.Spec.ControlPlaneEndpoint.Port, s.cluster.Spec.ClusterNetwork.APIServerPort, infrav1.DefaultEndpointPort)
}

// maxEndpointNameLength is how many letters of the cluster's name fit into a DNS label
// with a hyphen and six digits.
const maxEndpointNameLength = 63 - 7

// generatedHost is the name of a cluster that nobody named, always the same;
// empty where somebody else is to name it.
func (s apiEndpoint) generatedHost() string {
	if s.isCustom() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.cluster.UID))
	name := strings.ReplaceAll(s.cluster.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), maxEndpointNameLength)], "-")
	return fmt.Sprintf("%s-%s.%s", name, hex.EncodeToString(sum[:3]), s.maasCluster.Spec.DNSDomain)
}

// isOurName tells whether a name's record is surely the cluster's: it was made
// for it, by us or by an earlier provider.
func (s apiEndpoint) isOurName(host string) bool {
	if _, published := s.dnsName(); !published {
		return false
	}
	if written, is := s.maasCluster.Annotations[DNSNameAnnotation]; is {
		return host == written
	}
	return host == s.generatedHost() || host == earlierProviderDNSName(s.maasCluster)
}

// earlierProviderDNSName is the name that an earlier provider published for a cluster without
// our annotation, empty if there is none. We write the status, too, and of names that
// somebody else publishes; but then the annotation is there before. Who has lost it
// since is known by `initialization`, of which earlier providers knew nothing.
func earlierProviderDNSName(maas *infrav1.MaasCluster) string {
	if maas.Status.Initialization.Provisioned != nil {
		return ""
	}
	return maas.Status.Network.DNSName
}

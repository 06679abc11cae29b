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

// apiEndpoint determines the address of a cluster's API.
type apiEndpoint struct{ *scope }

// DNSNameAnnotation on a MaasCluster is the name of the cluster's DNS record in
// MAAS. We keep the record up to date, and remove it with the cluster. We write
// the annotation before the record. Unlike the status, it survives a move to
// another management cluster.
const DNSNameAnnotation = "infrastructure.cluster.x-k8s.io/maas-dns-name"

// noDNSName is its value once somebody else publishes the endpoint. From then
// on the cluster owns no record, not even its former one, until it claims a
// record again.
const noDNSName = "none"

// ensure writes down the address of the cluster's API, once, and whether we
// publish its name. It keeps a host or port that somebody set.
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

// givenHost returns the host that the Cluster, or an earlier provider, names.
func (s apiEndpoint) givenHost() string {
	return cmp.Or(s.cluster.Spec.ControlPlaneEndpoint.Host, s.maasCluster.Status.Network.DNSName)
}

func (s apiEndpoint) port() int32 {
	return cmp.Or(s.cluster.Spec.ControlPlaneEndpoint.Port, s.cluster.Spec.ClusterNetwork.APIServerPort, infrav1.DefaultEndpointPort)
}

// maxEndpointNameLength is how many letters of the cluster's name fit into a
// DNS label with a hyphen and six digits.
const maxEndpointNameLength = 63 - 7

// generatedHost returns a name for a cluster without one. It is always the same
// for a cluster, and empty where somebody else must set the name.
func (s apiEndpoint) generatedHost() string {
	if s.isCustom() {
		return ""
	}
	sum := sha256.Sum256([]byte(s.cluster.UID))
	name := strings.ReplaceAll(s.cluster.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), maxEndpointNameLength)], "-")
	return fmt.Sprintf("%s-%s.%s", name, hex.EncodeToString(sum[:3]), s.maasCluster.Spec.DNSDomain)
}

// isOurName reports whether the name's record certainly belongs to the cluster:
// we or an earlier provider made it for the cluster.
func (s apiEndpoint) isOurName(host string) bool {
	if _, published := s.dnsName(); !published {
		return false
	}
	if written, is := s.maasCluster.Annotations[DNSNameAnnotation]; is {
		return host == written
	}
	return host == s.generatedHost() || host == earlierProviderDNSName(s.maasCluster)
}

// earlierProviderDNSName returns the name that an earlier provider published
// for a cluster without our annotation; empty if there is none. We set the same
// status field, also for names that somebody else publishes, but the annotation
// exists before that. A cluster that lost its annotation since is known by
// `initialization`, which earlier providers never set.
func earlierProviderDNSName(maas *infrav1.MaasCluster) string {
	if maas.Status.Initialization.Provisioned != nil {
		return ""
	}
	return maas.Status.Network.DNSName
}

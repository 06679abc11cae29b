package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// preferredSubnets returns the subnets whose addresses are published, by CIDR
// or name. They come from the spec, else from the ConfigMap in the cluster's
// namespace. None means any.
func (s apiRecord) preferredSubnets(ctx context.Context) ([]string, error) {
	if len(s.maasCluster.Spec.PreferredSubnets) > 0 {
		return s.maasCluster.Spec.PreferredSubnets, nil
	}
	var config corev1.ConfigMap
	key := client.ObjectKey{Namespace: s.maasCluster.Namespace, Name: infrav1.PreferredSubnetConfigMap}
	if err := s.Client.Get(ctx, key, &config); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("cannot read the ConfigMap %s: %w", key, err)
	}
	return splitWords(config.Data[infrav1.PreferredSubnetKey]), nil
}

// splitWords splits a text at commas, spaces and line ends. It also reads a
// YAML list.
func splitWords(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n[]\"'", r) })
	return slices.DeleteFunc(words, func(word string) bool { return word == "-" })
}

// resolveSubnets finds the CIDRs of subnets, or reports the ones that MAAS does
// not have.
func (s apiRecord) resolveSubnets(ctx context.Context, names []string) ([]netip.Prefix, bool) {
	if len(names) == 0 {
		return nil, true
	}
	have, err := s.site.Names.Subnets(ctx)
	if err != nil {
		s.reportError(infrav1.DNSReadyCondition, err)
		return nil, false
	}
	var found []netip.Prefix
	var unknown []string
	for _, name := range names {
		if cidr, ok := subnetPrefix(name, have); ok {
			found = append(found, cidr)
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		s.site.Names.Refresh()
		s.setCondition(infrav1.DNSReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason, fmt.Sprintf(
			"MAAS has no subnet %s; correct spec.preferredSubnets, or the ConfigMap %s of the namespace", strings.Join(unknown, ", "), infrav1.PreferredSubnetConfigMap))
		s.requeueWithin(requeue.WithJitter(requeue.RetryAfter))
		return nil, false
	}
	return found, true
}

// subnetPrefix returns the CIDR of a subnet that is given by name or CIDR. MAAS
// need not have the CIDR: it is only compared with addresses.
func subnetPrefix(name string, have []engine.Subnet) (netip.Prefix, bool) {
	if cidr, err := netip.ParsePrefix(name); err == nil {
		return cidr.Masked(), true
	}
	for _, subnet := range have {
		if subnet.Name == name {
			cidr, err := netip.ParsePrefix(subnet.CIDR)
			return cidr, err == nil
		}
	}
	return netip.Prefix{}, false
}

func joinAddresses(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, ip := range addresses {
		texts[i] = ip.String()
	}
	return strings.Join(texts, ", ")
}

// Package endpoint knows the name of a cluster's API, and the addresses of the
// machines that serve it.
package endpoint

import (
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// IsCustom reports whether the user said that somebody else publishes the
// cluster's endpoint.
func IsCustom(maas *infrav1.MaasCluster) bool {
	_, custom := maas.Annotations[infrav1.CustomEndpointAnnotation]
	return custom
}

// PublishedName splits a host into the label and domain of a DNS record that we
// publish. It returns false for an address, for a name outside the cluster's
// domain or in a subdomain, and where somebody else publishes the name.
func PublishedName(maas *infrav1.MaasCluster, host string) (engine.DNSName, bool) {
	label, ok := strings.CutSuffix(host, "."+maas.Spec.DNSDomain)
	if !ok || strings.Contains(label, ".") || IsCustom(maas) {
		return engine.DNSName{}, false
	}
	return engine.DNSName{Label: label, Domain: maas.Spec.DNSDomain}, true
}

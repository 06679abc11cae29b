// Package endpoint knows the name of a cluster's API, and the addresses of the machines
// that serve it.
package endpoint

import (
	"strings"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// IsCustom tells whether a cluster's user says that somebody else publishes its
// endpoint.
func IsCustom(maas *infrav1.MaasCluster) bool {
	_, custom := maas.Annotations[infrav1.CustomEndpointAnnotation]
	return custom
}

// PublishedName is a host as a name in the cluster's domain. It is none where the
// host is an address or a name elsewhere, below the domain too, or somebody else
// publishes it.
func PublishedName(maas *infrav1.MaasCluster, host string) (engine.DNSName, bool) {
	label, ok := strings.CutSuffix(host, "."+maas.Spec.DNSDomain)
	if !ok || strings.Contains(label, ".") || IsCustom(maas) {
		return engine.DNSName{}, false
	}
	return engine.DNSName{Label: label, Domain: maas.Spec.DNSDomain}, true
}

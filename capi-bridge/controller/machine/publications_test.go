package machine

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/endpoint"
	"github.com/maaslxd/maaslxd/engine"
)

// TestMachineReadsPublications: machines do not ask MAAS for what is known to be
// published.
func TestMachineReadsPublications(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	site := &controller.Site{} // nobody can be asked there
	name := engine.DNSName{Label: "prod", Domain: "maas"}
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("10.0.0.6")}
	maasCluster := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prod", UID: "1"}}
	maasCluster.Spec.DNSDomain, maasCluster.Status.Network.DNSName = name.Domain, name.String()
	published := &endpoint.Publications{}
	published.Remember(maasCluster, endpoint.Publication{Site: site, Name: name, Addresses: addresses, PublishedAt: begun})
	r := &Reconciler{Published: published, Now: func() time.Time { return begun }}
	s := &scope{Reconciler: r, site: site, maasCluster: maasCluster}
	got, err := dnsAttachment{s}.readAPIAddresses(t.Context())
	if diff := cmp.Diff(addresses, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

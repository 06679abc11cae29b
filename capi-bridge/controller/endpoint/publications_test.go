package endpoint

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/engine"
)

// TestPublications: what is published is known for a while, by that name in that
// MAAS, and machines do not ask MAAS for it.
func TestPublications(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	here, elsewhere := &controller.Site{}, &controller.Site{} // nobody can be asked there
	name := engine.DNSName{Label: "prod", Domain: "maas"}
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("10.0.0.6")}
	published := &Publications{}
	cluster := func(name, uid string) *infrav1.MaasCluster {
		return &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(uid)}}
	}
	published.Remember(cluster("prod", "1"), Publication{Site: here, Name: name, Addresses: addresses, PublishedAt: begun})
	cases := map[string]struct {
		reason  string
		of      *Publications
		cluster *infrav1.MaasCluster
		site    *controller.Site
		name    engine.DNSName
		after   time.Duration
		want    bool
	}{
		"Known":     {"The name was just published.", published, cluster("prod", "1"), here, name, time.Minute, true},
		"Expired":   {"Somebody may have changed it since.", published, cluster("prod", "1"), here, name, publishedValidity, false},
		"OtherMAAS": {"Another MAAS knows other names.", published, cluster("prod", "1"), elsewhere, name, 0, false},
		"OtherName": {"The endpoint was changed.", published, cluster("prod", "1"), here, engine.DNSName{Label: "x", Domain: "maas"}, 0, false},
		"Stranger":  {"Nothing of this cluster was published.", published, cluster("test", "1"), here, name, 0, false},
		"Successor": {"A former cluster of the same name published it.", published, cluster("prod", "2"), here, name, 0, false},
		"None":      {"Nothing was published by this process.", nil, cluster("prod", "1"), here, name, 0, false},
	}
	for test, tc := range cases {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			if _, got := tc.of.KnownAddresses(tc.cluster, tc.site, tc.name, begun.Add(tc.after)); got != tc.want {
				t.Errorf("%s known: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

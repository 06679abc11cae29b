package controller

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// TestPublications: what is published is known for a while, by that name in that
// MAAS, and machines do not ask MAAS for it.
func TestPublications(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	here, elsewhere := &Site{}, &Site{} // nobody can be asked there
	name := engine.DNSName{Label: "prod", Domain: "maas"}
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("10.0.0.6")}
	published := &Publications{}
	cluster := func(name, uid string) *infrav1.MaasCluster {
		return &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(uid)}}
	}
	published.remember(cluster("prod", "1"), publication{site: here, name: name, addresses: addresses, at: begun})
	cases := map[string]struct {
		reason  string
		of      *Publications
		cluster *infrav1.MaasCluster
		site    *Site
		name    engine.DNSName
		after   time.Duration
		want    bool
	}{
		"Known":     {"It was just published.", published, cluster("prod", "1"), here, name, time.Minute, true},
		"Expired":   {"Somebody may have changed it since.", published, cluster("prod", "1"), here, name, publishedFor, false},
		"OtherMAAS": {"Another MAAS knows other names.", published, cluster("prod", "1"), elsewhere, name, 0, false},
		"OtherName": {"The endpoint was changed.", published, cluster("prod", "1"), here, engine.DNSName{Label: "x", Domain: "maas"}, 0, false},
		"Stranger":  {"Nothing of it was published.", published, cluster("test", "1"), here, name, 0, false},
		"Successor": {"Another cluster had that name.", published, cluster("prod", "2"), here, name, 0, false},
		"None":      {"Nobody remembers.", nil, cluster("prod", "1"), here, name, 0, false},
	}
	for test, tc := range cases {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			if _, got := tc.of.known(tc.cluster, tc.site, tc.name, begun.Add(tc.after)); got != tc.want {
				t.Errorf("%s known: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
	r := &MachineReconciler{Published: published, Now: func() time.Time { return begun }}
	s := &machineScope{site: here, maasCluster: cluster("prod", "1")}
	s.maasCluster.Spec.DNSDomain, s.maasCluster.Status.Network.DNSName = name.Domain, name.String()
	got, err := r.apiAddresses(t.Context(), s)
	if diff := cmp.Diff(addresses, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// TestPublicationsAreForgotten: nothing is kept of a cluster whose object is gone,
// be it deleted or moved to another management cluster.
func TestPublicationsAreForgotten(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gone := &infrav1.MaasCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prod"}}
	r := &ClusterReconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	r.Published.remember(gone, publication{at: time.Now()})
	r.tells.tell(events.NewFakeRecorder(1), gone, []news{{note: "it goes"}}, errors.New("it could not be written"))
	if len(r.Published.seen) != 1 || len(r.tells.owed) != 1 {
		t.Fatalf("nothing was kept before: %v, %v", r.Published.seen, r.tells.owed)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(gone)}); err != nil {
		t.Fatal(err)
	}
	if len(r.Published.seen) > 0 || len(r.tells.owed) > 0 {
		t.Errorf("kept: %v, %v", r.Published.seen, r.tells.owed)
	}
}

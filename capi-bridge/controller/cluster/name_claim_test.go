package cluster_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
)

// newOtherCluster is another tenant's MaasCluster, with the name api.maas.
func newOtherCluster(made time.Time, change func(*infrav1.MaasCluster)) *infrav1.MaasCluster {
	c := &infrav1.MaasCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "other", CreationTimestamp: metav1.NewTime(made)},
		Spec:       infrav1.MaasClusterSpec{DNSDomain: "maas", ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "api.maas", Port: 6443}},
	}
	if change != nil {
		change(c)
	}
	return c
}

// hasClaimed is a cluster that published the name before.
func hasClaimed(c *infrav1.MaasCluster) {
	c.Annotations = map[string]string{cluster.DNSNameAnnotation: "api.maas"}
	c.Status.Network.DNSName, c.Status.Ready = "api.maas", true
	c.Status.Initialization.Provisioned = ptr.To(true)
}

// seemsToHaveClaimed is one that came with the annotation.
func seemsToHaveClaimed(c *infrav1.MaasCluster) {
	hasClaimed(c)
	c.Status = infrav1.MaasClusterStatus{}
}

// TestOthersNames: of two clusters of one MAAS that give the same name one has it, and
// the other one neither publishes nor removes it. Nor is a machine's name published.
func TestOthersNames(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	before, after := now.Add(-time.Hour), now.Add(time.Hour)
	secret := &infrav1.MaasIdentityReference{Kind: infrav1.IdentityKindSecret, Name: "nowhere"}
	cases := map[string]struct {
		reason  string
		other   *infrav1.MaasCluster
		claimed bool // by ours
		host    string
		whose   string // empty: ours publishes
	}{
		"ClaimedByAnother":   {reason: "The cluster that published the name keeps it.", other: newOtherCluster(after, hasClaimed), whose: "team-b/other"},
		"ForgedByAnother":    {reason: "Only the annotation of the other cluster shows that it published the name.", other: newOtherCluster(after, seemsToHaveClaimed)},
		"WantedByAnOlder":    {reason: "The other cluster is about to publish the name.", other: newOtherCluster(before, nil), whose: "team-b/other"},
		"WantedByAYounger":   {reason: "The cluster that claimed the name first keeps it.", other: newOtherCluster(after, nil)},
		"ClaimedByUs":        {reason: "An older cluster that never had the name comes too late.", other: newOtherCluster(before, nil), claimed: true},
		"CopiedFromUs":       {reason: "A copy is younger than its original.", other: newOtherCluster(after, hasClaimed), claimed: true},
		"CopiedFromAnother":  {reason: "Our object is the copy.", other: newOtherCluster(before, hasClaimed), claimed: true, whose: "team-b/other"},
		"AnotherName":        {reason: "The other cluster names another endpoint.", other: newOtherCluster(before, func(c *infrav1.MaasCluster) { c.Spec.ControlPlaneEndpoint.Host = "www.maas" })},
		"PublishedElsewhere": {reason: "Somebody else publishes the endpoint of the other cluster.", other: newOtherCluster(before, func(c *infrav1.MaasCluster) { setCustomEndpoint(true)(c) })},
		"AnotherIdentity": {
			reason: "A Secret of another namespace may belong to any MAAS.",
			other:  newOtherCluster(before, func(c *infrav1.MaasCluster) { hasClaimed(c); c.Spec.IdentityRef = secret }),
		},
		"AMachines": {reason: "Clients that look for the machine would find the cluster.", host: "bare1.maas", whose: "machine"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := "api.maas"
			if tc.host != "" {
				host = tc.host
			}
			var more []client.Object
			if tc.other != nil {
				more = append(more, tc.other)
			}
			model := sim.Model{Machines: []sim.MachineModel{{Hostname: "bare1", Cores: 4, MemoryMiB: 8192, DiskGB: 50}}}
			w := newClusterWorld(t, model, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.CreationTimestamp = metav1.NewTime(now)
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: host, Port: 6443}
				if tc.claimed {
					hasClaimed(m)
				}
			}, more...)
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			c := w.reconcileUntilSteady()
			if tc.whose == "" {
				if got := w.publishedAddresses(host); got != "10.77.0.11" {
					t.Errorf("%s\nthe name points to %s: %+v", tc.reason, got, c.Status.Conditions)
				}
				return
			}
			wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.ConflictReason, tc.whose)
			publishByOther(t, w, "api", "10.77.0.99") // the owner does
			w.reconcileUntilSteady()
			w.deleteObject(w.getMachine("m1"))
			w.removeMachineFinalizers("m1")
			w.deleteObject(w.findMaasCluster())
			if c := w.reconcileUntilSteady(); c != nil {
				t.Errorf("%s\nit is still there: %+v", tc.reason, c.Status.Conditions)
			}
			if got := w.publishedAddresses("api.maas"); got != "10.77.0.99" {
				t.Errorf("%s\nthe owner's name points to %s", tc.reason, got)
			}
		})
	}
}

// TestOthersNamesByAnotherAddress: a MAAS has several addresses, as of its two networks.
// A name in it is one name by all of them.
func TestOthersNamesByAnotherAddress(t *testing.T) {
	t.Parallel()
	for name, whose := range map[string]string{"SameMAAS": "team-b/other", "AnotherMAAS": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := newOtherCluster(time.Now().Add(-time.Hour), func(c *infrav1.MaasCluster) {
				hasClaimed(c)
				c.Spec.IdentityRef = &infrav1.MaasIdentityReference{Kind: infrav1.IdentityKindSecret, Name: "theirs"}
			})
			w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.CreationTimestamp = metav1.Now()
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.maas", Port: 6443}
			}, other)
			theirs := w.maas
			if whose == "" {
				theirs = sim.StartServer(t, sim.Model{})
			}
			credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "theirs"}, Data: map[string][]byte{
				infrav1.CredentialsKey: []byte(theirs.APIKey()),
				infrav1.EndpointKey:    []byte(strings.Replace(theirs.URL, "127.0.0.1", "localhost", 1)),
			}}
			if err := w.client.Create(t.Context(), credentials); err != nil {
				t.Fatal(err)
			}
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			c := w.reconcileUntilSteady()
			if whose != "" {
				wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.ConflictReason, whose)
			} else if got := w.publishedAddresses("api.maas"); got != "10.77.0.11" {
				t.Errorf("the name points to %s: %+v", got, c.Status.Conditions)
			}
		})
	}
}

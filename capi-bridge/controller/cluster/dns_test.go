package cluster_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/cluster"
)

// TestControlPlaneEndpoint: what somebody gave is kept, and only what nobody gave is made up.
func TestControlPlaneEndpoint(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*clusterv1.Cluster, *infrav1.MaasCluster)
		want   string // host:port
		record string // what the host points to in MAAS
	}{
		"Generated": {
			reason: "A cluster that nobody named gets the same name each time.",
			want:   testHost + ":6443", record: "10.77.0.11",
		},
		"OfTheMaasCluster": {
			reason: "A user's host and port are honoured.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.maas", Port: 8443}
			},
			want: "api.maas:8443", record: "10.77.0.11",
		},
		"OfTheCluster": {
			reason: "What the Cluster says counts where the MaasCluster says nothing.",
			change: func(c *clusterv1.Cluster, _ *infrav1.MaasCluster) {
				c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.maas", Port: 443}
			},
			want: "api.maas:443", record: "10.77.0.11",
		},
		"PortOfTheNetwork": {
			reason: "The port that the API server binds is the port by which it is reached.",
			change: func(c *clusterv1.Cluster, _ *infrav1.MaasCluster) { c.Spec.ClusterNetwork.APIServerPort = 7443 },
			want:   testHost + ":7443", record: "10.77.0.11",
		},
		"OfAnEarlierProvider": {
			reason: "A cluster that was made before keeps its name, which is random.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Status.Network.DNSName = "c1-abc123.maas" },
			want:   "c1-abc123.maas:6443", record: "10.77.0.11",
		},
		"Elsewhere": {
			reason: "A name outside of the cluster's domain is somebody else's to publish.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.example.org", Port: 6443}
			},
			want: "api.example.org:6443",
		},
		"Address": {
			reason: "An address is no name.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.1.2.3", Port: 6443}
			},
			want: "10.1.2.3:6443",
		},
		"Custom": {
			reason: "The annotation leaves even a name in the domain to somebody else.",
			change: func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
				m.Annotations = map[string]string{infrav1.CustomEndpointAnnotation: "true"}
				m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.maas", Port: 6443}
			},
			want: "api.maas:6443", record: "none",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, tc.change)
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			c := w.reconcileUntilSteady()
			if got := c.Spec.ControlPlaneEndpoint.String(); got != tc.want {
				t.Errorf("%s\nthe endpoint is %s, want %s", tc.reason, got, tc.want)
			}
			if got := c.Status.Network.DNSName; got != c.Spec.ControlPlaneEndpoint.Host {
				t.Errorf("%s\nstatus.network.dnsName is %q", tc.reason, got)
			}
			if !ptr.Deref(c.Status.Initialization.Provisioned, false) || !c.Status.Ready {
				t.Errorf("%s\nit is not provisioned: %+v", tc.reason, c.Status)
			}
			wantCondition(t, c, infrav1.DNSReadyCondition, conditionTrue, infrav1.DNSReadyReason, "")
			wantCondition(t, c, infrav1.ReadyCondition, conditionTrue, infrav1.ReadyReason, "")
			if told := conditions.GetMessage(c, infrav1.ReadyCondition); told != "" {
				t.Errorf("%s\nwhat is as it should be tells the Cluster %q", tc.reason, told)
			}
			if tc.record == "" {
				if n := w.countDNSWrites(); n > 0 {
					t.Errorf("%s\n%d writes to the DNS", tc.reason, n)
				}
			} else if got := w.publishedAddresses(c.Spec.ControlPlaneEndpoint.Host); got != tc.record {
				t.Errorf("%s\nthe name points to %s, want %s", tc.reason, got, tc.record)
			}
		})
	}
}

// TestCustomEndpointWithoutHost: nothing is made up for who says that he names
// the API himself.
func TestCustomEndpointWithoutHost(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.Annotations = map[string]string{infrav1.CustomEndpointAnnotation: ""}
	})
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.WaitForDNSNameReason, "spec.controlPlaneEndpoint.host")
	if c.Status.Ready || c.Spec.ControlPlaneEndpoint.Host != "" {
		t.Errorf("it is ready, with the endpoint %+v", c.Spec.ControlPlaneEndpoint)
	}
}

// TestLongNamesMakeALabel: a DNS label has no more than 63 letters.
func TestLongNamesMakeALabel(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(c *clusterv1.Cluster, m *infrav1.MaasCluster) {
		c.Name = strings.Repeat("long-", 14) + "x"
		m.OwnerReferences[0].Name = c.Name
	})
	label, _, _ := strings.Cut(w.reconcileUntilSteady().Spec.ControlPlaneEndpoint.Host, ".")
	if len(label) > 63 || strings.Contains(label, "--") {
		t.Errorf("%q is no good label", label)
	}
}

// TestDNSFollows: the record has the addresses of the control plane that serves.
func TestDNSFollows(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	steps := []struct {
		reason string
		do     func()
		want   string
	}{
		{"Nobody has an address: nothing is made.", func() {}, "none"},
		{"Workers do not serve the API.", func() { w.addMachine("w1", clusterMachine{worker: true, addresses: []string{"10.77.0.30"}}) }, "none"},
		{"It may have another address before it is switched on for that.",
			func() {
				w.addMachine("m1", clusterMachine{deploying: true, off: true, addresses: []string{"10.77.0.200"}})
			}, "none"},
		{"The first one must find itself by the name while it is deployed.",
			func() { w.setMachineStatus("m1", clusterMachine{deploying: true, addresses: []string{"10.77.0.11"}}) }, "10.77.0.11"},
		{"It is deployed.", func() { w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.11"}}) }, "10.77.0.11"},
		{"The next one does not serve while it is deployed.",
			func() { w.addMachine("m2", clusterMachine{deploying: true, addresses: []string{"10.77.0.12"}}) }, "10.77.0.11"},
		{"The next one serves.", func() { w.setMachineStatus("m2", clusterMachine{addresses: []string{"10.77.0.12"}}) }, "10.77.0.11 10.77.0.12"},
		{"An address changes.", func() { w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.21"}}) }, "10.77.0.12 10.77.0.21"},
		{"What goes is taken out before it is gone.", func() { w.deleteObject(w.getMachine("m1")) }, "10.77.0.12"},
		{"The last one that goes stays in: nothing would serve else.", func() { w.deleteObject(w.getMachine("m2")) }, "10.77.0.12"},
		{"Nobody is left: the record stays until the cluster goes.", func() { w.removeMachineFinalizers("m1"); w.removeMachineFinalizers("m2") }, "10.77.0.12"},
	}
	for _, step := range steps {
		step.do()
		w.reconcileUntilSteady()
		if got := w.publishedAddresses(testHost); got != step.want {
			t.Fatalf("%s\nthe name points to %s, want %s", step.reason, got, step.want)
		}
	}
}

// TestOffOnceDoesNotEmptyTheRecord: CAPMaaS emptied the API's record when the
// only machine of the control plane seemed to be off for one look.
func TestOffOnceDoesNotEmptyTheRecord(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	for name, m := range map[string]clusterMachine{"off": {off: true, addresses: []string{"10.77.0.11"}}, "without addresses": {off: true}} {
		before := w.countDNSWrites()
		w.setMachineStatus("m1", m)
		w.reconcileUntilSteady()
		if got := w.publishedAddresses(testHost); got != "10.77.0.11" {
			t.Errorf("%s: the name points to %s", name, got)
		}
		if n := w.countDNSWrites() - before; n > 0 {
			t.Errorf("%s: %d writes to the DNS", name, n)
		}
	}
}

// TestNameStaysWithWhoServes: a machine that is being deployed does not get the
// API's name from one that serves, and of which no address is known for one look.
func TestNameStaysWithWhoServes(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.addMachine("m2", clusterMachine{deploying: true, addresses: []string{"10.77.0.12"}})
	w.reconcileUntilSteady()
	w.setMachineStatus("m1", clusterMachine{})
	w.reconcileUntilSteady()
	if got := w.publishedAddresses(testHost); got != "10.77.0.11" {
		t.Errorf("the name points to %s", got)
	}
}

// TestNameAfterAMove: the machines of a cluster that was moved have lost their
// status. The name keeps the address of each until it is seen again.
func TestNameAfterAMove(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	addresses := map[string]string{"m1": "10.77.0.11", "m2": "10.77.0.12", "m3": "10.77.0.13"}
	for name, ip := range addresses {
		w.addMachine(name, clusterMachine{addresses: []string{ip}})
		m := w.getMachine(name)
		m.Spec.ProviderID = ptr.To("maas:///default/" + name)
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	w.reconcileUntilSteady()
	w.Reconciler = &cluster.Reconciler{Client: w.client, Sites: w.newSites(), Recorder: w.recorder, Now: w.Now} // the other management cluster's
	for name := range addresses {
		m := w.getMachine(name)
		m.Status = infrav1.MaasMachineStatus{}
		if err := w.client.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		reason string
		do     func()
		want   string
	}{
		{"Nobody was seen again.", func() {}, "10.77.0.11 10.77.0.12 10.77.0.13"},
		{"One was.", func() { w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.11"}}) }, "10.77.0.11 10.77.0.12 10.77.0.13"},
		{"It goes before the others were.", func() { w.deleteObject(w.getMachine("m1")) }, "10.77.0.12 10.77.0.13"},
		{"All were, one at another address.", func() {
			w.setMachineStatus("m2", clusterMachine{addresses: []string{"10.77.0.12"}})
			w.setMachineStatus("m3", clusterMachine{addresses: []string{"10.77.0.33"}})
		}, "10.77.0.12 10.77.0.33"},
	}
	for _, step := range steps {
		step.do()
		w.reconcileUntilSteady()
		if got := w.publishedAddresses(testHost); got != step.want {
			t.Fatalf("%s\nthe name points to %s, want %s", step.reason, got, step.want)
		}
	}
}

// TestAtRestNothingIsWritten: CAPMaaS wrote the record at every look.
func TestAtRestNothingIsWritten(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	writes, dns, calls := len(w.writes), w.countDNSWrites(), w.maas.Journal().Total()
	for range 5 {
		if _, err := w.reconcileOnce(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.writes) != writes || w.countDNSWrites() != dns {
		t.Errorf("it wrote %q, and %d times to the DNS", w.writes[writes:], w.countDNSWrites()-dns)
	}
	if n := w.maas.Journal().Total() - calls; n > 0 {
		t.Errorf("five looks took %d calls", n)
	}
}

// TestNameIsMended: what is done to the record by hand does not last.
func TestNameIsMended(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.reconcileUntilSteady()
	publishByOther(t, w, "c1-7a01d5", "10.77.0.99")
	w.now = w.now.Add(6 * time.Minute)
	w.reconcileUntilSteady()
	if got := w.publishedAddresses(testHost); got != "10.77.0.11" {
		t.Errorf("the name points to %s", got)
	}
}

// TestNameIsWrittenDownBeforeItIsMade: CAPMaaS made a random name in MAAS first,
// and made another one where it was killed in between.
func TestNameIsWrittenDownBeforeItIsMade(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	for deadly := 1; deadly <= 8; deadly++ { // there are fewer writes: the last rounds find all done
		w.writesLeft = deadly
		for range 3 {
			_, _ = w.reconcileOnce()
			if w.publishedAddresses(testHost) != "none" && w.findMaasCluster().Annotations[cluster.DNSNameAnnotation] != testHost {
				t.Fatal("the name is in MAAS, and not on the object")
			}
		}
		w.refusesWrites = false
	}
	w.writesLeft = 0
	w.reconcileUntilSteady()
	w.maas.AddFault(sim.Fault{Method: "PUT", Path: "dnsresources/*/", When: sim.FaultAfterEffect, Kind: sim.FaultLostReply, Nth: 1})
	w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.12"}})
	w.reconcileUntilSteady()
	if got := w.publishedAddresses(testHost); got != "10.77.0.12" {
		t.Errorf("the name points to %s", got)
	}
	if n := w.maas.Journal().Count("POST dnsresources/"); n != 1 {
		t.Errorf("%d names were made", n)
	}
}

// TestPreferredSubnets: of a machine's addresses the one in the first preferred
// subnet is published.
func TestPreferredSubnets(t *testing.T) {
	t.Parallel()
	model := sim.Model{Subnets: []sim.SubnetModel{{Name: "storage", CIDR: "10.88.0.0/24"}, {Name: "api", CIDR: "10.77.0.0/24", DHCP: true}}}
	config := func(text string) client.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: infrav1.PreferredSubnetConfigMap},
			Data:       map[string]string{infrav1.PreferredSubnetKey: text},
		}
	}
	cases := map[string]struct {
		reason    string
		preferred []string
		config    string
		deploying bool
		want      string
		condition string
	}{
		"None":      {reason: "Without preferred subnets, the first address counts.", want: "10.88.0.11"},
		"CIDR":      {reason: "A preferred subnet can be named by its CIDR.", preferred: []string{"10.77.0.0/24"}, want: "10.77.0.11"},
		"Name":      {reason: "A preferred subnet can be named by its name in MAAS.", preferred: []string{"api"}, want: "10.77.0.11"},
		"Order":     {reason: "The first preferred subnet with an address counts.", preferred: []string{"10.99.0.0/24", "storage", "api"}, want: "10.88.0.11"},
		"ConfigMap": {reason: "The namespace can name the subnets for all clusters.", config: "10.99.0.0/16, 10.77.0.0/24", want: "10.77.0.11"},
		"YAML":      {reason: "A list in the ConfigMap is read, too.", config: "- 10.77.0.0/24\n", want: "10.77.0.11"},
		"Spec":      {reason: "The spec counts more than the ConfigMap.", preferred: []string{"storage"}, config: "10.77.0.0/24", want: "10.88.0.11"},
		"Nowhere": {
			reason: "An address in another subnet is not published, and a condition reports that.", preferred: []string{"10.99.0.0/24"}, want: "none",
			condition: infrav1.InvalidSpecReason,
		},
		"NowhereYet": {
			reason: "A machine that is being deployed may still get an address there.", preferred: []string{"10.99.0.0/24"}, want: "none", deploying: true,
			condition: infrav1.WaitingForControlPlaneReason,
		},
		"Unknown": {
			reason: "A name that MAAS does not have is a mistake.", preferred: []string{"apy"}, want: "none",
			condition: infrav1.InvalidSpecReason,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, model, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Spec.PreferredSubnets = tc.preferred }, config(tc.config))
			w.addMachine("m1", clusterMachine{addresses: []string{"10.88.0.11", "10.77.0.11"}, deploying: tc.deploying})
			c := w.reconcileUntilSteady()
			if got := w.publishedAddresses(testHost); got != tc.want {
				t.Errorf("%s\nthe name points to %s, want %s", tc.reason, got, tc.want)
			}
			if tc.condition != "" {
				wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, tc.condition, tc.preferred[0])
			}
			if got, want := conditions.IsTrue(c, infrav1.ReadyCondition), tc.condition == "" || tc.deploying; got != want {
				t.Errorf("%s\nReady is %t, want %t", tc.reason, got, want)
			}
		})
	}
}

// TestNamesOfOthersAreLeftAlone: a user's name that MAAS has for somebody else is
// neither changed nor removed.
func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "www.maas", Port: 6443}
	})
	publishByOther(t, w, "www", "10.77.0.99")
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.ConflictReason, "10.77.0.99")
	wantCondition(t, c, infrav1.ReadyCondition, conditionFalse, infrav1.NotReadyReason, "10.77.0.99")
	if c.Status.Ready {
		t.Error("it is provisioned, with a name that leads elsewhere")
	}
	w.deleteObject(w.getMachine("m1"))
	w.removeMachineFinalizers("m1")
	w.deleteObject(c)
	w.reconcileUntilSteady()
	if got := w.publishedAddresses("www.maas"); got != "10.77.0.99" {
		t.Errorf("the name points to %s", got)
	}
}

// TestDNSOfAClusterThatGoes: while its Cluster is being deleted the name is left as
// it is, and nobody is asked for it: it goes with the MaasCluster.
func TestDNSOfAClusterThatGoes(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(c *clusterv1.Cluster, _ *infrav1.MaasCluster) {
		c.Finalizers = []string{clusterv1.ClusterFinalizer}
	})
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	w.addMachine("m2", clusterMachine{addresses: []string{"10.77.0.12"}})
	w.reconcileUntilSteady()
	w.deleteObject(newCluster())
	w.maas.ResetJournal()
	for _, name := range []string{"m1", "m2"} {
		w.deleteObject(w.getMachine(name))
		w.reconcileUntilSteady()
	}
	if calls := w.maas.Journal().Calls; len(calls) > 0 {
		t.Errorf("MAAS was asked for %d things: %+v", len(calls), calls)
	}
	for _, name := range []string{"m1", "m2"} {
		w.removeMachineFinalizers(name)
	}
	w.deleteObject(w.findMaasCluster())
	if c := w.reconcileUntilSteady(); c != nil {
		t.Errorf("it is still there: %+v", c.Status.Conditions)
	}
	if got := w.publishedAddresses(testHost); got != "none" {
		t.Errorf("the name points to %s", got)
	}
}

// TestUnknownDomain: machines that are to look for the API in a domain that MAAS
// does not have are not made.
func TestUnknownDomain(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) { m.Spec.DNSDomain = "nowhere" })
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.DNSReadyCondition, conditionFalse, infrav1.DNSDomainNotFoundReason, "nowhere")
	if c.Status.Ready {
		t.Error("it is provisioned")
	}
}

// TestDNSRefused: a record that MAAS does not take is told as that.
func TestDNSRefused(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.maas.AddFault(sim.Fault{Method: "POST", Path: "dnsresources/", Kind: sim.FaultStatus, Status: 400, Body: "no such thing"})
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	wantCondition(t, w.reconcileUntilSteady(), infrav1.DNSReadyCondition, conditionFalse, infrav1.DNSFailedReason, "no such thing")
}

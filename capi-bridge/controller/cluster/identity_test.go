package cluster_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/engine"
)

// setIdentityRef names an identity.
func setIdentityRef(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
	m.Spec.IdentityRef = &infrav1.MaasIdentityReference{Name: "lab"}
}

// labIdentityObjects is an identity for a MAAS, with its Secret.
func labIdentityObjects(s *sim.Server, may *infrav1.AllowedNamespaces) []client.Object {
	return []client.Object{
		&infrav1.MaasClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "lab"}, Spec: infrav1.MaasClusterIdentitySpec{
			Endpoint: s.URL, SecretRef: infrav1.SecretReference{Name: "lab-key"}, AllowedNamespaces: may,
		}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: "lab-key"}, Data: map[string][]byte{infrav1.CredentialsKey: []byte(s.APIKey())}},
	}
}

// TestMaasClusterOfAnotherMAAS: an identity decides where the name is published, and
// the manager's own MAAS sees nothing of it. CAPMaaS took the credentials for one
// call from here and for the next from there.
func TestMaasClusterOfAnotherMAAS(t *testing.T) {
	t.Parallel()
	far := sim.StartServer(t, sim.Model{Zones: []string{"far"}, Hosts: []sim.HostModel{{Name: "far1", Cores: 8, MemoryMiB: 16384, Zone: "far"}}})
	w := newClusterWorld(t, sim.Model{}, setIdentityRef, labIdentityObjects(far, &infrav1.AllowedNamespaces{List: []string{testNamespace}})...)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}, zone: "far"})
	c := w.reconcileUntilSteady()
	if len(c.Status.FailureDomains) != 1 || c.Status.FailureDomains[0].Name != "far" {
		t.Errorf("the failure domains are %+v", c.Status.FailureDomains)
	}
	record, err := newMAASClient(t, far).DNS.DNSRecord(t.Context(), engine.DNSName{Label: "c1-7a01d5", Domain: "maas"})
	if err != nil || len(record.Addresses) != 1 {
		t.Errorf("the far MAAS has %v, %v", record, err)
	}
	w.deleteObject(w.getMachine("m1"))
	w.removeMachineFinalizers("m1")
	w.deleteObject(c)
	w.reconcileUntilSteady()
	if _, err := newMAASClient(t, far).DNS.DNSRecord(t.Context(), engine.DNSName{Label: "c1-7a01d5", Domain: "maas"}); err == nil {
		t.Error("the name is left behind")
	}
	if n := w.maas.Journal().Total(); n > 0 {
		t.Errorf("the manager's own MAAS saw %d calls", n)
	}
}

// TestClusterKnowsItsMAAS: an identity that names another MAAS one day is told of, and
// that MAAS is left alone until somebody accepts it.
func TestClusterKnowsItsMAAS(t *testing.T) {
	t.Parallel()
	may := &infrav1.AllowedNamespaces{List: []string{testNamespace}}
	hosts := []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Zone: "far"}}
	first, second := sim.StartServer(t, sim.Model{Zones: []string{"far"}, Hosts: hosts}), sim.StartServer(t, sim.Model{Zones: []string{"far"}, Hosts: hosts})
	w := newClusterWorld(t, sim.Model{}, setIdentityRef, labIdentityObjects(first, may)...)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}, zone: "far"})
	known := w.reconcileUntilSteady().Annotations[controller.RegionAnnotation]
	if known == "" {
		t.Fatal("the cluster does not know its MAAS")
	}
	var id infrav1.MaasClusterIdentity
	w.getObject("", "lab", &id)
	id.Spec.Endpoint = second.URL
	w.updateObject(&id)
	var secret corev1.Secret
	w.getObject(infrav1.DefaultNamespace, "lab-key", &secret)
	secret.Data[infrav1.CredentialsKey] = []byte(second.APIKey())
	w.updateObject(&secret)
	w.now = w.now.Add(2 * time.Minute)
	c := conditions.Get(w.reconcileUntilSteady(), infrav1.IdentityReadyCondition)
	if c.Status != metav1.ConditionFalse || c.Reason != infrav1.AnotherMAASReason || !strings.Contains(c.Message, infrav1.AcceptMAASAnnotation+"=none") {
		t.Errorf("the condition is %+v", c)
	}
	for _, call := range second.Journal().Calls {
		if !strings.HasPrefix(call.Route, http.MethodGet) {
			t.Errorf("it wrote to the other MAAS: %s", call.Route)
		}
	}
	accepting := w.findMaasCluster()
	accepting.Annotations[infrav1.AcceptMAASAnnotation] = "none"
	w.updateObject(accepting)
	w.now = w.now.Add(2 * time.Minute)
	c = conditions.Get(w.reconcileUntilSteady(), infrav1.IdentityReadyCondition)
	now := w.findMaasCluster().Annotations
	if region := now[controller.RegionAnnotation]; c.Status != metav1.ConditionTrue || region == known || region == "" {
		t.Errorf("the condition is %+v, and the cluster knows %q", c, region)
	}
	if now[infrav1.AcceptMAASAnnotation] != "" {
		t.Error("the next MAAS without a mark would be accepted, too")
	}
}

// TestIdentityIsNotReady: what is missing or wrong is a condition with a way out,
// and mended without a restart.
func TestIdentityIsNotReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		why          string
		change       func(*clusterv1.Cluster, *infrav1.MaasCluster)
		objects      func(*sim.Server) []client.Object
		broken       func(*clusterWorld)
		mend         func(*clusterWorld)
		reason, says string
	}{
		"NoIdentity": {
			why: "There is no identity of this name.", change: setIdentityRef, reason: infrav1.IdentityNotFoundReason, says: "MaasClusterIdentity lab",
			mend: func(w *clusterWorld) {
				for _, o := range labIdentityObjects(w.maas, &infrav1.AllowedNamespaces{}) {
					w.createObject(o)
				}
			},
		},
		"NotAllowed": {
			why: "Somebody else's identity.", change: setIdentityRef, reason: infrav1.IdentityNotAllowedReason, says: "namespace team-a",
			objects: func(s *sim.Server) []client.Object { return labIdentityObjects(s, nil) },
			mend: func(w *clusterWorld) {
				var id infrav1.MaasClusterIdentity
				w.getObject("", "lab", &id)
				id.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{List: []string{testNamespace}}
				w.updateObject(&id)
			},
		},
		"NoSecret": {
			why: "The manager's own Secret is not there.", reason: infrav1.CredentialsNotFoundReason, says: "maas-credentials",
			broken: func(w *clusterWorld) { w.deleteObject(controllertest.CredentialObjects(w.maas)[0]) },
			mend:   func(w *clusterWorld) { w.createObject(controllertest.CredentialObjects(w.maas)[0]) },
		},
		"WrongKey": {
			why: "MAAS does not take the key.", reason: infrav1.CredentialsRefusedReason, says: "",
			broken: func(w *clusterWorld) { w.setAPIKey("consumerPart00001:tokenPart000000002:secretPart00000000000000003") },
			mend:   func(w *clusterWorld) { w.setAPIKey(w.maas.APIKey()) },
		},
		"NotAnAdministrator": {
			why: "A key that may look, and not publish names.", reason: infrav1.CredentialsRefusedReason, says: "administrator",
			broken: func(w *clusterWorld) { w.setAPIKey(w.maas.UserAPIKey()) },
			mend:   func(w *clusterWorld) { w.setAPIKey(w.maas.APIKey()) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, sim.Model{}, tc.change)
			if tc.objects != nil {
				for _, o := range tc.objects(w.maas) {
					w.createObject(o)
				}
			}
			if tc.broken != nil {
				tc.broken(w)
			}
			w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
			c := w.reconcileUntilSteady()
			wantCondition(t, c, infrav1.IdentityReadyCondition, conditionFalse, tc.reason, tc.says)
			wantCondition(t, c, infrav1.ReadyCondition, conditionFalse, infrav1.NotReadyReason, infrav1.IdentityReadyCondition)
			tc.mend(w)
			w.now = w.now.Add(2 * time.Minute)
			c = w.reconcileUntilSteady()
			wantCondition(t, c, infrav1.IdentityReadyCondition, conditionTrue, infrav1.IdentityReadyReason, "")
			if !c.Status.Ready || w.publishedAddresses(testHost) != "10.77.0.11" {
				t.Errorf("%s\nmended, it is not ready: %+v", tc.why, c.Status.Conditions)
			}
		})
	}
}

// TestRefusedKeyIsWrittenOnce: a key that is refused again and again changes
// nothing each time.
func TestRefusedKeyIsWrittenOnce(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.setAPIKey(w.maas.UserAPIKey())
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	first := conditions.Get(w.reconcileUntilSteady(), infrav1.IdentityReadyCondition)
	time.Sleep(time.Second) // the grain of a condition's time
	w.now = w.now.Add(2 * time.Minute)
	writes := len(w.writes)
	if again := conditions.Get(w.reconcileUntilSteady(), infrav1.IdentityReadyCondition); !again.LastTransitionTime.Equal(&first.LastTransitionTime) || len(w.writes) > writes {
		t.Errorf("it was written again: %q", w.writes[writes:])
	}
}

func (w *clusterWorld) createObject(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *clusterWorld) updateObject(o client.Object) {
	w.t.Helper()
	if err := w.client.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *clusterWorld) getObject(namespace, name string, into client.Object) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into); err != nil {
		w.t.Fatal(err)
	}
}

// setAPIKey changes the manager's own API key.
func (w *clusterWorld) setAPIKey(key string) {
	w.t.Helper()
	var secret corev1.Secret
	w.getObject(infrav1.DefaultNamespace, infrav1.CredentialsSecret, &secret)
	secret.Data[infrav1.CredentialsKey] = []byte(key)
	w.updateObject(&secret)
}

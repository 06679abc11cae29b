package manager_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeTwoIdentities: two clusters of a namespace are on two MAASes; a third
// names an identity that does not allow its namespace, and goes on by itself once it
// does.
func TestKubeTwoIdentities(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "identities", fastModel())
	second := w.startMAAS("second", fastModel())
	t.Cleanup(func() { w.isSecret(second) })
	w.identity("second", second.URL, second.APIKey(), "identities", "elsewhere")
	w.identity("closed", second.URL, second.APIKey(), "elsewhere")
	before := len(w.maas.Machines())
	on := func(identity string) func(*infrav1.MaasCluster) {
		return func(c *infrav1.MaasCluster) { c.Spec.IdentityRef.Name = identity }
	}
	refused := w.cluster("c3", on("closed"))
	c1, c2 := w.readyCluster("c1", nil), w.readyCluster("c2", on("second"))
	w.machine("c1", "w-1", vm(), nil)
	w.machine("c2", "w-2", vm(), nil)
	one, two := w.isReady("w-1"), w.isReady("w-2")
	if all := w.maas.Instances(); len(all) != 1 || all[0].MachineID != *one.Spec.SystemID {
		t.Errorf("the first MAAS has %+v", all)
	}
	if all := second.Instances(); len(all) != 1 || all[0].MachineID != *two.Spec.SystemID {
		t.Errorf("the second MAAS has %+v", all)
	}

	w.lacksIdentity(refused, infrav1.IdentityNotAllowedReason, "closed", "identities", "allowedNamespaces")
	w.amend(&infrav1.MaasClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "closed"}}, func(o client.Object) {
		o.(*infrav1.MaasClusterIdentity).Spec.AllowedNamespaces.List = []string{"identities"}
	})
	w.ready(refused)
	w.removeAll("w-2")
	w.remove(c2)
	w.awaitGone(c2)
	w.end(c1, before, "w-1")
	if left := second.Instances(); len(left) > 0 {
		t.Errorf("left in the second MAAS: %+v", left)
	}
}

// lacksIdentity waits until a cluster says why it has no MAAS, in a condition and in
// an event.
func (w *world) lacksIdentity(c *infrav1.MaasCluster, reason string, parts ...string) {
	w.t.Helper()
	w.await(c, reason, func() string {
		if conditions.GetReason(c, infrav1.IdentityReadyCondition) != reason {
			return said(c)
		}
		return ""
	})
	w.want(c, infrav1.IdentityReadyCondition, metav1.ConditionFalse, reason, parts...)
	w.told(c.Name, reason, parts[0])
}

// TestKubeCredentialsMended: credentials that are missing, then wrong, then right,
// and later revoked and made anew. What waits for them goes on by itself, and what
// runs is as Ready as ever.
func TestKubeCredentialsMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "credentials", fastModel())
	before := len(w.maas.Machines())
	right := w.maas.APIKey()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sharedSpace, Name: w.space}}
	w.remove(secret)
	c := w.cluster("c", nil)
	w.lacksIdentity(c, infrav1.CredentialsNotFoundReason, "Secret "+sharedSpace+"/credentials", "apiKey")
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sharedSpace, Name: w.space}, StringData: map[string]string{infrav1.CredentialsKey: "not-a-key"}})
	w.lacksIdentity(c, infrav1.InvalidSpecReason, "Secret "+sharedSpace+"/credentials")
	write := func(key string) {
		w.amend(secret, func(o client.Object) {
			o.(*corev1.Secret).Data = map[string][]byte{infrav1.CredentialsKey: []byte(key)}
		})
	}
	const revoked = "consumer:token-revoked:secret-revoked"
	write(revoked)
	w.lacksIdentity(c, infrav1.CredentialsRefusedReason, "administrator")
	write(right)
	w.ready(c)
	w.machine("c", "w-0", vm(), nil)
	w.isReady("w-0")

	write(revoked)
	w.eventually("MAAS refuses the key", func() string {
		w.nudge(w.object("w-0"))
		calls := w.maas.Journal().Calls
		if calls[len(calls)-1].Status != http.StatusUnauthorized {
			return "the former is used"
		}
		return ""
	})
	w.machine("c", "w-1", vm(), nil)
	m := w.until("w-1", infrav1.MachineDeployedCondition, infrav1.IdentityNotReadyReason)
	w.want(m, infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotReadyReason, "key")
	w.told("w-1", infrav1.IdentityNotReadyReason, "key")
	if m := w.isReady("w-0"); !conditions.IsTrue(m, infrav1.MachineDeployedCondition) {
		t.Errorf("what runs is not Ready because a key was revoked: %s", said(m))
	}
	write(right)
	w.isReady("w-1")
	w.end(c, before, "w-0", "w-1")
}

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
	t.Cleanup(func() { w.wantSecretUnlogged(second) })
	w.createIdentity("second", second.URL, second.APIKey(), "identities", "elsewhere")
	w.createIdentity("closed", second.URL, second.APIKey(), "elsewhere")
	before := len(w.maas.Machines())
	on := func(identity string) func(*infrav1.MaasCluster) {
		return func(c *infrav1.MaasCluster) { c.Spec.IdentityRef.Name = identity }
	}
	refused := w.createCluster("c3", on("closed"))
	c1, c2 := w.createReadyCluster("c1", nil), w.createReadyCluster("c2", on("second"))
	w.createMachine("c1", "w-1", newVMSpec(), nil)
	w.createMachine("c2", "w-2", newVMSpec(), nil)
	one, two := w.awaitReady("w-1"), w.awaitReady("w-2")
	if all := w.maas.Instances(); len(all) != 1 || all[0].MachineID != *one.Spec.SystemID {
		t.Errorf("the first MAAS has %+v", all)
	}
	if all := second.Instances(); len(all) != 1 || all[0].MachineID != *two.Spec.SystemID {
		t.Errorf("the second MAAS has %+v", all)
	}

	w.awaitIdentityFailure(refused, infrav1.IdentityNotAllowedReason, "closed", "identities", "allowedNamespaces")
	w.patchObject(&infrav1.MaasClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "closed"}}, func(o client.Object) {
		o.(*infrav1.MaasClusterIdentity).Spec.AllowedNamespaces.List = []string{"identities"}
	})
	w.awaitProvisioned(refused)
	w.deleteMachines("w-2")
	w.deleteObject(c2)
	w.awaitGone(c2)
	w.deleteCluster(c1, before, "w-1")
	if left := second.Instances(); len(left) > 0 {
		t.Errorf("left in the second MAAS: %+v", left)
	}
}

// awaitIdentityFailure waits until a cluster says why it has no MAAS, in a condition and in
// an event.
func (w *world) awaitIdentityFailure(c *infrav1.MaasCluster, reason string, parts ...string) {
	w.t.Helper()
	w.awaitObject(c, reason, func() string {
		if conditions.GetReason(c, infrav1.IdentityReadyCondition) != reason {
			return describeConditions(c)
		}
		return ""
	})
	w.wantCondition(c, infrav1.IdentityReadyCondition, metav1.ConditionFalse, reason, parts...)
	w.awaitEvent(c.Name, reason, parts[0])
}

// TestKubeCredentialsMended: credentials are missing, then wrong, then right,
// and later revoked and renewed. Objects that wait for them continue by
// themselves. Running machines stay Ready.
func TestKubeCredentialsMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "credentials", fastModel())
	before := len(w.maas.Machines())
	right := w.maas.APIKey()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sharedSpace, Name: w.namespace}}
	w.deleteObject(secret)
	c := w.createCluster("c", nil)
	w.awaitIdentityFailure(c, infrav1.CredentialsNotFoundReason, "Secret "+sharedSpace+"/credentials", "apiKey")
	w.createObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sharedSpace, Name: w.namespace}, StringData: map[string]string{infrav1.CredentialsKey: "not-a-key"}})
	w.awaitIdentityFailure(c, infrav1.InvalidSpecReason, "Secret "+sharedSpace+"/credentials")
	write := func(key string) {
		w.patchObject(secret, func(o client.Object) {
			o.(*corev1.Secret).Data = map[string][]byte{infrav1.CredentialsKey: []byte(key)}
		})
	}
	const revoked = "consumer:token-revoked:secret-revoked"
	write(revoked)
	w.awaitIdentityFailure(c, infrav1.CredentialsRefusedReason, "administrator")
	write(right)
	w.awaitProvisioned(c)
	w.createMachine("c", "w-0", newVMSpec(), nil)
	w.awaitReady("w-0")

	write(revoked)
	w.waitFor("MAAS refuses the key", func() string {
		w.touchObject(w.machineObject("w-0"))
		calls := w.maas.Journal().Calls
		if calls[len(calls)-1].Status != http.StatusUnauthorized {
			return "the former is used"
		}
		return ""
	})
	w.createMachine("c", "w-1", newVMSpec(), nil)
	m := w.awaitReason("w-1", infrav1.MachineDeployedCondition, infrav1.IdentityNotReadyReason)
	w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.IdentityNotReadyReason, "key")
	w.awaitEvent("w-1", infrav1.IdentityNotReadyReason, "key")
	if m := w.awaitReady("w-0"); !conditions.IsTrue(m, infrav1.MachineDeployedCondition) {
		t.Errorf("what runs is not Ready because a key was revoked: %s", describeConditions(m))
	}
	write(right)
	w.awaitReady("w-1")
	w.deleteCluster(c, before, "w-0", "w-1")
}

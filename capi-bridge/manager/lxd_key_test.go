package manager_test

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeUnusableKey: a fleet's key pair that cannot be used is in the way of LXD
// hosts, and of VMs that are made in LXD itself, and they say so. Clusters and bare
// metal come and go as ever.
func TestKubeUnusableKey(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.MAASVersion, model.LXDListen = sim.VersionGone, sim.LXDListenPorts
	for n := range model.Hosts {
		model.Hosts[n].TrustedCertificates = []string{onStage(t).key.Certificate}
	}
	w := newWorld(t, "badkey", model)
	for _, l := range w.maas.LXDs() {
		w.noteVMHost(l)
	}
	before := len(w.maas.Machines())
	w.watchLabel = w.namespace // a manager of its own
	pair := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "badkey-system", Name: keySecret}, Type: corev1.SecretTypeTLS,
		StringData: map[string]string{corev1.TLSCertKey: "typed by hand", corev1.TLSPrivateKeyKey: w.key.Key},
	}
	w.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pair.Namespace}}, pair)
	as, err := w.grantRights(t.Context(), pair.Namespace, w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	w.runManager(as, filepath.Join(t.TempDir(), "ledger.db"))
	c, hosts := w.createReadyCluster("c", nil), w.createReadyCluster("hosts", makeLXDHostCluster)
	w.createMachine("c", "metal-0", newMetalSpec(), makeControlPlane)
	w.createMachine("c", "vm-0", newVMSpec(), nil)
	w.createMachine("hosts", "host-0", newMetalSpec(), nil)
	says := []string{"Secret badkey-system/" + keySecret + " cannot be used", corev1.TLSCertKey}
	w.awaitReady("metal-0")
	w.wantCondition(w.awaitReason("vm-0", infrav1.LXDHostSelectedCondition, infrav1.InsufficientResourcesReason),
		infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.InsufficientResourcesReason, says...)
	w.wantCondition(w.awaitReason("host-0", infrav1.MachineDeployedCondition, infrav1.InvalidSpecReason),
		infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason, append(says, "the manager's LXD key")...)
	w.wantCondition(c, infrav1.IdentityReadyCondition, metav1.ConditionTrue, infrav1.IdentityReadyReason)
	w.deleteMachines("metal-0", "host-0")
	w.deleteObject(hosts)
	w.awaitGone(hosts)

	w.patchObject(pair, func(o client.Object) {
		o.(*corev1.Secret).Data[corev1.TLSCertKey] = []byte(w.key.Certificate)
	})
	w.touchUntilReason("vm-0", infrav1.MachineDeployedCondition, infrav1.MachineDeployedReason, "")
	w.deleteCluster(c, before, "vm-0")
}

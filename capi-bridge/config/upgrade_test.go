package config_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// newerVersion is the release that clusterctl upgrades to.
const newerVersion = "v0.10.1"

// upgraded is what a manager of another release finds.
type upgraded struct {
	api     client.Client
	maas    *sim.Server
	machine *infrav1.MaasMachine // as the manager before left it
}

// upgradeRelease has clusterctl put another release in the place of one that has made a
// machine. All that is the user's or the fleet's stays.
func upgradeRelease(t *testing.T, c *kubetest.ControlPlane, ctl *kubetest.Clusterctl, api client.Client, old *kubetest.RunningManager) upgraded {
	t.Helper()
	maas := sim.StartServer(t, sim.Model{Images: []string{"ubuntu/noble", "custom/k8s"}, Hosts: []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384}}})
	createCredentials(t, c, maas)
	before := awaitMachine(t, api)
	stays := listLastingObjects(t, c)

	old.Stop()
	maas.ResetJournal()
	if plan, err := ctl.Run(t.Context(), "upgrade", "plan"); err != nil || !strings.Contains(string(plan), newerVersion) {
		t.Errorf("the plan has no %s: %v\n%s", newerVersion, err, plan)
	}
	if _, err := ctl.Run(t.Context(), "upgrade", "apply", "--infrastructure", namespace+"/maas:"+newerVersion); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stays, listLastingObjects(t, c)); diff != "" {
		t.Errorf("not all of it outlived the upgrade: -before +after:\n%s", diff)
	}
	return upgraded{api, maas, before}
}

// wantMachineUnchanged holds that the next manager goes on with the machine without a change
// in MAAS.
func (u upgraded) wantMachineUnchanged(t *testing.T, begin func()) {
	t.Helper()
	// A manager that shows this has looked at the machine after it.
	if err := u.maas.EditMachine(*u.machine.Spec.SystemID, sim.MachineEdit{PowerState: ptr.To("off")}); err != nil {
		t.Fatal(err)
	}
	begin()
	now := &infrav1.MaasMachine{}
	waitUntil(t, "the next manager to look at the machine", func() bool {
		if err := u.api.Get(t.Context(), client.ObjectKeyFromObject(u.machine), now); err != nil {
			t.Fatal(err)
		}
		return !now.Status.MachinePowered
	})
	if diff := cmp.Diff(keptParts(u.machine), keptParts(now)); diff != "" {
		t.Errorf("the machine is another: -before +after:\n%s", diff)
	}
	for _, call := range u.maas.Journal().Calls {
		if !strings.HasPrefix(call.Route, http.MethodGet) {
			t.Errorf("the upgrade changed MAAS: %s %v", call.Route, call.Form)
		}
	}
}

// keptParts is what a manager leaves as it is.
func keptParts(m *infrav1.MaasMachine) any {
	return []any{m.UID, m.Annotations, m.Labels, m.Finalizers, m.OwnerReferences, m.Spec}
}

// createCredentials gives the manager a MAAS.
func createCredentials(t *testing.T, c *kubetest.ControlPlane, maas *sim.Server) {
	t.Helper()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: named(infrav1.CredentialsSecret), StringData: map[string]string{infrav1.CredentialsKey: maas.APIKey()}},
		&corev1.ConfigMap{ObjectMeta: named(infrav1.EndpointConfigMap), Data: map[string]string{infrav1.EndpointKey: maas.URL}},
	} {
		if err := c.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitMachine waits until a machine is ready, and its cluster's name leads to it.
// The cluster is touched every now and then: nobody else tells a manager soon that
// there are credentials now.
func awaitMachine(t *testing.T, api client.Client) *infrav1.MaasMachine {
	t.Helper()
	clusters, machines := &infrav1.MaasClusterList{}, &infrav1.MaasMachineList{}
	nameless := func(c infrav1.MaasCluster) bool { return !conditions.IsTrue(&c, infrav1.DNSReadyCondition) }
	ready := func(m infrav1.MaasMachine) bool { return conditions.IsTrue(&m, infrav1.ReadyCondition) }
	waitUntil(t, "a machine that is ready", func() bool {
		for _, list := range []client.ObjectList{clusters, machines} {
			if err := api.List(t.Context(), list, client.InNamespace("default")); err != nil {
				t.Fatal(err)
			}
		}
		for i := range clusters.Items {
			touch := []byte(`{"metadata":{"annotations":{"touched":"` + time.Now().Format(time.RFC3339) + `"}}}`)
			if err := api.Patch(t.Context(), &clusters.Items[i], client.RawPatch(types.MergePatchType, touch)); err != nil {
				t.Fatal(err)
			}
		}
		return slices.ContainsFunc(machines.Items, ready) && !slices.ContainsFunc(clusters.Items, nameless)
	})
	return &machines.Items[slices.IndexFunc(machines.Items, ready)]
}

// listLastingObjects are the objects that an upgrade leaves where they are, by their UIDs,
// which objects that were made again do not have.
func listLastingObjects(t *testing.T, c *kubetest.ControlPlane) map[string]types.UID {
	t.Helper()
	secrets, configs, crds := &corev1.SecretList{}, &corev1.ConfigMapList{}, &apiextensionsv1.CustomResourceDefinitionList{}
	for _, list := range []client.ObjectList{secrets, configs} {
		if err := c.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Client.List(t.Context(), crds, client.MatchingLabels{"cluster.x-k8s.io/provider": "infrastructure-maas"}); err != nil {
		t.Fatal(err)
	}
	found := map[string]types.UID{}
	for _, each := range secrets.Items {
		found["Secret "+each.Name] = each.UID
	}
	for _, each := range configs.Items {
		found["ConfigMap "+each.Name] = each.UID
	}
	for _, each := range crds.Items {
		found["kind "+each.Spec.Names.Kind] = each.UID
	}
	for _, name := range []string{"Secret maaslxd-lxd-client", "Secret " + infrav1.CredentialsSecret, "ConfigMap " + infrav1.EndpointConfigMap, "kind MaasMachine"} {
		if found[name] == "" {
			t.Errorf("there is no %s among %q", name, slices.Sorted(maps.Keys(found)))
		}
	}
	return found
}

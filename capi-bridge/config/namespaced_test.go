package config_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeNamespaced: the manager of one namespace, with the arguments and the rights
// that are shipped for it, makes a machine there and takes it away again. Of another
// namespace it sees nothing, and may not.
func TestKubeNamespaced(t *testing.T) {
	t.Parallel()
	c := kubetest.StartForTest(t, kubetest.Options{})
	installNamespaced(t, c)
	maas := sim.StartServer(t, sim.Model{
		Images:  []string{"ubuntu/noble", "custom/k8s"},
		Subnets: []sim.SubnetModel{{CIDR: "10.0.0.0/24", DHCP: true, DynamicStart: "10.0.0.150", DynamicEnd: "10.0.0.250"}},
		Hosts:   []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384}},
	})
	createCredentials(t, c, maas)
	running := runManager(t, c, buildManager(t))
	api := newTypedClient(t, c)
	theirs := makeStatic(t, c, api, "default")
	ours := makeStatic(t, c, api, namespace)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the machine's conditions: %+v\nthe manager: %s", ours.Status.Conditions, running.Tail())
		}
	})
	waitUntil(t, "a machine that is ready", func() bool {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(ours), ours); err != nil {
			t.Fatal(err)
		}
		return conditions.IsTrue(ours, infrav1.ReadyCondition)
	})
	if made := maas.Instances(); len(made) != 1 {
		t.Errorf("there are %d VMs, want that of one namespace: %+v", len(made), made)
	}
	static := func(a clusterv1.MachineAddress) bool { return a.Address == "10.0.0.100" }
	if !slices.ContainsFunc(ours.Status.Addresses, static) {
		t.Errorf("the machine has the addresses %v, want 10.0.0.100", ours.Status.Addresses)
	}
	if err := api.Delete(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the machine to be gone", func() bool {
		return apierrors.IsNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(ours), ours))
	})
	if left := maas.Instances(); len(left) > 0 {
		t.Errorf("VMs are left: %+v", left)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil || len(theirs.Finalizers)+len(theirs.Status.Conditions) > 0 {
		t.Errorf("it looked at another namespace's machine (%v): %v %v", err, theirs.Finalizers, theirs.Status.Conditions)
	}
	wantNoForbidden(t, running)
	wantForbidden(t, c)
	checkMetricsAccess(t, c, running)
}

// installNamespaced has clusterctl install the manager of one namespace. Cluster
// API's own managers do not run here, nor do their webhooks.
func installNamespaced(t *testing.T, c *kubetest.ControlPlane) {
	t.Helper()
	config := clusterctlConfig(makeManifests(t))
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), componentsFile, namespacedComponentsFile, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctl, err := c.NewClusterctl(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := ctl.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	others, err := labels.NewRequirement("cluster.x-k8s.io/provider", selection.NotEquals, []string{"infrastructure-maas"})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []client.Object{&admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}} {
		if err := c.Client.DeleteAllOf(t.Context(), kind, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*others)}); err != nil {
			t.Fatal(err)
		}
	}
}

// makeStatic makes the example's machine, and all that somebody else makes of it: a
// cluster that is provisioned, a Machine and its bootstrap data.
func makeStatic(t *testing.T, c *kubetest.ControlPlane, api client.Client, in string) *infrav1.MaasMachine {
	t.Helper()
	example, err := kubetest.ReadManifestFiles("../../examples/capi/static-ip.yaml")
	if err != nil {
		t.Fatal(err)
	}
	maasMachine := objectsOfKind[infrav1.MaasMachine](t, "MaasMachine", example)[0]
	named := metav1.ObjectMeta{Namespace: in, Name: maasMachine.Name, Labels: map[string]string{clusterv1.ClusterNameLabel: maasMachine.Name}}
	ref := func(kind string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: named.Name}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: named, Spec: clusterv1.ClusterSpec{InfrastructureRef: ref("MaasCluster")}}
	machine := &clusterv1.Machine{ObjectMeta: named, Spec: clusterv1.MachineSpec{
		ClusterName: named.Name, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(named.Name)}, InfrastructureRef: ref("MaasMachine"),
	}}
	data := &corev1.Secret{ObjectMeta: named, StringData: map[string]string{"value": "#cloud-config\n{}\n", "format": "cloud-config"}}
	if err := c.Client.Create(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{cluster, machine} {
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := api.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	owned := func(by client.Object, kind string) metav1.ObjectMeta {
		meta := *named.DeepCopy()
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: named.Name, UID: by.GetUID(), Controller: ptr.To(true)}}
		return meta
	}
	maasMachine.ObjectMeta = owned(machine, "Machine")
	maasCluster := &infrav1.MaasCluster{ObjectMeta: owned(cluster, "Cluster"), Spec: infrav1.MaasClusterSpec{DNSDomain: "maas"}}
	for _, o := range []client.Object{maasCluster, &maasMachine} {
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return &maasMachine
}

// wantForbidden holds what the manager's account is refused in another namespace.
func wantForbidden(t *testing.T, c *kubetest.ControlPlane) {
	t.Helper()
	config, err := c.ServiceAccountConfig(t.Context(), namespace, "capmaas-manager")
	if err != nil {
		t.Fatal(err)
	}
	as, err := client.New(config, client.Options{Scheme: newTypedClient(t, c).Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := as.List(t.Context(), &infrav1.MaasMachineList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		t.Errorf("it may list machines of another namespace: %v", err)
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := as.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "static"}, secret); !apierrors.IsForbidden(err) {
		t.Errorf("it may read a Secret of another namespace: %v", err)
	}
}

// checkMetricsAccess: the manager's metrics are for those alone who are bound to the
// shipped role.
func checkMetricsAccess(t *testing.T, c *kubetest.ControlPlane, running *kubetest.RunningManager) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prometheus"}}
	if err := c.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	config, err := c.ServiceAccountConfig(t.Context(), account.Namespace, account.Name)
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := scrape(t, running, config.BearerToken); status != http.StatusForbidden {
		t.Errorf("somebody's metrics: %d, want %d", status, http.StatusForbidden)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "capmaas-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "capmaas-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	if err := c.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	// The manager keeps a refusal in mind for a while.
	if config, err = c.ServiceAccountConfig(t.Context(), account.Namespace, account.Name); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the metrics", func() bool {
		status, text := scrape(t, running, config.BearerToken)
		return status == http.StatusOK && strings.Contains(text, "capmaas_maas_requests_total")
	})
}

// scrape asks for the manager's metrics.
func scrape(t *testing.T, running *kubetest.RunningManager, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+running.Diagnostics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	// The manager makes itself a certificate.
	by := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	reply, err := by.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

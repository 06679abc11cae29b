package config_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/webhook"
)

// flavors are the templates; the first is taken where a user names none.
var flavors = []string{"", "-bare-metal", "-lxd", "-lxd-hosts", "-mixed"}

// TestKubeAPIServer installs what a release ships into a real API server, and
// writes to it what users write.
func TestKubeAPIServer(t *testing.T) {
	t.Parallel()
	folder := makeManifests(t)
	c := kubetest.StartForTest(t, kubetest.Options{})
	installRelease(t, c, readObjects(t, filepath.Join(folder, componentsFile), nil))

	t.Run("Templates", func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(folder, "cluster-template*.yaml"))
		if err != nil || len(files) != len(flavors) {
			t.Fatalf("%d templates (%v), want %d", len(files), err, len(flavors))
		}
		for _, flavor := range flavors {
			name := "cluster-template" + flavor
			// All that a user must say.
			applyObjects(t, c, readObjects(t, filepath.Join(folder, name+".yaml"), map[string]string{
				"CLUSTER_NAME": name, "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.2", "MAAS_DNS_DOMAIN": "maas",
				"CONTROL_PLANE_MACHINE_IMAGE": "ubuntu/noble", "WORKER_MACHINE_IMAGE": "ubuntu/noble",
			}))
		}
	})
	t.Run("Examples", func(t *testing.T) { applyExamples(t, c) })
	t.Run("Refusals", func(t *testing.T) { checkRefusals(t, c) })
	t.Run("Defaults", func(t *testing.T) { checkDefaults(t, c) })
	t.Run("Columns", func(t *testing.T) { checkColumns(t, c) })
	t.Run("AnotherFlag", func(t *testing.T) { setAnotherFlag(t, c) })
}

// installRelease installs the kinds and the webhooks, which are served by the test.
func installRelease(t *testing.T, c *kubetest.ControlPlane, all []*unstructured.Unstructured) {
	t.Helper()
	ctx := t.Context()
	if err := c.InstallCAPIKinds(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.InstallCRDs(ctx, all...); err != nil {
		t.Fatal(err)
	}
	installed, err := c.InstallWebhooks(ctx, serveWebhooks(t, c), all...)
	if err != nil {
		t.Fatal(err)
	}
	if installed != 5 {
		t.Errorf("%d webhooks are installed, want 5", installed)
	}
	for _, object := range all {
		switch object.GetKind() {
		case "CustomResourceDefinition", "ValidatingWebhookConfiguration", "Certificate", "Issuer":
			continue // installed above, or of nobody's kind here
		}
		applyObjects(t, c, []*unstructured.Unstructured{object})
	}
}

// serveWebhooks serves the webhooks at a port of 127.0.0.1.
func serveWebhooks(t *testing.T, c *kubetest.ControlPlane) int {
	t.Helper()
	certs := t.TempDir()
	if err := c.WriteWebhookCerts(certs); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	port := ports[0]
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(c.Config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certs}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.SetupWithManager(mgr, webhook.Guard{Reader: mgr.GetAPIReader()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the webhook server: %v", err)
		}
	})
	for started := mgr.GetWebhookServer().StartedChecker(); started(nil) != nil; {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the webhook server: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return port
}

// applyObjects writes the objects, as strictly as kubectl: what is not of the kind is
// an error.
func applyObjects(t *testing.T, c *kubetest.ControlPlane, all []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range all {
		if err := createStrictly(t, c, object); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func createStrictly(t *testing.T, c *kubetest.ControlPlane, object *unstructured.Unstructured) error {
	t.Helper()
	object = object.DeepCopy()
	if mapping, err := c.Client.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind()); err == nil &&
		mapping.Scope.Name() == "namespace" && object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	return c.Client.Create(t.Context(), object, client.FieldValidation("Strict"))
}

// applyExamples writes the examples that have no test of their own.
func applyExamples(t *testing.T, c *kubetest.ControlPlane) {
	files, err := filepath.Glob("../../examples/capi/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	all, err := kubetest.ReadManifestFiles(files...)
	if err != nil {
		t.Fatal(err)
	}
	applyObjects(t, c, all)
}

// checkRefusals are what the schema, the CEL rules or the webhooks refuse, through
// the API server.
func checkRefusals(t *testing.T, c *kubetest.ControlPlane) {
	const head = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: MaasMachine\nmetadata: {namespace: default, name: NAME}\n"
	const lxd = "spec: {image: a, minCPU: 2, minMemory: 2048, provisioningMode: lxd"
	cases := map[string]struct {
		reason string
		before string // empty: none
		after  string
		want   string // in the refusal
	}{
		"UnknownMode": {"The schema knows the modes.", "", "spec: {image: a, provisioningMode: virsh}", "spec.provisioningMode"},
		"NoSpec":      {"Nothing is wanted.", "", "", "spec"},
		"NoImage":     {"The schema wants an image.", "", "spec: {minCPU: 1}", "spec.image"},
		"Misspelt":    {"What is not of the kind is said.", "", "spec: {image: a, minCpu: 1}", "minCpu"},
		"TwoModes":    {"A webhook sees contradictions.", "", lxd + ", dynamicLXD: false}", "spec.dynamicLXD"},
		"StaticIP":    {"A webhook reads both forms.", "", lxd + ", staticIP: 10.0.0.300}", "spec.staticIP"},
		"StaticIPNum": {"Neither form.", "", lxd + ", staticIP: 5}", "spec.staticIP"},
		"ProviderID":  {"It is set once.", lxd + ", providerID: 'maas-lxd://a/abc'}", lxd + ", providerID: 'maas-lxd://b/abc'}", "providerID is set once"},
		"ProviderGo":  {"It stays.", lxd + ", providerID: 'maas-lxd://a/abc'}", lxd + "}", "providerID cannot be taken away"},
		"SystemID":    {"It is set once.", lxd + ", systemID: abc}", lxd + ", systemID: abd}", "systemID is set once"},
		"SystemGo":    {"It stays.", lxd + ", systemID: abc}", lxd + "}", "systemID cannot be taken away"},
		"Image":       {"A machine is made once.", lxd + "}", "spec: {image: b, minCPU: 2, minMemory: 2048, provisioningMode: lxd}", "spec.image"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			read := func(spec string) *unstructured.Unstructured {
				object := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(strings.ReplaceAll(head, "NAME", strings.ToLower(name))+spec), &object.Object); err != nil {
					t.Fatal(err)
				}
				return object
			}
			object := read(tc.after)
			var err error
			if tc.before == "" {
				err = createStrictly(t, c, object)
			} else {
				old := read(tc.before)
				if err := c.Client.Create(t.Context(), old); err != nil {
					t.Fatal(err)
				}
				object.SetResourceVersion(old.GetResourceVersion())
				err = c.Client.Update(t.Context(), object)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\n%v, want a refusal with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// checkDefaults: what a user leaves out is left out, so that nothing differs from
// what is kept in git; the form of a static address stays.
func checkDefaults(t *testing.T, c *kubetest.ControlPlane) {
	texts := map[string]string{
		"MaasCluster": "spec: {dnsDomain: maas, controlPlaneEndpoint: {host: c.maas}}", // the port may be the Cluster's
		"MaasMachine": "spec: {image: a, staticIP: 10.0.0.5}",
	}
	for kind, text := range texts {
		var have, want map[string]any
		for _, into := range []*map[string]any{&have, &want} {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		object := &unstructured.Unstructured{Object: have}
		object.SetAPIVersion(infrav1.GroupVersion.String())
		object.SetKind(kind)
		object.SetName("defaults")
		if err := createStrictly(t, c, object); err != nil {
			t.Fatal(err)
		}
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(object.GroupVersionKind())
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "defaults"}, stored); err != nil {
			t.Fatal(err)
		}
		asJSON := func(of any) string {
			text, err := yaml.Marshal(of)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if diff := cmp.Diff(asJSON(want["spec"]), asJSON(stored.Object["spec"])); diff != "" {
			t.Errorf("%s: -want +got:\n%s", kind, diff)
		}
	}
}

// checkColumns: what "kubectl get maasmachines" shows.
func checkColumns(t *testing.T, c *kubetest.ControlPlane) {
	machine := &unstructured.Unstructured{}
	text := `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: MaasMachine
metadata: {namespace: columns, name: m, labels: {cluster.x-k8s.io/cluster-name: blue}}
spec: {image: a, minCPU: 2, minMemory: 2048, provisioningMode: lxd, systemID: abc123}
status:
  provisioningMode: lxd
  lxdHost: host1
  failureDomain: az1
  machineState: Deploying
  hostname: m-1
  addresses: [{type: InternalDNS, address: m-1.maas}, {type: ExternalIP, address: 10.0.0.5}]
  conditions: [{type: Paused, status: "False", reason: NotPaused, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"},
    {type: Ready, status: "False", reason: NotReady, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]
`
	if err := yaml.Unmarshal([]byte(text), &machine.Object); err != nil {
		t.Fatal(err)
	}
	status := machine.Object["status"]
	inOther := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "columns"}}}
	applyObjects(t, c, []*unstructured.Unstructured{inOther, machine})
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); err != nil {
		t.Fatal(err)
	}
	machine.Object["status"] = status
	if err := c.Client.Status().Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	table := getTable(t, c, "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/columns/maasmachines")
	shown := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		shown[column.Name] = table.Rows[0].Cells[i]
	}
	delete(shown, "Age")
	want := map[string]any{
		"Name": "m", "Cluster": "blue", "Mode": "lxd", "Host": "host1", "Zone": "az1", "SystemID": "abc123", "State": "Deploying",
		"Ready": "False", "Reason": "NotReady", "Hostname": "m-1", "Address": "10.0.0.5", "Machine": nil,
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// getTable is what a list looks like on a terminal.
func getTable(t *testing.T, c *kubetest.ControlPlane, path string) *metav1.Table {
	t.Helper()
	by, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	answer, err := by.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	table := &metav1.Table{}
	if err := json.NewDecoder(answer.Body).Decode(table); err != nil || len(table.Rows) == 0 {
		t.Fatalf("%s: %s with %d rows: %v", path, answer.Status, len(table.Rows), err)
	}
	return table
}

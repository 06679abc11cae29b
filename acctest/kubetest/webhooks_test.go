package kubetest

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const denyingHook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: deny}
webhooks:
- name: deny.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /deny}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets], scope: "*"}]
`

// TestKubeInstallWebhooks: the test itself serves a webhook that manifests put
// behind a service, over TLS.
func TestKubeInstallWebhooks(t *testing.T) {
	t.Parallel()
	c := StartForTest(t, Options{})
	dir := t.TempDir()
	if err := c.WriteWebhookCerts(dir); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(denyRequest)}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.ServeTLS(l, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")) }() // Close ends it
	objects, err := ReadManifests([]byte(denyingHook))
	if err != nil {
		t.Fatal(err)
	}
	installed, err := c.InstallWebhooks(t.Context(), l.Addr().(*net.TCPAddr).Port, objects...)
	if err != nil {
		t.Fatal(err)
	}
	if installed != 1 {
		t.Errorf("installed %d webhooks, want 1", installed)
	}
	waitFor(t, "the webhook is asked", func() bool { // after the API server has seen it
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}
		err := c.Client.Create(t.Context(), secret, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "denied at /deny")
	})
}

// denyRequest refuses every request, and says where.
func denyRequest(w http.ResponseWriter, r *http.Request) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "denied at " + r.URL.Path}}
	_ = json.NewEncoder(w).Encode(review) // the API server may have gone
}

// TestKubeInstallCAPIKinds: an object of a Cluster API kind can be made, unless
// its schema refuses it.
func TestKubeInstallCAPIKinds(t *testing.T) {
	t.Parallel()
	c := StartForTest(t, Options{})
	if err := c.InstallCAPIKinds(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster := func(name string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
			"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": spec,
		}}
	}
	good := map[string]any{"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "MaasCluster", "name": "a"}}
	if err := c.Client.Create(t.Context(), cluster("good", good)); err != nil {
		t.Errorf("a Cluster is refused: %v", err)
	}
	if err := c.Client.Create(t.Context(), cluster("bad", map[string]any{"paused": "no"})); err == nil {
		t.Error("a Cluster that its schema refuses was made")
	}
}

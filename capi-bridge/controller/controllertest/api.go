package controllertest

import (
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clientgotesting "k8s.io/client-go/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// controlPlaneKindNames are the kinds of control planes that the API server
// has.
var controlPlaneKindNames = []string{"KubeadmControlPlane", "OldControlPlane", "HostedControlPlane", ForbiddenControlPlaneKind}

// newControlPlaneMapper maps the kinds of control planes to resources.
func newControlPlaneMapper() meta.RESTMapper {
	known := meta.NewDefaultRESTMapper([]schema.GroupVersion{NewControlPlane("").GroupVersionKind().GroupVersion()})
	for _, kind := range controlPlaneKindNames {
		known.Add(NewControlPlane(kind).GroupVersionKind(), meta.RESTScopeNamespace)
	}
	return known
}

// NewControlPlane makes a control plane whose machine template stands at a path
// of its spec.
func NewControlPlane(kind string, path ...string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("controlplane.cluster.x-k8s.io/v1beta2")
	o.SetKind(kind)
	o.SetNamespace(ControlPlaneNamespace)
	o.SetName("cp")
	if len(path) > 0 {
		ref := map[string]any{"apiGroup": infrav1.GroupVersion.Group, "kind": "MaasMachineTemplate", "name": "cp"}
		if err := unstructured.SetNestedMap(o.Object, ref, path...); err != nil {
			panic(err)
		}
	}
	return o
}

// ForbiddenControlPlaneKind is a control plane that the manager may not read.
const ForbiddenControlPlaneKind = "SecretControlPlane"

// sharedScheme returns the kinds that the controllers know, and their decoders.
// All worlds share it: it costs more than the rest of a world.
var sharedScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, kind := range controlPlaneKindNames { // otherwise the client of a world adds it when it sees one
		scheme.AddKnownTypeWithName(NewControlPlane(kind).GroupVersionKind(), &unstructured.Unstructured{})
	}
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme))
})

var sharedDecoder = sync.OnceValue(func() runtime.Decoder {
	scheme, _ := sharedScheme()
	return serializer.NewCodecFactory(scheme).UniversalDecoder()
})

// Scheme returns a scheme with the kinds that the controllers know.
func Scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme, err := sharedScheme()
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

// FakeAPI is an API server in memory. It does not track who manages which
// field: no test uses server-side apply, and tracking doubles the cost of a
// world.
func FakeAPI(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := Scheme(t)
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(newControlPlaneMapper()).
		WithObjectTracker(clientgotesting.NewObjectTracker(scheme, sharedDecoder())).
		WithStatusSubresource(&infrav1.MaasCluster{}, &infrav1.MaasMachine{}, &clusterv1.Cluster{}, &clusterv1.Machine{}).
		WithObjects(objects...).Build()
}

// ControlPlaneNamespace is the namespace of the tests' control planes.
const ControlPlaneNamespace = "team-a"

// CredentialObjects returns the objects with the URL and API key of the
// manager's own MAAS.
func CredentialObjects(s *sim.Server) []client.Object {
	return []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: infrav1.CredentialsSecret}, Data: map[string][]byte{infrav1.CredentialsKey: []byte(s.APIKey() + "\n")}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: infrav1.DefaultNamespace, Name: infrav1.EndpointConfigMap}, Data: map[string]string{infrav1.EndpointKey: s.URL}},
	}
}

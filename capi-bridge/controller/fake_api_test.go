package controller_test

import (
	"errors"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clientgotesting "k8s.io/client-go/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// kinds are those that the controllers know, and what decodes them. All worlds
// share them: they cost more than the rest of a world.
var kinds = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, kind := range controlPlanes { // else the client of a world that meets one would add it
		scheme.AddKnownTypeWithName(anyControlPlane(kind).GroupVersionKind(), &unstructured.Unstructured{})
	}
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme))
})

var decoder = sync.OnceValue(func() runtime.Decoder {
	scheme, _ := kinds()
	return serializer.NewCodecFactory(scheme).UniversalDecoder()
})

func fleetScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme, err := kinds()
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

// fakeAPI is an API server in memory. It does not keep who manages which field:
// nothing here applies on the server's side, and it doubles the price of a world.
func fakeAPI(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := fleetScheme(t)
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(controlPlaneKinds()).
		WithObjectTracker(clientgotesting.NewObjectTracker(scheme, decoder())).
		WithStatusSubresource(&infrav1.MaasCluster{}, &infrav1.MaasMachine{}, &clusterv1.Cluster{}, &clusterv1.Machine{}).
		WithObjects(objects...).Build()
}

package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestTemplatesOfACluster: a Cluster wakes the templates that are of it, by owner
// or label, and no others.
func TestTemplatesOfACluster(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	owner := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: name}}
	}
	label := map[string]string{clusterv1.ClusterNameLabel: "prod"}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, meta := range []metav1.ObjectMeta{
		{Namespace: "a", Name: "owned", OwnerReferences: owner(clusterv1.ClusterKind, "prod")},
		{Namespace: "a", Name: "labelled", Labels: label},
		{Namespace: "a", Name: "anothers", OwnerReferences: owner(clusterv1.ClusterKind, "test"), Labels: label},
		{Namespace: "a", Name: "classes", OwnerReferences: owner("ClusterClass", "prod")},
		{Namespace: "b", Name: "elsewhere", OwnerReferences: owner(clusterv1.ClusterKind, "prod")},
	} {
		builder.WithObjects(&infrav1.MaasMachineTemplate{ObjectMeta: meta})
	}
	r := &TemplateReconciler{Client: builder.Build()}
	var got []string
	for _, request := range r.ofCluster(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "prod"}}) {
		got = append(got, request.String())
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a/labelled", "a/owned"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

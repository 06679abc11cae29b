package template

import (
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

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
	r := &Reconciler{Client: builder.Build()}
	var got []string
	for _, request := range r.templatesOfCluster(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "prod"}}) {
		got = append(got, request.String())
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a/labelled", "a/owned"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTemplateMatters: a template is looked at when it becomes this manager's, and
// when what decides about it changes.
func TestTemplateMatters(t *testing.T) {
	t.Parallel()
	label := func(value string) func(*infrav1.MaasMachineTemplate) {
		return func(m *infrav1.MaasMachineTemplate) { m.Labels = map[string]string{clusterv1.WatchLabel: value} }
	}
	cases := map[string]struct {
		reason        string
		before, after func(*infrav1.MaasMachineTemplate)
		want          bool
	}{
		"Labelled":   {reason: "The new label makes the template ours.", after: label("green"), want: true},
		"Relabelled": {reason: "The template belonged to another manager before.", before: label("blue"), after: label("green"), want: true},
		"Taken":      {reason: "The template belongs to another manager now.", before: label("green"), after: label("blue")},
		"Status":     {reason: "The manager itself writes the status.", before: label("green"), after: func(m *infrav1.MaasMachineTemplate) { m.Status.NodeInfo.OperatingSystem = "linux" }},
		"Spec":       {reason: "The new spec may have another size.", before: label("green"), after: func(m *infrav1.MaasMachineTemplate) { m.Generation++ }, want: true},
		"Unpaused": {reason: "An unpaused template is reconciled again.", after: func(m *infrav1.MaasMachineTemplate) { delete(m.Annotations, clusterv1.PausedAnnotation) }, want: true, before: func(m *infrav1.MaasMachineTemplate) {
			label("green")(m)
			m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}},
		"Paused": {reason: "A paused template is left alone.", before: label("green"), after: func(m *infrav1.MaasMachineTemplate) {
			m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}},
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	matters := (&Reconciler{WatchFilter: "green"}).updatePredicate(scheme, logr.Discard())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &infrav1.MaasMachineTemplate{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			if tc.before != nil {
				tc.before(before)
			}
			after := before.DeepCopy()
			tc.after(after)
			if got := matters.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("%s\nit wakes: %v", tc.reason, got)
			}
		})
	}
}

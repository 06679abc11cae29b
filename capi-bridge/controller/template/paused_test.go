package template_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/template"
)

// TestTemplatePause: a template of a paused Cluster is left alone, as is one that
// is paused itself, or another manager's.
func TestTemplatePause(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		filter string // the manager's watch label
		change func(*clusterv1.Cluster, *infrav1.MaasMachineTemplate)
		left   bool
	}{
		"Running": {"Nothing is paused.", "", func(*clusterv1.Cluster, *infrav1.MaasMachineTemplate) {}, false},
		"Cluster": {"The Cluster that owns it is paused.", "", func(c *clusterv1.Cluster, _ *infrav1.MaasMachineTemplate) { c.Spec.Paused = ptr.To(true) }, true},
		"Label": {"The template has no owner yet, and belongs to a topology.", "", func(c *clusterv1.Cluster, m *infrav1.MaasMachineTemplate) {
			c.Spec.Paused, m.OwnerReferences = ptr.To(true), nil
			m.Labels = map[string]string{clusterv1.ClusterNameLabel: "prod"}
		}, true},
		"Annotation": {"The template itself is paused.", "", func(_ *clusterv1.Cluster, m *infrav1.MaasMachineTemplate) {
			m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}, true},
		"Nobody's": {"The template belongs to no Cluster.", "", func(c *clusterv1.Cluster, m *infrav1.MaasMachineTemplate) {
			c.Spec.Paused, m.OwnerReferences = ptr.To(true), nil
		}, false},
		"Gone": {"The Cluster no longer exists.", "", func(c *clusterv1.Cluster, _ *infrav1.MaasMachineTemplate) { c.Name = "other" }, false},
		"Ours": {"The template has the manager's label, and its Cluster has none.", "green", func(_ *clusterv1.Cluster, m *infrav1.MaasMachineTemplate) {
			m.Labels = map[string]string{clusterv1.WatchLabel: "green"}
		}, false},
		"Another's": {"The template has another label. Its Cluster has the manager's label, so a change of the Cluster triggers a reconcile.", "green", func(c *clusterv1.Cluster, m *infrav1.MaasMachineTemplate) {
			c.Labels = map[string]string{clusterv1.WatchLabel: "green"}
			m.Labels = map[string]string{clusterv1.WatchLabel: "blue"}
		}, true},
		"Unlabelled": {"The template has no label.", "green", func(*clusterv1.Cluster, *infrav1.MaasMachineTemplate) {}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod", UID: "cluster-uid"}}
			object := &infrav1.MaasMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "small", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: "prod", UID: "cluster-uid",
			}}}}
			object.Spec.Template.Spec = controllertest.VMMachineSpec()
			tc.change(cluster, object)
			c := fake.NewClientBuilder().WithScheme(controllertest.Scheme(t)).WithObjects(cluster, object).WithStatusSubresource(object).Build()
			key := client.ObjectKeyFromObject(object)
			r := &template.Reconciler{Client: c, WatchFilter: tc.filter}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), key, object); err != nil {
				t.Fatal(err)
			}
			if left := len(object.Status.Capacity) == 0; left != tc.left {
				t.Errorf("%s It was left alone: %t", tc.reason, left)
			}
		})
	}
}

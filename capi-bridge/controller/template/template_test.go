package template_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/template"
)

// TestTemplateCapacity tells what a Node would have, in what an autoscaler reads.
func TestTemplateCapacity(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spec   infrav1.MaasMachineSpec
		want   map[string]string
	}{
		"VM":            {"A VM has what is asked for.", controllertest.VMMachineSpec(), map[string]string{"cpu": "2", "memory": "4Gi", "ephemeral-storage": "20G"}},
		"BareMetal":     {"Bare metal has at least that.", controllertest.MetalMachineSpec(), map[string]string{"cpu": "2", "memory": "4Gi"}},
		"Contradictory": {"A contradictory template makes no Node.", infrav1.MaasMachineSpec{Image: "ubuntu/noble", LXDConfig: &infrav1.LXDConfig{}}, nil},
		"Nothing":       {"The template asks for nothing.", infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(0)}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &infrav1.MaasMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "small"}}
			object.Spec.Template.Spec = tc.spec
			c := fake.NewClientBuilder().WithScheme(controllertest.Scheme(t)).WithObjects(object).WithStatusSubresource(object).Build()
			r := &template.Reconciler{Client: c}
			key := client.ObjectKeyFromObject(object)
			for range 2 {
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Get(t.Context(), key, object); err != nil {
				t.Fatal(err)
			}
			got := object.Status.Capacity
			for name, want := range tc.want {
				if q := got[corev1.ResourceName(name)]; q.String() != want {
					t.Errorf("%s %s is %s, want %s", tc.reason, name, q.String(), want)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%s got %v", tc.reason, got)
			}
			info := reflect.ValueOf(object.Status.NodeInfo)
			for field, value := range info.Fields() {
				if value.IsZero() != (name == "Contradictory") {
					t.Errorf("%s nodeInfo.%s is %q", tc.reason, field.Name, value)
				}
			}
		})
	}
}

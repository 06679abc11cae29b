package v1beta1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestFailureDomainsReadBothForms(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	list := FailureDomains{{Name: "az1", ControlPlane: &yes}, {Name: "az2", ControlPlane: &no, Attributes: map[string]string{"row": "2"}}}
	fromMap := FailureDomains{
		{Name: "az1", ControlPlane: &yes, Attributes: map[string]string{storedAsMap: "true"}},
		{Name: "az2", ControlPlane: &no, Attributes: map[string]string{"row": "2", storedAsMap: "true"}},
	}
	cases := map[string]struct {
		reason string
		text   string
		want   FailureDomains
		fails  bool
	}{
		"List":  {"The contract's form.", `[{"name":"az1","controlPlane":true},{"name":"az2","controlPlane":false,"attributes":{"row":"2"}}]`, list, false},
		"Map":   {"The form of older versions, in the order of the names; it differs from a list, so that it is replaced.", `{"az2":{"controlPlane":false,"attributes":{"row":"2"}},"az1":{"controlPlane":true}}`, fromMap, false},
		"Empty": {"An older version without zones.", `{}`, FailureDomains{}, false},
		"Null":  {"Nothing.", `null`, nil, false},
		"Text":  {"What neither version wrote.", `"az1"`, nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got MaasClusterStatus
			err := json.Unmarshal([]byte(`{"failureDomains":`+tc.text+`}`), &got)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\nerror %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got.FailureDomains); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusIsWrittenAsAList goes the way of a patch: through unstructured
// content.
func TestStatusIsWrittenAsAList(t *testing.T) {
	t.Parallel()
	var cluster MaasCluster
	content := map[string]any{"status": map[string]any{
		"failureDomains": map[string]any{"az1": map[string]any{"controlPlane": true}},
		"conditions":     []any{map[string]any{"type": "Ready", "status": "True", "severity": "Info", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
	}}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &cluster); err != nil {
		t.Fatal(err)
	}
	if got := cluster.GetConditions(); len(got) != 1 || got[0].Reason != UnspecifiedReason || got[0].Status != metav1.ConditionTrue {
		t.Errorf("conditions of an older version: %+v, want one with the reason %s", got, UnspecifiedReason)
	}
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&cluster)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{"name": "az1", "controlPlane": true, "attributes": map[string]any{storedAsMap: "true"}}}
	if diff := cmp.Diff(want, written["status"].(map[string]any)["failureDomains"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(cluster.Status.FailureDomains, FailureDomains(cluster.DeepCopy().Status.FailureDomains)); diff != "" {
		t.Errorf("a copy differs: -want +got:\n%s", diff)
	}
	if got := []clusterv1.FailureDomain(cluster.Status.FailureDomains); *got[0].ControlPlane != true {
		t.Errorf("controlPlane of az1 is lost: %+v", got)
	}
}

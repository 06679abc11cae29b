package config_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// incumbent stands in for what CAPMaaS installs: its kinds and its manager.
//
//go:embed testdata/incumbent.yaml
var incumbent string

// incumbentObjects are of those kinds, as CAPMaaS leaves them.
//
//go:embed testdata/incumbent-objects.yaml
var incumbentObjects []byte

// TestKubeUpgradeFromIncumbent: "clusterctl upgrade" replaces CAPMaaS's release
// by ours. Its objects are unchanged, and read as ours.
func TestKubeUpgradeFromIncumbent(t *testing.T) {
	t.Parallel()
	for version, contract := range map[string]string{"v0.6.2": "v1beta1", "v0.9.0": "v1beta2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := kubetest.StartForTest(t, kubetest.Options{})
			ours := clusterctlConfig(makeManifests(t))
			theirs, err := c.NewClusterctl(t.Context(), releaseIncumbent(t, filepath.Dir(ours), version, contract))
			if err != nil {
				t.Fatal(err)
			}
			if err := theirs.Init(t.Context()); err != nil {
				t.Fatal(err)
			}
			stored := createIncumbentObjects(t, c)
			ctl, err := c.NewClusterctl(t.Context(), ours)
			if err != nil {
				t.Fatal(err)
			}
			if plan, err := ctl.Run(t.Context(), "upgrade", "plan"); err != nil || !strings.Contains(string(plan), firstVersion) {
				t.Errorf("the plan has no %s: %v\n%s", firstVersion, err, plan)
			}
			if _, err := ctl.Run(t.Context(), "upgrade", "apply", "--infrastructure", namespace+"/maas:"+firstVersion); err != nil {
				t.Fatal(err)
			}
			wantOurManager(t, c)
			// The guide makes the user give the manager its own credentials first.
			old := &corev1.Secret{}
			if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: infrav1.BootstrapSecret}, old); !apierrors.IsNotFound(err) {
				t.Errorf("clusterctl has kept the incumbent's Secret: %v", err)
			}
			for _, before := range stored {
				wantObjectKept(t, c, before)
			}
		})
	}
}

// releaseIncumbent writes a release of the incumbent beside ours, and a configuration of
// clusterctl that names it.
func releaseIncumbent(t *testing.T, dist, version, contract string) string {
	t.Helper()
	folder := filepath.Join(dist, "infrastructure-maas", version)
	file, config := filepath.Join(folder, componentsFile), filepath.Join(t.TempDir(), "clusterctl.yaml")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	minor := strings.Split(version, ".")[1]
	for name, text := range map[string]string{
		file: strings.ReplaceAll(incumbent, "CONTRACT", contract),
		filepath.Join(folder, "metadata.yaml"): fmt.Sprintf("apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 0, minor: %s, contract: %s}\n",
			minor, contract),
		config: "providers:\n- {name: maas, type: InfrastructureProvider, url: " + file + "}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

// createIncumbentObjects makes the incumbent's objects, with their status, and returns them as they are.
func createIncumbentObjects(t *testing.T, c *kubetest.ControlPlane) []*unstructured.Unstructured {
	t.Helper()
	all, err := kubetest.ReadManifests(incumbentObjects)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		status, has := o.Object["status"]
		if err := c.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if !has {
			continue
		}
		o.Object["status"] = status
		if err := c.Client.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// wantOurManager wants our manager in the place of theirs.
func wantOurManager(t *testing.T, c *kubetest.ControlPlane) {
	t.Helper()
	manager := &appsv1.Deployment{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "capmaas-controller-manager"}, manager); err != nil {
		t.Fatal(err)
	}
	if image := manager.Spec.Template.Spec.Containers[0].Image; !strings.Contains(image, "capi-bridge:"+firstVersion) {
		t.Errorf("the manager is %s", image)
	}
}

// wantObjectKept checks that an object is unchanged and reads as ours. The
// manager finds out again what older forms of the status said.
func wantObjectKept(t *testing.T, c *kubetest.ControlPlane, before *unstructured.Unstructured) {
	t.Helper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(before.GroupVersionKind())
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(before), now); err != nil {
		t.Fatal(err)
	}
	kept := func(o *unstructured.Unstructured) []any {
		return []any{o.GetUID(), o.GetFinalizers(), o.GetAnnotations(), o.Object["spec"]}
	}
	if diff := cmp.Diff(kept(before), kept(now)); diff != "" {
		t.Errorf("%s %s is another: -before +after:\n%s", now.GetKind(), now.GetName(), diff)
	}
	text, err := now.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var cluster infrav1.MaasCluster
	var machine infrav1.MaasMachine
	var template infrav1.MaasMachineTemplate
	if err := json.Unmarshal(text, map[string]any{"MaasCluster": &cluster, "MaasMachine": &machine, "MaasMachineTemplate": &template}[now.GetKind()]); err != nil {
		t.Fatalf("%s %s cannot be read: %v", now.GetKind(), now.GetName(), err)
	}
	if now.GetKind() == "MaasMachine" && (*machine.Spec.SystemID != "abc123" || !machine.Status.Ready) {
		t.Errorf("the machine reads as %+v", machine)
	}
	if now.GetKind() == "MaasCluster" && (cluster.Status.Network.DNSName == "" || !cluster.Status.Ready) {
		t.Errorf("the cluster reads as %+v", cluster)
	}
}

package config_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestKubeInstall installs a release as the README says it, and has it make
// clusters of the templates.
func TestKubeInstall(t *testing.T) {
	t.Parallel()
	c := kubetest.StartForTest(t, kubetest.Options{})
	followPage(t, c, "../../README.md", firstVersion)
	ctl, err := c.NewClusterctl(t.Context(), clusterctlConfig(makeManifests(t)))
	if err != nil {
		t.Fatal(err)
	}
	ctl.Variables["MAAS_DNS_DOMAIN"] = "maas"
	ctl.Variables["CONTROL_PLANE_MACHINE_IMAGE"] = "ubuntu/noble"
	ctl.Variables["WORKER_MACHINE_IMAGE"] = "ubuntu/noble"
	for _, flavor := range flavors {
		args := []string{"generate", "cluster", "demo" + flavor, "--infrastructure", "maas:" + firstVersion, "--kubernetes-version", "v1.36.2",
			"--control-plane-machine-count", "3", "--worker-machine-count", "2"}
		if flavor != "" {
			args = append(args, "--flavor", flavor[1:])
		}
		text, err := ctl.Run(t.Context(), args...)
		if err != nil {
			t.Errorf("flavor %q: %v", flavor, err)
			continue
		}
		all, err := kubetest.ReadManifests(text)
		if err != nil || len(all) != 7 {
			t.Errorf("flavor %q is %d objects, want 7: %v", flavor, len(all), err)
		}
		for _, object := range all {
			if object.GetNamespace() != "default" {
				t.Errorf("flavor %q: %s %s is in namespace %q", flavor, object.GetKind(), object.GetName(), object.GetNamespace())
			}
		}
	}
	wantKeyOutlives(t, c, ctl)
}

// TestKubeInstallAnother installs a release, makes a cluster and then installs another
// release, as the guide says.
func TestKubeInstallAnother(t *testing.T) {
	t.Parallel()
	followPage(t, kubetest.StartForTest(t, kubetest.Options{}), "../../docs/guides/clusters.md", newerVersion)
}

// wantKeyOutlives wants the fleet's key to outlive the release, which clusterctl deletes
// at each upgrade, too.
func wantKeyOutlives(t *testing.T, c *kubetest.ControlPlane, ctl *kubetest.Clusterctl) {
	t.Helper()
	certificate := func() string {
		finder := identity.Finder{Reader: c.Client, Namespace: namespace, Getenv: func(name string) string {
			return map[string]string{"MAAS_ENDPOINT": "https://maas.example/MAAS", "MAAS_API_KEY": "consumer:token:secret"}[name]
		}}
		rows := ledger.LocalRegions{Ledger: ledger.NewMemory(nil)}
		defer func() { _ = rows.Close() }()
		sites := identity.New(identity.Config{Finder: finder, Ledger: rows, KeyWriter: c.Client, LXDKeySecret: "maaslxd-lxd-client"})
		defer sites.Close()
		site, err := sites.Site(t.Context(), &infrav1.MaasCluster{})
		if err != nil {
			t.Fatal(err)
		}
		return site.Credentials.Certificate
	}
	before := certificate()
	if _, err := ctl.Run(t.Context(), "delete", "--infrastructure", "maas"); err != nil {
		t.Fatal(err)
	}
	gone := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "capmaas-controller-manager"}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(gone) {
		t.Errorf("clusterctl left the Deployment: %v", gone)
	}
	if certificate() != before {
		t.Error("the next manager has a key that no host trusts")
	}
}

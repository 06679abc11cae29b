package config_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

const (
	namespace                = "capmaas-system"
	contractVersion          = "v1beta2"
	contractKey              = "cluster.x-k8s.io/" + contractVersion
	componentsFile           = "infrastructure-components.yaml"
	namespacedComponentsFile = "infrastructure-components-namespaced.yaml"
	firstVersion             = "v0.10.0"
)

// makeManifests is the folder that "make manifests" writes for the first release.
func makeManifests(t *testing.T) string {
	t.Helper()
	return makeRelease(t, t.TempDir(), firstVersion)
}

// makeRelease is the folder of a version that "make manifests" writes into another one.
func makeRelease(t *testing.T, dist, version string) string {
	t.Helper()
	runMake(t, nil, "manifests", "DIST="+dist, "REGISTRY=registry.example/maas", "TAG="+version)
	return filepath.Join(dist, "infrastructure-maas", version)
}

// runMake runs make.
func runMake(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "-C", "../.."}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "GOFLAGS=")
	})
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", args[0], err, out)
	}
}

// clusterctlConfig is the configuration of clusterctl beside the folder of a release.
func clusterctlConfig(folder string) string { return filepath.Join(folder, "../../clusterctl.yaml") }

// readObjects are those of a file, the variables of which have their defaults, or
// these values.
func readObjects(t *testing.T, file string, values map[string]string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err = yamlprocessor.NewSimpleProcessor().Process(text, func(name string) (string, error) {
		if value, ok := values[name]; ok {
			return value, nil
		}
		return "", os.ErrNotExist
	})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	read, err := kubetest.ReadManifests(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return read
}

// objectsOfKind are the objects of a kind.
func objectsOfKind[T any](t *testing.T, kind string, all []*unstructured.Unstructured) []T {
	t.Helper()
	var typed []T
	for _, object := range all {
		if object.GetKind() != kind {
			continue
		}
		var into T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &into, true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		typed = append(typed, into)
	}
	return typed
}

func TestManifests(t *testing.T) {
	t.Parallel()
	folder := makeManifests(t)
	for _, file := range []string{componentsFile, namespacedComponentsFile} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			all := readObjects(t, filepath.Join(folder, file), nil) // no variable needs a value
			checkNamespaces(t, all)
			checkKinds(t, all)
			checkDeployment(t, all)
			checkNoVolume(t, all)
			checkBudget(t, all)
			checkRights(t, all, file == namespacedComponentsFile)
		})
	}
	t.Run("Variables", func(t *testing.T) { t.Parallel(); checkVariables(t, filepath.Join(folder, componentsFile)) })
	t.Run("Metadata", func(t *testing.T) { t.Parallel(); checkMetadata(t, filepath.Join(folder, "metadata.yaml")) })
}

// checkVariables: the manager takes what the variables of the documentation say, and
// there are no others.
func checkVariables(t *testing.T, file string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/bridge-manager.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names, err := yamlprocessor.NewSimpleProcessor().GetVariables(text)
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{
		"CAPMAAS_ALLOW_INSECURE_KEY": "allow-insecure-key=true", "CAPMAAS_COMPOSER": "composer=lxd", "CAPMAAS_DIAGNOSTICS_ADDRESS": "diagnostics-address=:1234",
		"CAPMAAS_INSECURE_DIAGNOSTICS": "insecure-diagnostics=true", "CAPMAAS_PROBE_LXD": "probe-lxd=true", "CAPMAAS_VERBOSITY": "v=4",
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(flags)), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("variables: -want +got:\n%s", diff)
	}
	values := map[string]string{}
	for name, flag := range flags {
		_, values[name], _ = strings.Cut(flag, "=")
	}
	args := objectsOfKind[appsv1.Deployment](t, "Deployment", readObjects(t, file, values))[0].Spec.Template.Spec.Containers[0].Args
	for name, flag := range flags {
		if !slices.Contains(args, "--"+flag) {
			t.Errorf("with %s=%s the arguments are %q, want --%s", name, values[name], args, flag)
		}
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s is not documented", name)
		}
	}
}

// clusterWide are kinds that are in no namespace.
var clusterWide = []string{
	"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "ValidatingWebhookConfiguration",
}

// checkNamespaces: clusterctl wants one Namespace with everything in it, and all
// objects labelled.
func checkNamespaces(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range all {
		name := object.GetKind() + " " + object.GetName()
		if object.GetKind() == "Namespace" && object.GetName() != namespace {
			t.Errorf("%s is a second Namespace", name)
		}
		if !slices.Contains(clusterWide, object.GetKind()) && object.GetNamespace() != namespace {
			t.Errorf("%s is in namespace %q, not in %s", name, object.GetNamespace(), namespace)
		}
		if got := object.GetLabels()["cluster.x-k8s.io/provider"]; got != "infrastructure-maas" {
			t.Errorf("%s is of provider %q", name, got)
		}
	}
}

// checkKinds: Cluster API finds a kind by the name of its definition, and the
// version by a label.
func checkKinds(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	var kinds []string
	for _, crd := range objectsOfKind[apiextensionsv1.CustomResourceDefinition](t, "CustomResourceDefinition", all) {
		kinds = append(kinds, crd.Spec.Names.Kind)
		if want := contract.CalculateCRDName(crd.Spec.Group, crd.Spec.Names.Kind); crd.Name != want {
			t.Errorf("%s is called %s, want %s", crd.Spec.Names.Kind, crd.Name, want)
		}
		if crd.Spec.Names.ListKind != crd.Spec.Names.Kind+"List" {
			t.Errorf("the list of %s is called %s", crd.Spec.Names.Kind, crd.Spec.Names.ListKind)
		}
		fits := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == crd.Labels[contractKey] && v.Served && v.Storage
		}
		if !slices.ContainsFunc(crd.Spec.Versions, fits) {
			t.Errorf("%s: no version fits the label %s=%q", crd.Name, contractKey, crd.Labels[contractKey])
		}
		if _, ok := crd.Labels["cluster.x-k8s.io/v1beta1"]; ok {
			t.Errorf("%s claims the contract v1beta1", crd.Name)
		}
		if _, ok := crd.Labels[clusterctlv1.ClusterctlLabel]; !ok {
			t.Errorf("clusterctl move overlooks %s where clusterctl has not installed it", crd.Name)
		}
		if scope := crd.Spec.Scope; (scope == apiextensionsv1.ClusterScoped) != (crd.Spec.Names.Kind == "MaasClusterIdentity") {
			t.Errorf("%s is %s", crd.Name, scope)
		}
	}
	want := []string{"MaasCluster", "MaasClusterIdentity", "MaasClusterTemplate", "MaasMachine", "MaasMachineTemplate"}
	slices.Sort(kinds)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds: -want +got:\n%s", diff)
	}
}

// checkDeployment: clusterctl's names, and what the policy "restricted" asks
// of pods.
func checkDeployment(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	deployments := objectsOfKind[appsv1.Deployment](t, "Deployment", all)
	if len(deployments) != 1 {
		t.Fatalf("%d Deployments, want 1", len(deployments))
	}
	d := deployments[0]
	if d.Name != "capmaas-controller-manager" || d.Spec.Template.Labels["control-plane"] != "controller-manager" {
		t.Errorf("Deployment %s with labels %v: logs are not found by control-plane=controller-manager", d.Name, d.Spec.Template.Labels)
	}
	if *d.Spec.Replicas != 2 || d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("no manager may be left while they are replaced: %d, %+v", *d.Spec.Replicas, d.Spec.Strategy)
	}
	pod := d.Spec.Template.Spec
	if c := pod.SecurityContext; c == nil || c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.SeccompProfile == nil || c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod is not restricted: %+v", c)
	}
	if len(pod.Containers) != 1 || pod.Containers[0].Name != "manager" {
		t.Fatal("there is not one container, called manager")
	}
	checkContainer(t, pod.Containers[0])
	namespaces := objectsOfKind[corev1.Namespace](t, "Namespace", all)
	if len(namespaces) != 1 || namespaces[0].Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Error("the namespace does not enforce restricted pods")
	}
}

func checkContainer(t *testing.T, c corev1.Container) {
	t.Helper()
	if c.Image != "registry.example/maas/capi-bridge:"+firstVersion {
		t.Errorf("image %s is not of REGISTRY and TAG", c.Image)
	}
	s := c.SecurityContext
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
		s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
		t.Errorf("the container is not restricted: %+v", s)
	}
	if c.LivenessProbe == nil || c.ReadinessProbe == nil {
		t.Error("a probe is missing")
	}
	if !slices.Contains(c.Args, "--leader-elect") || slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--ledger") }) {
		t.Errorf("two managers would place VMs by %q", c.Args)
	}
	if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "webhook-server" }) {
		t.Error("the webhooks are not served by each replica")
	}
}

// checkNoVolume: the manager keeps nothing on a disk, so no StorageClass is needed.
func checkNoVolume(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range all {
		if kind := object.GetKind(); kind == "PersistentVolumeClaim" || kind == "StorageClass" || kind == "StatefulSet" {
			t.Errorf("there is a %s, %s", kind, object.GetName())
		}
	}
	for _, v := range objectsOfKind[appsv1.Deployment](t, "Deployment", all)[0].Spec.Template.Spec.Volumes {
		if v.Secret == nil {
			t.Errorf("the volume %s is no Secret", v.Name)
		}
	}
}

// checkBudget: a drain leaves a manager.
func checkBudget(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	budgets := objectsOfKind[policyv1.PodDisruptionBudget](t, "PodDisruptionBudget", all)
	if len(budgets) != 1 || budgets[0].Spec.MaxUnavailable.IntValue() != 1 {
		t.Fatalf("the budgets are %+v", budgets)
	}
	d := objectsOfKind[appsv1.Deployment](t, "Deployment", all)[0]
	if diff := cmp.Diff(d.Spec.Selector, budgets[0].Spec.Selector); diff != "" {
		t.Errorf("the budget is of other pods: -Deployment +budget:\n%s", diff)
	}
}

// checkRights: Secrets are read by name only, nothing is allowed wholesale, and
// a manager of one namespace reads the Secrets of that one alone.
func checkRights(t *testing.T, all []*unstructured.Unstructured, oneNamespace bool) {
	t.Helper()
	reads := map[string]bool{} // roles that read Secrets
	for _, role := range objectsOfKind[rbacv1.ClusterRole](t, "ClusterRole", all) {
		for _, rule := range role.Rules {
			if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), "*") {
				t.Errorf("%s allows wholesale: %v", role.Name, rule)
			}
			ours := slices.Contains(rule.APIGroups, infrav1.GroupVersion.Group)
			unwritten := func(verb string) bool { return slices.Contains([]string{"create", "update", "delete"}, verb) }
			if ours && slices.ContainsFunc(rule.Verbs, unwritten) {
				t.Errorf("%s may %v %v, and the manager only patches", role.Name, rule.Verbs, rule.Resources)
			}
			if !slices.Contains(rule.Resources, "secrets") {
				continue
			}
			reads[role.Name] = true
			if !slices.Equal(rule.Verbs, []string{"get"}) {
				t.Errorf("%s may %v Secrets, want get alone", role.Name, rule.Verbs)
			}
		}
	}
	everywhere := 0
	for _, binding := range objectsOfKind[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding", all) {
		if reads[binding.RoleRef.Name] {
			everywhere++
		}
	}
	if (everywhere == 0) != oneNamespace {
		t.Errorf("%d bindings let Secrets of all namespaces be read; one namespace: %v", everywhere, oneNamespace)
	}
	for _, d := range objectsOfKind[appsv1.Deployment](t, "Deployment", all) {
		if slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--namespace=$(POD_NAMESPACE)") != oneNamespace {
			t.Errorf("arguments %q; one namespace: %v", d.Spec.Template.Spec.Containers[0].Args, oneNamespace)
		}
	}
}

// checkMetadata: the newest release fits the contract of the label.
func checkMetadata(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var metadata clusterctlv1.Metadata
	if err := yaml.UnmarshalStrict(text, &metadata); err != nil {
		t.Fatal(err)
	}
	if metadata.APIVersion != clusterctlv1.GroupVersion.String() || metadata.Kind != "Metadata" || len(metadata.ReleaseSeries) == 0 {
		t.Fatalf("%s is no metadata: %+v", file, metadata)
	}
	if last := metadata.ReleaseSeries[len(metadata.ReleaseSeries)-1]; last.Contract != contractVersion {
		t.Errorf("release %d.%d has the contract %s, the kinds have %s", last.Major, last.Minor, last.Contract, contractVersion)
	}
	// clusterctl asks for the series of the version that it upgrades from, before
	// anything (cmd/clusterctl/client/cluster/upgrader_info.go, getUpgradeInfo).
	for have, contract := range map[string]string{"v0.4.0": "v1beta1", "v0.6.1": "v1beta1", "v0.8.0": "v1beta1", "v0.9.0": contractVersion} {
		series := metadata.GetReleaseSeriesForVersion(version.MustParseSemantic(have))
		if series == nil || series.Contract != contract {
			t.Errorf("clusterctl refuses the upgrade from CAPMaaS %s: its series is %+v, want the contract %s", have, series, contract)
		}
	}
}

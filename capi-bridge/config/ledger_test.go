package config_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/capi-bridge/ledger"
	"github.com/maaslxd/maaslxd/capi-bridge/setting"
)

// ledgerService are the objects of the manifest of the ledger service.
type ledgerService struct {
	namespace         corev1.Namespace
	claim             corev1.PersistentVolumeClaim
	deployment        appsv1.Deployment
	service           corev1.Service
	certificatesPatch appsv1.Deployment // the patch for certificates from a Secret
}

// readLedgerService parses the manifest, and takes no field that Kubernetes does not know.
func readLedgerService(t *testing.T) (all ledgerService, texts [][]byte) {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("ledger", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	documents := bytes.Split(read("ledger.yaml"), []byte("\n---\n"))
	if len(documents) != 3 {
		t.Fatalf("ledger.yaml has %d objects", len(documents))
	}
	texts = append([][]byte{read("namespace.yaml")}, documents...)
	for n, into := range []any{&all.namespace, &all.claim, &all.deployment, &all.service} {
		if err := yaml.UnmarshalStrict(texts[n], into); err != nil {
			t.Errorf("object %d: %v", n, err)
		}
	}
	if err := yaml.UnmarshalStrict(read("certificates/deployment.yaml"), &all.certificatesPatch); err != nil {
		t.Error(err)
	}
	return all, texts
}

// TestLedgerService: the manifest runs one service on its claim, by flags and variables
// that there are, and its Service, probes and volumes lead to what there is.
func TestLedgerService(t *testing.T) {
	t.Parallel()
	all, _ := readLedgerService(t)
	spec := all.deployment.Spec
	if *spec.Replicas != 1 || spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("only one service may have the file: %d, %s", *spec.Replicas, spec.Strategy.Type)
	}
	pod := spec.Template.Spec
	c := pod.Containers[0]
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for what, port := range map[string]string{
		"liveness": c.LivenessProbe.HTTPGet.Port.StrVal, "readiness": c.ReadinessProbe.HTTPGet.Port.StrVal, "service": all.service.Spec.Ports[0].TargetPort.StrVal,
	} {
		if ports[port] == 0 {
			t.Errorf("%s: the container has no port %q", what, port)
		}
	}
	if ports["ledger"] != 7443 || ports["health"] != 9441 {
		t.Errorf("the ports are not the defaults of ledger serve: %v", ports)
	}
	for key, value := range all.service.Spec.Selector {
		if spec.Template.Labels[key] != value || spec.Selector.MatchLabels[key] != value {
			t.Errorf("the Service selects %s=%s, which no pod has", key, value)
		}
	}
	if v := pod.Volumes[0]; v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != all.claim.Name || c.VolumeMounts[0].Name != v.Name {
		t.Errorf("the claim %s is not mounted: %+v", all.claim.Name, v)
	}
	name := "--name=" + all.service.Name + "." + all.namespace.Name + ".svc"
	if !slices.Contains(c.Args, name) {
		t.Errorf("clients call it %s, and the arguments are %q", name, c.Args)
	}
	usage := readUsageByArgs(t, c.Args)
	for _, env := range slices.Concat(c.Env, all.certificatesPatch.Spec.Template.Spec.Containers[0].Env) {
		if strings.HasPrefix(env.Name, "LEDGER_") && !strings.Contains(usage, env.Name) {
			t.Errorf("ledger serve reads no %s:\n%s", env.Name, usage)
		}
	}
	if c.Env[0].Value != c.VolumeMounts[0].MountPath {
		t.Errorf("it keeps its ledger in %s, and the volume is %s", c.Env[0].Value, c.VolumeMounts[0].MountPath)
	}
	mount := all.certificatesPatch.Spec.Template.Spec.Containers[0].VolumeMounts[0]
	for _, env := range all.certificatesPatch.Spec.Template.Spec.Containers[0].Env {
		if filepath.Dir(env.Value) != mount.MountPath {
			t.Errorf("%s is %s, and the Secret is mounted at %s", env.Name, env.Value, mount.MountPath)
		}
	}
}

// TestLedgerCluster: the manifest runs three nodes that find each other by their names, and
// of which one at a time is taken away.
func TestLedgerCluster(t *testing.T) {
	t.Parallel()
	var nodes, clients corev1.Service
	var set appsv1.StatefulSet
	var budget policyv1.PodDisruptionBudget
	texts := readLedgerCluster(t)
	for n, into := range []any{&nodes, &set, &budget, &clients} {
		if err := yaml.UnmarshalStrict(texts[n], into); err != nil {
			t.Fatalf("object %d: %v", n, err)
		}
	}
	if *set.Spec.Replicas != 3 || set.Spec.ServiceName != nodes.Name || nodes.Spec.ClusterIP != corev1.ClusterIPNone || !nodes.Spec.PublishNotReadyAddresses {
		t.Errorf("three nodes find each other by %s before they are ready: %+v", set.Spec.ServiceName, nodes.Spec)
	}
	if budget.Spec.MaxUnavailable.IntValue() != 1 || set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		t.Errorf("one node at a time may go, and all come together: %v, %s", budget.Spec.MaxUnavailable, set.Spec.PodManagementPolicy)
	}
	labels := set.Spec.Template.Labels
	for _, selector := range []map[string]string{nodes.Spec.Selector, clients.Spec.Selector, budget.Spec.Selector.MatchLabels, set.Spec.Selector.MatchLabels} {
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("%s=%s is selected, which no pod has", key, value)
			}
		}
	}
	c := set.Spec.Template.Spec.Containers[0]
	usage, env := readUsageByArgs(t, c.Args), map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if strings.HasPrefix(e.Name, "LEDGER_") && !strings.Contains(usage, e.Name) {
			t.Errorf("ledger serve reads no %s", e.Name)
		}
	}
	var want []string
	for n := range *set.Spec.Replicas {
		want = append(want, fmt.Sprintf("%s-%d.%s.%s.svc:%d", set.Name, n, nodes.Name, set.Namespace, nodes.Spec.Ports[0].Port))
	}
	if env["LEDGER_PEERS"] != strings.Join(want, ",") {
		t.Errorf("the nodes are %q, and their peers %q", want, env["LEDGER_PEERS"])
	}
	if own := "--node=" + strings.Replace(want[0], set.Name+"-0", "$(POD_NAME)", 1); !slices.Contains(c.Args, own) {
		t.Errorf("want %s in %q", own, c.Args)
	}
	if mounts := c.VolumeMounts; mounts[0].Name != set.Spec.VolumeClaimTemplates[0].Name || mounts[0].MountPath != env["LEDGER_DIR"] || mounts[1].MountPath != env["LEDGER_KEYS"] {
		t.Errorf("the volumes are mounted at %+v, and the folders are %v", mounts, env)
	}
}

// readLedgerCluster are the objects of the manifest of three nodes.
func readLedgerCluster(t *testing.T) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("ledger-cluster", "ledger.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text, []byte("\n---\n"))
}

// readUsageByArgs has the program read its arguments, and returns what it says of them.
func readUsageByArgs(t *testing.T, args []string) string {
	t.Helper()
	if len(args) < 2 || args[0] != "ledger" {
		t.Fatalf("the arguments are %q", args)
	}
	var usage bytes.Buffer
	err := ledger.Run(t.Context(), setting.Program{
		Name: "capi-bridge ledger", Args: append(slices.Clone(args[1:]), "-h"), Stdout: &usage, Stderr: io.Discard, Getenv: func(string) string { return "" },
	})
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(usage.String(), "--listen") {
		t.Fatalf("%q: %v\n%s", args, err, usage.String())
	}
	return usage.String()
}

// TestKubeLedgerService writes the manifests to a real API server each: they take the place
// of each other.
func TestKubeLedgerService(t *testing.T) {
	t.Parallel()
	_, service := readLedgerService(t)
	for name, texts := range map[string][][]byte{"File": service, "Cluster": append([][]byte{service[0]}, readLedgerCluster(t)...)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := kubetest.StartForTest(t, kubetest.Options{})
			for _, text := range texts {
				var o unstructured.Unstructured
				if err := yaml.Unmarshal(text, &o.Object); err != nil {
					t.Fatal(err)
				}
				applyObjects(t, c, []*unstructured.Unstructured{&o})
			}
		})
	}
}

package workload

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	endpoint = "api.example.com:6443"
	token    = "abcdef.0123456789abcdef"
)

// newAuthorities makes the authorities that Cluster API would make for a
// cluster.
func newAuthorities(t *testing.T) secret.Certificates {
	t.Helper()
	made := secret.NewCertificatesForInitialControlPlane(&bootstrapv1.ClusterConfiguration{})
	if err := made.Generate(); err != nil {
		t.Fatal(err)
	}
	return made
}

// initData is the bootstrap data of a first control plane machine.
func initData(t *testing.T, made secret.Certificates) []byte {
	t.Helper()
	data, err := cloudinit.NewInitControlPlane(&cloudinit.ControlPlaneInput{
		Certificates: made,
		ClusterConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n" +
			"controlPlaneEndpoint: " + endpoint + "\nkubernetesVersion: v1.36.2\n",
		InitConfiguration: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n" +
			"nodeRegistration:\n  name: '{{ ds.meta_data.local_hostname }}'\n  kubeletExtraArgs: [{name: node-labels, value: 'a=b'}]\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// joinData is the bootstrap data of a worker.
func joinData(t *testing.T, made secret.Certificates, token string) []byte {
	t.Helper()
	ca, err := readAuthority(filesOf(made), clusterCAFile)
	if err != nil {
		t.Fatal(err)
	}
	data, err := cloudinit.NewNode(&cloudinit.NodeInput{
		BaseUserData: cloudinit.BaseUserData{},
		JoinConfiguration: fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"+
			"discovery:\n  bootstrapToken: {apiServerEndpoint: '%s', token: %s, caCertHashes: ['%s']}\n"+
			"nodeRegistration:\n  taints: [{key: node.cluster.x-k8s.io/uninitialized, effect: NoSchedule}]\n", endpoint, token, ca.certificateHash()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// filesOf are the authorities as files of the user-data.
func filesOf(made secret.Certificates) map[string]string {
	files := map[string]string{}
	for _, f := range made.AsFiles() {
		files[f.Path] = f.Content
	}
	return files
}

// startMachines runs the machines until the test ends.
func startMachines(t *testing.T, o operator) *Workloads {
	t.Helper()
	w, err := StartMachines(t.Context(), Options{Site: Simulated{o.sim}, Interval: 20 * time.Millisecond, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// newAdministratorClient is a client with a certificate of the authority, or
// without one.
func newAdministratorClient(t *testing.T, w *Workloads, made secret.Certificates, signed bool) (client.WithWatch, error) {
	t.Helper()
	proxy, err := url.Parse(w.ProxyURL())
	if err != nil {
		t.Fatal(err)
	}
	files := filesOf(made)
	config := &rest.Config{Host: "https://" + endpoint, Proxy: http.ProxyURL(proxy), Timeout: time.Minute}
	config.CAData = []byte(files[clusterCAFile+".crt"])
	if signed {
		ca, err := readAuthority(files, clusterCAFile)
		if err != nil {
			t.Fatal(err)
		}
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := (&certs.Config{CommonName: "admin", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}).NewSignedCert(key, ca.cert, ca.key)
		if err != nil {
			t.Fatal(err)
		}
		config.CertData, config.KeyData = certs.EncodeCertPEM(cert), certs.EncodePrivateKeyPEM(key)
	}
	return client.NewWithWatch(config, client.Options{})
}

// waitFor waits up to a minute for something that takes a moment.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute: %s", what)
		}
	}
}

// TestClusterLives is the life of a small cluster, from a name that is not
// published yet to the last machine's release.
func TestClusterLives(t *testing.T) {
	t.Parallel()
	o, made := newOperator(t, 2), newAuthorities(t)
	w := startMachines(t, o)
	waits := func(host, why string) {
		t.Helper()
		waitFor(t, host+" waits: "+why, func() bool { return strings.Contains(w.Problems()[host], why) })
	}
	o.deployWithoutSwap("m2", joinData(t, made, token))
	waits("m2", "no machine has initialised")
	o.deployWithoutSwap("m1", initData(t, made))
	waits("m1", "MAAS's DNS has no address for api.example.com")
	o.publishDNS("api.example.com", o.findMachine("m1").IPAddresses...)

	var admin client.WithWatch
	waitFor(t, "the API server answers at its published name", func() (ok bool) {
		var err error
		admin, err = newAdministratorClient(t, w, made, true)
		return err == nil && admin.List(t.Context(), &corev1.NodeList{}) == nil
	})
	ready := func(node string, want corev1.ConditionStatus) {
		t.Helper()
		waitFor(t, fmt.Sprintf("node %s is ready: %s", node, want), func() bool {
			n := &corev1.Node{}
			return w.Clusters()[0].Client().Get(t.Context(), client.ObjectKey{Name: node}, n) == nil && n.Status.Conditions[0].Status == want
		})
	}
	ready("m1", corev1.ConditionTrue)
	stranger, err := newAdministratorClient(t, w, made, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.List(t.Context(), &corev1.NodeList{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("somebody without a certificate is let in: %v", err)
	}
	waits("m2", "is not the cluster's")
	bootstrapToken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"}, Data: map[string][]byte{"token-secret": []byte("0123456789abcdef")}}
	if err := admin.Create(t.Context(), bootstrapToken); err != nil {
		t.Fatal(err)
	}
	ready("m2", corev1.ConditionTrue)
	wantKubeadmObjects(t, admin)
	wantWatchShowsAll(t, admin)

	o.setPower("m1", "off")
	ready("m1", corev1.ConditionUnknown)
	if err := admin.List(t.Context(), &corev1.NodeList{}); err == nil {
		t.Error("the API server answers, although its machine is off")
	}
	o.setPower("m1", "on")
	ready("m1", corev1.ConditionTrue)
	if err := admin.List(t.Context(), &corev1.NodeList{}); err != nil {
		t.Errorf("the API server does not answer after a power cut: %v", err)
	}
	o.release("m2")
	ready("m2", corev1.ConditionUnknown)
	o.release("m1")
	waitFor(t, "the cluster is gone with its last machine", func() bool { return len(w.Clusters()) == 0 })
}

// wantKubeadmObjects checks the objects that Cluster API and the bridge read.
func wantKubeadmObjects(t *testing.T, admin client.Client) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := admin.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if n.Spec.ProviderID != "" {
			t.Errorf("node %s has provider id %s, which nobody gave it", n.Name, n.Spec.ProviderID)
		}
		_, isControlPlane := n.Labels[controlPlaneLabel]
		if isControlPlane != (n.Name == "m1") || n.Name == "m1" && n.Labels["a"] != "b" {
			t.Errorf("node %s has labels %v", n.Name, n.Labels)
		}
		if len(n.Spec.Taints) != 1 {
			t.Errorf("node %s has taints %v, want one", n.Name, n.Spec.Taints)
		}
		if n.Status.NodeInfo.KubeletVersion != "v1.36.2" {
			t.Errorf("node %s has version %s", n.Name, n.Status.NodeInfo.KubeletVersion)
		}
	}
	pods := &corev1.PodList{}
	if err := admin.List(t.Context(), pods, client.InNamespace("kube-system")); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 2 || len(pods.Items) != 4 {
		t.Errorf("%d nodes and %d pods, want 2 and 4", len(nodes.Items), len(pods.Items))
	}
}

// wantWatchShowsAll checks a client that watches again and asks for missed
// events. It must see all objects before the bookmark, because it forgets the
// others.
func wantWatchShowsAll(t *testing.T, admin client.WithWatch) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := admin.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	again, err := admin.Watch(t.Context(), &corev1.NamespaceList{}, &client.ListOptions{Raw: &metav1.ListOptions{
		ResourceVersion: nodes.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Stop()
	var names []string
	for event := range again.ResultChan() {
		if event.Type == watch.Bookmark {
			break
		}
		names = append(names, event.Object.(*corev1.Namespace).Name)
	}
	if !slices.Contains(names, metav1.NamespaceSystem) {
		t.Errorf("the watch begins with the namespaces %q", names)
	}
}

// TestKubeletRefusesSwap: a kubelet does not start on a machine with swap, and reports the
// reason.
func TestKubeletRefusesSwap(t *testing.T) {
	t.Parallel()
	o, made := newOperator(t, 1), newAuthorities(t)
	w := startMachines(t, o)
	o.deployWithSwap("m1", initData(t, made))
	waitFor(t, "m1 refuses to run with swap", func() bool { return strings.Contains(w.Problems()["m1"], "running with swap on") })
}

package kubetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest/programs"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
)

// serverStarter starts etcd, the API server and the controller manager.
type serverStarter struct{ *ControlPlane }

// startEtcd starts a cluster of one node, and returns its URL. It does not wait
// for the disk, because a loss of power does not matter to a test.
func (c serverStarter) startEtcd(ctx context.Context, data string, clients, peers int) (string, error) {
	url := fmt.Sprintf("http://%s:%d", loopback, clients)
	peer := fmt.Sprintf("http://%s:%d", loopback, peers)
	p, err := StartProcess(c.Dir, programs.Etcd, exec.Command(c.bin.Path(programs.Etcd),
		"--data-dir="+data, "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+url, "--advertise-client-urls="+url,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
	))
	if err != nil {
		return "", err
	}
	c.trackProcess(p)
	return url, p.AwaitReady(ctx, func(ctx context.Context) error { return checkAnswersOK(ctx, http.DefaultClient, url+"/readyz") })
}

// startAPIServer starts an API server that demands certificates or tokens and
// decides by RBAC. To block the deletion of an owner a client needs a right to
// it, as in some distributions.
func (c serverStarter) startAPIServer(ctx context.Context, etcd string, port int) error {
	flags, err := c.apiServerFiles()
	if err != nil {
		return err
	}
	flags = append(flags,
		"--etcd-servers="+etcd, fmt.Sprintf("--secure-port=%d", port),
		"--bind-address="+loopback, "--advertise-address="+loopback,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC", "--allow-privileged=true",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement", "--disable-admission-plugins=ServiceAccount",
	)
	p, err := StartProcess(c.Dir, programs.KubeAPIServer, exec.Command(c.bin.Path(programs.KubeAPIServer), flags...))
	if err != nil {
		return err
	}
	c.trackProcess(p)
	return p.AwaitReady(ctx, c.checkReady)
}

// checkReady returns an error until the API server is ready and has made its
// own namespaces.
func (c serverStarter) checkReady(ctx context.Context) error {
	transport, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return err
	}
	if err := checkAnswersOK(ctx, transport, c.Config.Host+"/readyz"); err != nil {
		return err
	}
	if c.Client, err = newClient(c.Config); err != nil {
		return err
	}
	for _, name := range []string{corev1.NamespaceDefault, "kube-system"} {
		if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}); err != nil {
			return err
		}
	}
	return nil
}

// checkAnswersOK gets a URL, and returns an error unless the status is 200.
func checkAnswersOK(ctx context.Context, by *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	reply, err := by.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, reply.Status)
	}
	return nil
}

// apiServerFiles writes keys and certificates, and returns the flags with their
// paths.
func (c serverStarter) apiServerFiles() ([]string, error) {
	ca := filepath.Join(c.Dir, "ca.crt")
	if err := os.WriteFile(ca, c.Authority.PEM, 0o600); err != nil {
		return nil, err
	}
	pair, err := c.Authority.ServerKeyPair()
	if err != nil {
		return nil, err
	}
	cert, key, err := pair.writeFiles(c.Dir, "server")
	if err != nil {
		return nil, err
	}
	tokens, err := writeTokenKey(c.Dir)
	if err != nil {
		return nil, err
	}
	return []string{
		"--client-ca-file=" + ca, "--tls-cert-file=" + cert, "--tls-private-key-file=" + key,
		"--service-account-key-file=" + tokens, "--service-account-signing-key-file=" + tokens,
	}, nil
}

// writeTokenKey makes the key that signs the tokens of service accounts.
func writeTokenKey(dir string) (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "service-account.key")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return name, os.WriteFile(name, text, 0o600)
}

// enabledControllers are those that need no nodes: for garbage, namespaces,
// their service accounts, and aggregated roles like Cluster API's.
var enabledControllers = []string{"garbage-collector-controller", "namespace-controller", "serviceaccount-controller", "clusterrole-aggregation-controller"}

// startControllerManager starts the controllers.
func (c serverStarter) startControllerManager(ctx context.Context) error {
	ports, err := freeport.Ports(1)
	if err != nil {
		return err
	}
	name := programs.KubeControllerManager
	p, err := StartProcess(c.Dir, name, exec.Command(c.bin.Path(name),
		"--kubeconfig="+c.Kubeconfig, "--authentication-kubeconfig="+c.Kubeconfig, "--authorization-kubeconfig="+c.Kubeconfig,
		"--controllers="+strings.Join(enabledControllers, ","),
		"--leader-elect=false", "--bind-address="+loopback, fmt.Sprintf("--secure-port=%d", ports[0]),
		"--tls-cert-file="+filepath.Join(c.Dir, "server.crt"), "--tls-private-key-file="+filepath.Join(c.Dir, "server.key"),
	))
	if err != nil {
		return err
	}
	c.trackProcess(p)
	transport, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: c.Authority.PEM}})
	if err != nil {
		return err
	}
	url := fmt.Sprintf("https://%s:%d/healthz", loopback, ports[0])
	return p.AwaitReady(ctx, func(ctx context.Context) error { return checkAnswersOK(ctx, transport, url) })
}

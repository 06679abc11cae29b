package kubetest

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenSeconds is how long a service account's token is valid, in seconds:
// longer than any test runs.
const tokenSeconds = int64(12 * 60 * 60)

// writeKubeconfig writes a client configuration as a kubeconfig file.
func writeKubeconfig(name string, c *rest.Config) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["kubetest"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	k.AuthInfos["kubetest"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken}
	k.Contexts["kubetest"] = &clientcmdapi.Context{Cluster: "kubetest", AuthInfo: "kubetest"}
	k.CurrentContext = "kubetest"
	return clientcmd.WriteToFile(*k, name)
}

// ServiceAccountConfig is the client configuration of an existing service
// account, with exactly the rights that RBAC gives it.
func (c *ControlPlane) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	seconds := tokenSeconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("cannot get a token for service account %s/%s: %w", namespace, name, err)
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = request.Status.Token
	return config, nil
}

// ServiceAccountKubeconfig writes the service account's kubeconfig, and returns
// its path.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	config, err := c.ServiceAccountConfig(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.Dir, namespace+"."+name+".kubeconfig")
	return path, writeKubeconfig(path, config)
}

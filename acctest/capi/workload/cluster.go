package workload

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryclient "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/client"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client reads and writes the objects of a cluster, without its API server.
type Client = inmemoryclient.Client

// Cluster is a workload cluster in memory, made by the kubeadm of a machine.
type Cluster struct {
	// Endpoint is host:port as in the user-data.
	Endpoint string
	// Version is the version of Kubernetes that the cluster began with.
	Version string

	caHash        string // hash of the authority; it identifies the cluster
	clusterConfig string // kubeadm's ClusterConfiguration
	ca            *authority
	etcdCA        *authority
	serverNames   []string // additional names of the API server
	client        Client
	api           http.Handler
	etcd          http.Handler

	mu               sync.Mutex
	etcdNodes        []string                    // nodes whose etcd runs
	etcdCertificates map[string]*tls.Certificate // by the name of the etcd
}

// Client reads and writes the cluster's objects, without its API server.
func (c *Cluster) Client() Client { return c.client }

// Nodes lists the cluster's nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	return listObjects[corev1.Node](ctx, c.client, "Node")
}

// listObjects lists objects of a core kind. The memory keeps objects that came
// by a patch without their type, so a typed list would fail.
func listObjects[T any](ctx context.Context, from Client, kind string, o ...client.ListOption) ([]T, error) {
	untyped := &unstructured.UnstructuredList{}
	untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
	if err := from.List(ctx, untyped, o...); err != nil {
		return nil, err
	}
	objects := make([]T, len(untyped.Items))
	for i, item := range untyped.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &objects[i]); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// newMemory makes the store for the objects of all clusters.
func newMemory() (inmemory.Manager, error) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme,
		storagev1.AddToScheme, apiextensionsv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(kinds); err != nil {
			return nil, err
		}
	}
	return inmemory.NewManager(kinds), nil
}

// newCluster makes the cluster of a plan with "kubeadm init".
func newCluster(memory inmemory.Manager, p plan) (*Cluster, error) {
	ca, err := readAuthority(p.files, clusterCAFile)
	if err != nil {
		return nil, err
	}
	etcdCA, err := readAuthority(p.files, etcdCAFile)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Endpoint: p.endpoint, Version: p.version, caHash: ca.certificateHash(), clusterConfig: p.clusterConfig,
		ca: ca, etcdCA: etcdCA, serverNames: p.serverNames, etcdCertificates: map[string]*tls.Certificate{},
	}
	memory.AddResourceGroup(c.caHash)
	c.client = memory.GetResourceGroup(c.caHash).GetClient()
	group := func(string) (string, error) { return c.caHash, nil }
	c.api = api.NewAPIServerHandler(memory, logr.Discard(), group)
	c.etcd = etcd.NewEtcdServerHandler(memory, logr.Discard(), group)
	return c, nil
}

// etcdName is the name of the etcd on a node, and of its pod.
func etcdName(node string) string { return "etcd-" + node }

// setEtcdMember sets whether the etcd of a node runs.
func (c *Cluster) setEtcdMember(node string, runs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.etcdNodes = slices.DeleteFunc(c.etcdNodes, func(name string) bool { return name == node })
	if runs {
		c.etcdNodes = append(c.etcdNodes, node)
	}
}

// etcdCertificate is the certificate of the etcd that a client names. It is nil
// where there is no such etcd, or where it does not run.
func (c *Cluster) etcdCertificate(name string) (*tls.Certificate, error) {
	node, isEtcd := strings.CutPrefix(name, etcdName(""))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isEtcd || !slices.Contains(c.etcdNodes, node) {
		return nil, nil
	}
	if c.etcdCertificates[name] == nil {
		cert, err := c.etcdCA.newServerCertificate(name, "localhost")
		if err != nil {
			return nil, err
		}
		c.etcdCertificates[name] = cert
	}
	return c.etcdCertificates[name], nil
}

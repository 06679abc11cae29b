package workload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// handshakeTimeout limits one look at an endpoint. All endpoints are on this
// machine.
const handshakeTimeout = 2 * time.Second

// checkEndpoint asks the endpoint for its certificate. It fails where nobody
// answers, where the certificate lacks the endpoint's name, or where none of
// the authorities signed it.
func (w *Workloads) checkEndpoint(ctx context.Context, endpoint string, trusted *x509.CertPool) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	connection, err := w.Dial(ctx, "tcp", endpoint)
	if err != nil {
		return err
	}
	defer connection.Close()
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return err
	}
	return tls.Client(connection, &tls.Config{RootCAs: trusted, ServerName: host, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
}

// checkToken returns an error unless a bootstrap token is one of the cluster's
// and still valid.
func (c *Cluster) checkToken(ctx context.Context, token string) error {
	id, secret, found := strings.Cut(token, ".")
	if !found {
		return errors.New("the bootstrap token has no dot")
	}
	s := &corev1.Secret{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id}
	if err := c.client.Get(ctx, key, s); err != nil {
		return fmt.Errorf("the bootstrap token %s is not the cluster's: %w", id, err)
	}
	if string(s.Data["token-secret"]) != secret {
		return fmt.Errorf("the secret half of the bootstrap token %s is wrong", id)
	}
	until, err := time.Parse(time.RFC3339, string(s.Data["expiration"]))
	if err == nil && time.Now().After(until) {
		return fmt.Errorf("the bootstrap token %s expired at %s", id, until)
	}
	return nil
}

// errNoCluster is the error of a join before its cluster exists.
var errNoCluster = errors.New("no machine has initialised the cluster of that authority")

// findOrInitCluster returns the cluster that a plan makes, or that it may join
// now.
func (w *Workloads) findOrInitCluster(ctx context.Context, p plan) (*Cluster, error) {
	if p.initialise {
		return w.initCluster(ctx, p)
	}
	at := slices.IndexFunc(w.Clusters(), func(c *Cluster) bool { return slices.Contains(p.caHashes, c.caHash) })
	if at < 0 {
		return nil, errNoCluster
	}
	c := w.Clusters()[at]
	if err := w.checkEndpoint(ctx, p.endpoint, c.ca.pool); err != nil {
		return nil, fmt.Errorf("the control plane's endpoint %s: %w", p.endpoint, err)
	}
	return c, c.checkToken(ctx, p.token)
}

// initCluster makes the plan's cluster, once.
func (w *Workloads) initCluster(ctx context.Context, p plan) (*Cluster, error) {
	ca, err := readAuthority(p.files, clusterCAFile)
	if err != nil {
		return nil, err
	}
	for _, c := range w.Clusters() {
		if c.caHash == ca.certificateHash() {
			return c, nil
		}
	}
	c, err := newCluster(w.memory, p)
	if err != nil {
		return nil, err
	}
	if err := c.createInitialObjects(ctx); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters = append(w.clusters, c)
	return c, nil
}

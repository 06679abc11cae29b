package workload

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiServer is the API server of one control plane machine. It also answers for
// etcd on connections through a port forwarded to etcd's pod.
type apiServer struct {
	address string // host:port, where it listens
	cluster *Cluster
	http    *http.Server
}

// startAPIServer starts the API server of the machine with the IP address. Its
// certificate has the endpoint's name and its own. It accepts clients with a
// certificate of the cluster's authority.
func (c *Cluster) startAPIServer(address, ip, node string) (*apiServer, error) {
	host, _, err := net.SplitHostPort(c.Endpoint)
	if err != nil {
		return nil, err
	}
	names := append([]string{"kube-apiserver", host, node, ip, "localhost", "kubernetes", "kubernetes.default.svc"}, c.serverNames...)
	cert, err := c.ca.newServerCertificate(names...)
	if err != nil {
		return nil, err
	}
	s := &apiServer{cluster: c}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return s.tlsConfigFor(hello, cert) },
			MinVersion:         tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		},
		ErrorLog: log.New(io.Discard, "", 0), // clients may break their connections
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the API server cannot listen: %w; a simulator with lxd_listen auto gives its machines loopback addresses", err)
	}
	s.address = l.Addr().String()
	go func() { _ = s.http.ServeTLS(l, "", "") }() // stop ends it
	return s, nil
}

// stop ends the API server and all its connections, as a power cut would.
func (s *apiServer) stop() { _ = s.http.Close() }

// tlsConfigFor returns the certificate of the etcd that the client names, else
// that of the API server. Each trusts only its own authority.
func (s *apiServer) tlsConfigFor(hello *tls.ClientHelloInfo, api *tls.Certificate) (*tls.Config, error) {
	config := &tls.Config{
		Certificates: []tls.Certificate{*api}, ClientCAs: s.cluster.ca.pool, ClientAuth: tls.VerifyClientCertIfGiven,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}
	etcd, err := s.cluster.etcdCertificate(hello.ServerName)
	if err != nil {
		return nil, err
	}
	if etcd != nil {
		config.Certificates, config.ClientCAs, config.ClientAuth = []tls.Certificate{*etcd}, s.cluster.etcdCA.pool, tls.RequireAndVerifyClientCert
		return config, nil
	}
	if strings.HasPrefix(hello.ServerName, etcdName("")) {
		return nil, errors.New(hello.ServerName + " does not run")
	}
	return config, nil
}

// ServeHTTP answers as etcd or as the API server does.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		s.cluster.etcd.ServeHTTP(w, r)
		return
	}
	if !isSignedBy(r.TLS, s.cluster.ca.cert) {
		writeUnauthorized(w)
		return
	}
	// A forwarded port leads to the host of the request. So the host becomes
	// this server, whatever name the client has for it.
	r.Host = s.address
	withInitialEvents(r)
	s.cluster.api.ServeHTTP(w, r)
}

// withInitialEvents makes a watch that asks for initial events begin with all
// objects. The server in memory leaves out those that the client may know by
// its resourceVersion. A client whose connection broke would then take them for
// deleted.
func withInitialEvents(r *http.Request) {
	query := r.URL.Query()
	if query.Get("sendInitialEvents") == "true" {
		query.Del("resourceVersion")
		r.URL.RawQuery = query.Encode()
	}
}

// isSignedBy reports whether the client's certificate is signed by the
// authority.
func isSignedBy(state *tls.ConnectionState, ca *x509.Certificate) bool {
	return state != nil && len(state.VerifiedChains) > 0 && state.VerifiedChains[0][len(state.VerifiedChains[0])-1].Equal(ca)
}

// writeUnauthorized writes the answer of an API server to unknown clients.
func writeUnauthorized(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the client may have gone
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized, Code: http.StatusUnauthorized, Message: "Unauthorized",
	})
}

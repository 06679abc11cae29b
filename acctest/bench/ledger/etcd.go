package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

// etcd is a cluster of three nodes on this machine, with mutual TLS between
// nodes and with clients, like the ledger's nodes. Each node waits for the
// disk, which is etcd's default.
type etcd struct {
	nodes []*etcdNode
}

type etcdNode struct {
	url, peer, health, httpURL string
	process                    *kubetest.Process
	http                       *http.Client
}

const etcdNodes = 3

// startEtcd starts the cluster, and waits until all nodes are healthy.
func startEtcd(ctx context.Context, bin, dir string) (*etcd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	trust, flags, err := etcdIdentity(dir)
	if err != nil {
		return nil, err
	}
	ports, err := freeport.Ports(4 * etcdNodes)
	if err != nil {
		return nil, err
	}
	e := &etcd{}
	var members []string
	for i := range etcdNodes {
		n := &etcdNode{http: newHTTP2(trust)}
		for _, a := range []*string{&n.url, &n.peer, &n.httpURL, &n.health} {
			*a, ports = "https://"+loopbackAddress(ports[0]), ports[1:]
		}
		n.health = strings.Replace(n.health, "https:", "http:", 1)
		e.nodes = append(e.nodes, n)
		members = append(members, fmt.Sprintf("n%d=%s", i, n.peer))
	}
	for i, n := range e.nodes {
		if err := n.start(bin, dir, fmt.Sprint("n", i), append(flags, "--initial-cluster", strings.Join(members, ","))); err != nil {
			return e, err
		}
	}
	for _, n := range e.nodes {
		err := n.process.AwaitReady(ctx, func(ctx context.Context) error { _, err := getPage(ctx, n.health+"/health"); return err })
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// start starts the node's process. HTTP has a port of its own, because gRPC is
// slower when both share one.
func (n *etcdNode) start(bin, dir, name string, flags []string) error {
	own := []string{
		"--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "warn",
		"--listen-client-urls", n.url, "--advertise-client-urls", n.url, "--listen-client-http-urls", n.httpURL,
		"--listen-peer-urls", n.peer, "--initial-advertise-peer-urls", n.peer, "--listen-metrics-urls", n.health,
	}
	var err error
	n.process, err = kubetest.StartProcess(dir, name, exec.Command(bin, append(own, flags...)...))
	return err
}

// stop ends the running nodes.
func (e *etcd) stop() {
	for _, n := range e.nodes {
		if n.process != nil {
			n.process.Stop()
		}
	}
}

// etcdIdentity makes the certificate with which the nodes and the client
// identify themselves.
func etcdIdentity(dir string) (*tls.Config, []string, error) {
	authority, err := access.OpenAuthority(dir, time.Now())
	if err != nil {
		return nil, nil, err
	}
	pair, err := authority.IssueNode(loopback, time.Now())
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	var flags []string
	for name, text := range map[string][]byte{
		"trusted-ca": []byte(authority.Certificate),
		"cert":       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		"key":        pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	} {
		path := filepath.Join(dir, name+".pem")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, nil, err
		}
		flags = append(flags, "--"+name+"-file", path, "--peer-"+name+"-file", path)
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: authority.Pool()}
	return trust, append(flags, "--client-cert-auth", "--peer-client-cert-auth"), nil
}

// newHTTP2 makes an HTTP client as the ledger's client has it.
func newHTTP2(trust *tls.Config) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: trust, Protocols: &protocols}}
}

// create puts a value if the key does not exist, at the first node that
// answers.
func (e *etcd) create(ctx context.Context, from int, key, value string) error {
	var errs []error
	for try := range e.nodes {
		err := e.nodes[(from+try)%len(e.nodes)].create(ctx, key, value)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

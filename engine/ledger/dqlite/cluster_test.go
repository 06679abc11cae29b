//go:build dqlite

package dqlite_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/dqlite"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// newIdentity makes an authority, and a certificate that it signed.
func newIdentity(t testing.TB) dqlite.Identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cluster"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, DNSNames: []string{"localhost"},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(public)
	return dqlite.Identity{Certificate: tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}, Signers: pool}
}

// cluster holds some nodes in this process.
type cluster struct {
	t       testing.TB
	configs []dqlite.Config
	nodes   []*dqlite.Node // nil: the node does not run
}

func newCluster(t testing.TB, size int) *cluster {
	t.Helper()
	c := &cluster{t: t, nodes: make([]*dqlite.Node, size)}
	identity, folder := newIdentity(t), t.TempDir()
	var addresses []string
	for range size {
		address, err := freeport.Address()
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, address)
	}
	for n := range size {
		var peers []string
		for m, address := range addresses {
			if m != n {
				peers = append(peers, address)
			}
		}
		c.configs = append(c.configs, dqlite.Config{Folder: filepath.Join(folder, fmt.Sprint(n)), Address: addresses[n], Peers: peers, Identity: identity})
	}
	if err := dqlite.PrepareNewCluster(c.configs[0].Folder); err != nil {
		t.Fatal(err)
	}
	for n := range size {
		c.start(n)
	}
	t.Cleanup(func() {
		for n := range size {
			c.stop(n)
		}
	})
	return c
}

// start starts a node, and waits until it is a member.
func (c *cluster) start(n int) {
	c.t.Helper()
	node, err := dqlite.StartNode(c.ctx(), c.configs[n])
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes[n] = node
	if err := node.WaitUntilMember(c.ctx()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) stop(n int) {
	if c.nodes[n] == nil {
		return
	}
	if err := c.nodes[n].Close(context.Background()); err != nil {
		c.t.Errorf("node %d: %v", n, err)
	}
	c.nodes[n] = nil
}

// ctx ends before the time limit of the test.
func (c *cluster) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	c.t.Cleanup(cancel)
	return ctx
}

func (c *cluster) open(n int) *ledger.Ledger {
	c.t.Helper()
	l, err := c.nodes[n].Open(c.ctx(), time.Now)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { l.Close() })
	return l
}

// TestContract: a ledger on three nodes passes the same tests as one in a file.
func TestContract(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"One": 1, "Three": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, size)
			regions, handles := 0, 0
			ledgertest.Contract(t, func(*testing.T) ledgertest.Store {
				regions++
				own := fmt.Sprint(regions, "-") // so that each store is empty at first
				return ledgertest.Store{Open: func(region string) engine.Ledger {
					handles++
					return c.open(handles % size).Region(own + region)
				}}
			})
		})
	}
}

// TestNodeLeavesAndReturns: a stopped node comes back. A node that lost its disk is refused until it was
// removed.
func TestNodeLeavesAndReturns(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	members, err := c.nodes[1].Members(c.ctx())
	if err != nil || len(members) != 3 {
		t.Fatalf("got %+v, %v", members, err)
	}
	c.stop(2)
	c.start(2)
	c.stop(2)
	lost := c.configs[2]
	lost.Folder = filepath.Join(t.TempDir(), "new-disk")
	if _, err := dqlite.StartNode(c.ctx(), lost); !errors.Is(err, engine.ErrConflict) {
		t.Fatalf("a member without its data: %v", err)
	}
	if err := c.nodes[0].Remove(c.ctx(), lost.Address); err != nil {
		t.Fatal(err)
	}
	c.configs[2] = lost
	c.start(2)
	if err := c.nodes[0].Remove(c.ctx(), "127.0.0.1:1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}

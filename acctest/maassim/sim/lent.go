package sim

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

// lent is the real LXD in the place of a simulated one. What the simulator knows
// of its instances is what it has listed last: see look. It is called with Sim.mu
// held: it answers within milliseconds, but for the start of a VM, and never calls
// back.
type lent struct {
	RealLXD
	w     *world
	admin *lxdClient
	maas  map[string]*lxdClient // as MAAS, by BMC
	shows identity
	given bool // back
}

// lend borrows an LXD for a server that is described, with time passing. The
// server has what the LXD then says of itself.
func (w *world) lend(l *lxdServer, bridges []LXDBridge) error {
	m := LXDMachine{Name: l.name, Cores: l.cores, MemoryMiB: l.memoryMiB, StoragePools: l.pools, Bridges: bridges}
	w.sim.mu.Unlock()
	real, err := w.sim.lender.Lend(m)
	w.sim.mu.Lock()
	if err != nil {
		return err
	}
	l.lent = &lent{RealLXD: real, w: w, admin: newLXDClient(real.Administer, nil), maas: map[string]*lxdClient{}}
	if err := l.ask(); err != nil {
		l.giveBack()
		return err
	}
	return nil
}

// ask takes over what the LXD says of itself.
func (l *lxdServer) ask() error {
	var server api.Server
	if err := l.lent.admin.do(http.MethodGet, "/1.0", nil, &server); err != nil {
		return err
	}
	l.version, l.lent.shows.certificate = server.Environment.ServerVersion, server.Environment.Certificate
	for n, p := range l.pools {
		var pool api.StoragePool
		var room api.ResourcesStoragePool
		err := errors.Join(l.lent.admin.do(http.MethodGet, "/1.0/storage-pools/"+p.Name, nil, &pool),
			l.lent.admin.do(http.MethodGet, "/1.0/storage-pools/"+p.Name+"/resources", nil, &room))
		if err != nil {
			return err
		}
		l.pools[n].Driver, l.pools[n].SizeBytes = pool.Driver, int64(room.Space.Total)
	}
	return nil
}

// giveBack returns the LXD, if it is a real one. What was last seen of it stays.
func (l *lxdServer) giveBack() {
	if l.lent == nil || l.lent.given {
		return
	}
	l.look()
	l.lent.given = true
	l.lent.admin.http.CloseIdleConnections()
	for _, c := range l.lent.maas {
		c.http.CloseIdleConnections()
	}
	l.lent.Return()
}

// as is a client with the certificate of a BMC, as MAAS uses it.
func (l *lent) as(b *bmc) (*lxdClient, error) {
	if c := l.maas[b.id()]; c != nil {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(b.certificate), []byte(b.key))
	if err != nil {
		return nil, err
	}
	l.maas[b.id()] = newLXDClient(l.Dial, &pair)
	return l.maas[b.id()], nil
}

// admitReal lets the LXD itself judge MAAS's credentials: see admit.
func (l *lxdServer) admitReal(b *bmc, who string) string {
	c, err := l.lent.as(b)
	if err != nil {
		return who + "Certificate is not trusted and no password was given"
	}
	trusted := func() bool {
		var server api.Server
		err = c.do(http.MethodGet, "/1.0", nil, &server)
		return err == nil && server.Auth == "trusted"
	}
	if !trusted() && err == nil && b.password != "" {
		if refused := c.do(http.MethodPost, "/1.0/certificates", object{"type": "client", "password": b.password}, nil); refused != nil {
			return who + "Password authentication failed: " + refused.Error()
		}
		trusted()
		b.password, b.hasPassword = "", false
	}
	switch {
	case err != nil:
		return connectionProblem(b)
	case !trusted():
		return who + "Certificate is not trusted and no password was given"
	}
	var refusal *lxdRefusal
	if err := c.do(http.MethodGet, inLXDProject("/1.0/instances", b.project), nil, nil); errors.As(err, &refusal) && refusal.code == http.StatusForbidden {
		return who + "not authorized"
	}
	return ""
}

// trustReal makes the LXD trust a certificate, once.
func (l *lxdServer) trustReal(t trust) error {
	block, _ := pem.Decode([]byte(strings.TrimSpace(t.certificate)))
	if block == nil {
		return errors.New("a real LXD trusts certificates in PEM only")
	}
	return existing(l.lent.admin.do(http.MethodPost, "/1.0/certificates", object{
		"type": "client", "name": or(t.name, "client"), "certificate": base64.StdEncoding.EncodeToString(block.Bytes),
		"restricted": t.restricted, "projects": list(t.projects),
	}, nil))
}

// distrustReal makes the LXD forget a certificate.
func (l *lxdServer) distrustReal(certificate string) error {
	return l.lent.admin.do(http.MethodDelete, "/1.0/certificates/"+fingerprint(strings.TrimSpace(certificate)), nil, nil)
}

// existing drops the error of what is there already.
func existing(err error) error {
	var refusal *lxdRefusal
	if errors.As(err, &refusal) && refusal.code == http.StatusConflict {
		return nil
	}
	return err
}

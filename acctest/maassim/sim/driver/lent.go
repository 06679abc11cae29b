package driver

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Lent is a real LXD in place of a simulated one. The simulator knows its instances from
// the last [Lent.SyncInstances]. Methods are called with the lock held, so they return
// within milliseconds, except for the start of a VM. They never call back.
type Lent struct {
	world.RealLXD
	world    *world.World
	server   *world.LXD
	admin    *client
	maas     map[string]*client // MAAS's client, by BMC
	identity world.Identity
	returned bool // given back
}

// borrowLXD borrows a real LXD for a described server. Time passes meanwhile. Afterwards
// the server has the identity and size that the real LXD reports.
func borrowLXD(w *world.World, l *world.LXD, bridges []world.LXDBridge) error {
	m := world.LXDMachine{Name: l.Name, Cores: l.Cores, MemoryMiB: l.MemoryMiB, StoragePools: l.Pools, Bridges: bridges}
	w.Keeper.Unlock()
	borrowed, err := w.Keeper.Lender.Lend(m)
	w.Keeper.Lock()
	if err != nil {
		return err
	}
	r := &Lent{RealLXD: borrowed, world: w, server: l, admin: newClient(borrowed.DialAdmin, nil), maas: map[string]*client{}}
	l.Lent = r
	if err := r.readServer(); err != nil {
		l.GiveBack()
		return err
	}
	return nil
}

// readServer copies what the LXD reports about itself.
func (r *Lent) readServer() error {
	l := r.server
	var server api.Server
	if err := r.admin.call(http.MethodGet, "/1.0", nil, &server); err != nil {
		return err
	}
	l.Version, r.identity.Certificate = server.Environment.ServerVersion, server.Environment.Certificate
	for n, p := range l.Pools {
		var pool api.StoragePool
		var room api.ResourcesStoragePool
		err := errors.Join(r.admin.call(http.MethodGet, "/1.0/storage-pools/"+p.Name, nil, &pool),
			r.admin.call(http.MethodGet, "/1.0/storage-pools/"+p.Name+"/resources", nil, &room))
		if err != nil {
			return err
		}
		l.Pools[n].Driver, l.Pools[n].SizeBytes = pool.Driver, int64(room.Space.Total)
	}
	return nil
}

// GiveBack returns the LXD. The server keeps the last known instances.
func (r *Lent) GiveBack() {
	if r.returned {
		return
	}
	r.SyncInstances()
	r.returned = true
	r.admin.http.CloseIdleConnections()
	for _, c := range r.maas {
		c.http.CloseIdleConnections()
	}
	r.Return()
}

// ClientFor is a client with the certificate of a BMC, as MAAS connects.
func (l *Lent) ClientFor(b *world.BMC) (*client, error) {
	if c := l.maas[b.RowKey()]; c != nil {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(b.Certificate), []byte(b.Key))
	if err != nil {
		return nil, err
	}
	l.maas[b.RowKey()] = newClient(l.Dial, &pair)
	return l.maas[b.RowKey()], nil
}

// admitMAAS lets the LXD itself check MAAS's credentials: see AdmitMAAS.
func (r *Lent) admitMAAS(b *world.BMC, who string) string {
	c, err := r.ClientFor(b)
	if err != nil {
		return who + "Certificate is not trusted and no password was given"
	}
	trusted := func() bool {
		var server api.Server
		err = c.call(http.MethodGet, "/1.0", nil, &server)
		return err == nil && server.Auth == "trusted"
	}
	if !trusted() && err == nil && b.Password != "" {
		if refused := c.call(http.MethodPost, "/1.0/certificates", rest.Object{"type": "client", "password": b.Password}, nil); refused != nil {
			return who + "Password authentication failed: " + refused.Error()
		}
		trusted()
		b.Password, b.HasPassword = "", false
	}
	switch {
	case err != nil:
		return ConnectionProblem(b)
	case !trusted():
		return who + "Certificate is not trusted and no password was given"
	}
	var refusal *lxdError
	if err := c.call(http.MethodGet, inProject("/1.0/instances", b.Project), nil, nil); errors.As(err, &refusal) && refusal.code == http.StatusForbidden {
		return who + "not authorized"
	}
	return ""
}

// Trust makes the LXD trust a certificate. Repeating it changes nothing.
func (r *Lent) Trust(t daemon.Trust) error {
	block, _ := pem.Decode([]byte(strings.TrimSpace(t.Certificate)))
	if block == nil {
		return errors.New("a real LXD trusts only certificates in PEM")
	}
	return ignoreExisting(r.admin.call(http.MethodPost, "/1.0/certificates", rest.Object{
		"type": "client", "name": cmp.Or(t.Name, "client"), "certificate": base64.StdEncoding.EncodeToString(block.Bytes),
		"restricted": t.Restricted, "projects": rest.NonNilList(t.Projects),
	}, nil))
}

// Distrust removes a certificate from the LXD's trust store.
func (r *Lent) Distrust(certificate string) error {
	return r.admin.call(http.MethodDelete, "/1.0/certificates/"+daemon.Fingerprint(strings.TrimSpace(certificate)), nil, nil)
}

// ignoreExisting drops the error about an object that exists already.
func ignoreExisting(err error) error {
	var refusal *lxdError
	if errors.As(err, &refusal) && refusal.code == http.StatusConflict {
		return nil
	}
	return err
}

// LentTo is the real LXD that was lent for a server, or nil for a simulated one.
func LentTo(l *world.LXD) *Lent {
	r, _ := l.Lent.(*Lent)
	return r
}

// Identity is the certificate and version that the LXD shows to clients.
func (r *Lent) Identity() *world.Identity { return &r.identity }

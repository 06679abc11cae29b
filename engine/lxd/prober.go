// Package lxd reaches LXD servers over their HTTPS API, and makes VMs on them.
//
// Both sides are known by the SHA-256 of their certificates, which no
// authority signs: the client's (see fleetkey) is trusted on the host at its first
// boot, the server's is pinned when it is first seen.
package lxd

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	client "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// defaultTimeout bounds a look at one LXD. What a look asks for, an LXD
// answers within milliseconds; one behind a firewall never does.
const defaultTimeout = 10 * time.Second

// defaultProject is the project that every LXD has.
const defaultProject = api.ProjectDefaultName

// Config is what a Prober is made of. The zero value will do.
type Config struct {
	// Timeout of a whole look; 0: 10 s.
	Timeout time.Duration
	// UserAgent is how the program introduces itself; empty: LXD's default.
	UserAgent string
}

// Prober asks LXD servers. It keeps nothing between two looks, no connection
// either, and is safe for concurrent use.
type Prober struct {
	timeout   time.Duration
	userAgent string
	proxy     func(*http.Request) (*url.URL, error)
}

var _ engine.Probe = (*Prober)(nil)

// NewProber returns a Prober. It heeds HTTPS_PROXY and NO_PROXY.
func NewProber(c Config) *Prober {
	return &Prober{timeout: cmp.Or(c.Timeout, defaultTimeout), userAgent: c.UserAgent, proxy: http.ProxyFromEnvironment}
}

// Server implements engine.Probe. An empty project is LXD's "default". Beyond
// what the port says: an *engine.Error of type ProjectNotFound if the project
// does not exist or the certificate may not see it; an *engine.SpecError for an
// address or a key pair that cannot be used; the ctx's own error if it ends
// first.
func (p *Prober) Server(ctx context.Context, e engine.Endpoint, c engine.Credentials, pinned string) (engine.LXDServer, error) {
	t, err := newTarget(e, c, pinned)
	if err != nil {
		return engine.LXDServer{}, err
	}
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	server, err := p.probeServer(limited, t)
	switch {
	case err == nil:
		return server, nil
	case ctx.Err() != nil:
		return engine.LXDServer{}, t.givenUpError(ctx.Err())
	case limited.Err() != nil, isTimeout(err):
		return engine.LXDServer{}, t.timeoutError(p.timeout)
	}
	return engine.LXDServer{}, t.explainError(err)
}

// Timeout bounds a whole look.
func (p *Prober) Timeout() time.Duration { return p.timeout }

// Connect connects to the LXD of an endpoint, which must show the certificate with
// the fingerprint pinned. The connection ends with ctx, and sends nothing yet. The
// errors are those of Server.
func (p *Prober) Connect(ctx context.Context, e engine.Endpoint, c engine.Credentials, pinned string) (client.InstanceServer, error) {
	t, err := newTarget(e, c, pinned)
	if err != nil {
		return nil, err
	}
	conn, err := p.connect(ctx, t, t.pinned)
	if err != nil {
		return nil, t.explainError(err)
	}
	return conn, nil
}

// target is what is looked at, and as whom.
type target struct {
	address string // "host:port"
	project string
	key     fleetkey.Key
	pinned  string // fingerprint of the server's certificate; empty: not known yet
}

func newTarget(e engine.Endpoint, c engine.Credentials, pinned string) (target, error) {
	address, err := hostPort(e.Address)
	if err != nil {
		return target{}, err
	}
	key, err := fleetkey.Parse(c.Certificate, c.Key, time.Now())
	if err != nil {
		return target{}, err
	}
	return target{address: address, project: cmp.Or(e.Project, defaultProject), key: key, pinned: fleetkey.NormalFingerprint(pinned)}, nil
}

// probeServer learns the server's certificate, unless it is known, and then takes
// everything over one connection that is held to it.
func (p *Prober) probeServer(ctx context.Context, t target) (engine.LXDServer, error) {
	pin := t.pinned
	if pin == "" {
		var err error
		if pin, err = p.learnFingerprint(ctx, t.address); err != nil {
			return engine.LXDServer{}, err
		}
	}
	conn, err := p.connect(ctx, t, pin)
	if err != nil {
		return engine.LXDServer{}, err
	}
	server := engine.LXDServer{Fingerprint: pin}
	err = t.readServer(conn, &server)
	return server, err
}

// authTrusted is what LXD calls a client that may do what it asks for.
const authTrusted = "trusted"

// IsTrusted tells that the LXD lets its client in, by certificate or by socket.
func IsTrusted(info *api.Server) bool { return info.Auth == authTrusted }

// NeededExtensions are those parts of LXD's API without which neither MAAS (its LXD
// driver, drivers/pod/lxd.py) nor we can do anything with an LXD. 4.16 has them all.
func NeededExtensions() []string {
	return []string{"projects", "virtual-machines", "custom_block_volumes"}
}

// MissingExtension names one that an LXD lacks; empty if it has them all.
func MissingExtension(info *api.Server) string {
	for _, extension := range NeededExtensions() {
		if !slices.Contains(info.APIExtensions, extension) {
			return extension
		}
	}
	return ""
}

// readServer fills in what the LXD shows. conn ends with the look's ctx.
func (t target) readServer(conn client.InstanceServer, server *engine.LXDServer) error {
	info, _, err := conn.GetServer()
	if err != nil {
		return err
	}
	if err := t.checkUsable(info); err != nil {
		return err
	}
	server.Version = info.Environment.ServerVersion
	if _, _, err := conn.GetProject(t.project); err != nil {
		return t.projectMissingError(err)
	}
	if server.Instances, err = conn.UseProject(t.project).GetInstanceNames(api.InstanceTypeAny); err != nil {
		return t.projectMissingError(err)
	}
	if server.StoragePools, err = conn.GetStoragePoolNames(); err != nil {
		return err
	}
	slices.Sort(server.Instances)
	slices.Sort(server.StoragePools)
	return nil
}

// checkUsable says why an LXD that answers is of no use. One that does not trust
// the certificate shows its extensions, but not its version.
func (t target) checkUsable(info *api.Server) error {
	if info.APIVersion == "" {
		return errNotLXD
	}
	if !IsTrusted(info) {
		return t.clientUntrustedError()
	}
	if extension := MissingExtension(info); extension != "" {
		return t.versionTooOldError(info.Environment.ServerVersion, extension)
	}
	return nil
}

// Package lxd reaches LXD servers over their HTTPS API, and makes VMs on them.
//
// Client and server are identified by the SHA-256 of their certificates, which no authority
// signs. The host trusts the client's certificate (see fleetkey) at its first boot. The
// server's certificate is pinned when it is first seen.
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

// defaultTimeout bounds one read of one LXD. LXD answers a read within milliseconds; an LXD
// behind a firewall never answers.
const defaultTimeout = 10 * time.Second

// defaultProject is the project that every LXD has.
const defaultProject = api.ProjectDefaultName

// Config is what NewProber needs. All fields are optional.
type Config struct {
	// Timeout bounds one call of Server; 0: 10 s.
	Timeout time.Duration
	// UserAgent is the User-Agent header; empty: LXD's default.
	UserAgent string
}

// Prober asks LXD servers. Between two calls it keeps nothing, not even a connection. It is
// safe for concurrent use.
type Prober struct {
	timeout   time.Duration
	userAgent string
	proxy     func(*http.Request) (*url.URL, error)
}

var _ engine.Probe = (*Prober)(nil)

// NewProber returns a Prober. It uses the proxies of HTTPS_PROXY and NO_PROXY.
func NewProber(c Config) *Prober {
	return &Prober{timeout: cmp.Or(c.Timeout, defaultTimeout), userAgent: c.UserAgent, proxy: http.ProxyFromEnvironment}
}

// Server implements engine.Probe. An empty project is LXD's "default". It has these errors
// besides those of engine.Probe:
//
// An *engine.Error of type ProjectNotFound if the project does not exist or the certificate
// may not see it. An *engine.SpecError for an address or a key pair that cannot be used.
// The ctx's own error if the ctx ends first.
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

// Timeout returns the bound of one call of Server.
func (p *Prober) Timeout() time.Duration { return p.timeout }

// Connect connects to the LXD of an endpoint, which must show the certificate with the
// fingerprint pinned. It sends no request yet. The connection ends with ctx. The errors are
// those of Server.
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

// target is the LXD and project to connect to, and the key pair to use.
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

// probeServer reads the server's certificate, unless it is known. Then it reads everything
// over one connection that is pinned to it.
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

// authTrusted is LXD's word for a client that it trusts.
const authTrusted = "trusted"

// IsTrusted reports whether LXD trusts its client, by certificate or by socket.
func IsTrusted(info *api.Server) bool { return info.Auth == authTrusted }

// NeededExtensions returns the API extensions that MAAS (its LXD driver,
// drivers/pod/lxd.py) and we need. LXD 4.16 has them all.
func NeededExtensions() []string {
	return []string{"projects", "virtual-machines", "custom_block_volumes"}
}

// MissingExtension returns the first needed extension that an LXD lacks; empty if it has
// them all.
func MissingExtension(info *api.Server) string {
	for _, extension := range NeededExtensions() {
		if !slices.Contains(info.APIExtensions, extension) {
			return extension
		}
	}
	return ""
}

// readServer fills in what the LXD shows. conn ends with the ctx of the read.
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

// checkUsable returns why an LXD that answers cannot be used. An LXD that does not trust
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

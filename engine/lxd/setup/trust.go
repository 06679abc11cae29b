package setup

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// trustPart checks that a certificate may use the project. A new certificate may use
// nothing else.
func (a *applier) trustPart(want cloudinit.PublicCertificate) part {
	project := a.setup.Project.Name
	object := fmt.Sprintf("certificate %.12s", want.Fingerprint)
	return func() (finding, error) {
		have, etag, err := a.conn.GetCertificate(want.Fingerprint)
		switch {
		case isNotFound(err):
			return makeFinding(object, "trusted for the project "+project, func() error { return a.conn.CreateCertificate(a.certificateRequest(want)) }), nil
		case err != nil:
			return failedFinding(object), err
		case have.Type != api.CertificateTypeClient:
			return refuseFinding(object, "LXD trusts it already, as a certificate of the type "+have.Type, "Give the certificate of a client."), nil
		case !have.Restricted:
			return keepFinding(object, "trusted without restriction, and not changed"), nil
		case slices.Contains(have.Projects, project):
			return keepFinding(object, "trusted for the project "+project), nil
		}
		return changeFinding(object, "trusted for the project "+project+", in addition", func() error {
			put := have.Writable()
			put.Projects = append(slices.Clone(put.Projects), project)
			return a.conn.UpdateCertificate(want.Fingerprint, put, etag)
		}), nil
	}
}

// certificateNamePrefix begins the names of the certificates that we add to LXD.
const certificateNamePrefix = "maaslxd-"

func (a *applier) certificateRequest(c cloudinit.PublicCertificate) api.CertificatesPost {
	block, _ := pem.Decode([]byte(c.PEM)) // Setup wrote it, so it is valid
	return api.CertificatesPost{
		Name: fmt.Sprintf("%s%.12s", certificateNamePrefix, c.Fingerprint), Type: api.CertificateTypeClient,
		Restricted: true, Projects: []string{a.setup.Project.Name},
		Certificate: base64.StdEncoding.EncodeToString(block.Bytes), // DER: PEM is refused
	}
}

// listenKey is LXD's setting for the address of its API on the network.
const listenKey = "core.https_address"

// listenPart is the listen address. If LXD listens elsewhere, that address may be in use.
func (a *applier) listenPart() part {
	const object = "listening"
	return func() (finding, error) {
		server, etag, err := a.conn.GetServer()
		if err != nil {
			return failedFinding(object), err
		}
		have, _ := server.Config[listenKey].(string)
		switch {
		case have != "" && normalAddress(have) == normalAddress(a.setup.Listen):
			return keepFinding(object, "at "+have), nil
		case have != "" && !a.ChangeListen:
			return refuseFinding(object, fmt.Sprintf("LXD listens at %s instead of %s", have, a.setup.Listen),
				"Ask for that address and port, or let it be changed (--change-listen-address): clients of the former address lose the connection."), nil
		}
		act := func() error { return a.moveListenAddress(server, etag) }
		if have != "" {
			return changeFinding(object, fmt.Sprintf("at %s instead of %s", a.setup.Listen, have), act), nil
		}
		return makeFinding(object, "at "+a.setup.Listen, act), nil
	}
}

// moveListenAddress moves LXD's API to another address. If LXD cannot listen there, it
// answers with an error and keeps the former address, but saves the new one. So the setting
// is restored, or the next inspection would believe it.
func (a *applier) moveListenAddress(server *api.Server, etag string) error {
	failure := a.conn.UpdateServer(configWithListen(server, a.setup.Listen), etag)
	if _, answered := api.StatusErrorMatch(failure); !answered || isConcurrentChange(failure) {
		return failure
	}
	now, etag, err := a.conn.GetServer()
	if err != nil || now.Config[listenKey] != a.setup.Listen {
		return failure
	}
	former, _ := server.Config[listenKey].(string)
	if err := a.conn.UpdateServer(configWithListen(now, former), etag); err != nil {
		return fmt.Errorf("%w; and it keeps the address: %v", failure, err)
	}
	return failure
}

// configWithListen returns the server's config with another address, or with none.
func configWithListen(server *api.Server, address string) api.ServerPut {
	put := server.Writable()
	put.Config = maps.Clone(put.Config)
	if put.Config == nil {
		put.Config = map[string]any{}
	}
	put.Config[listenKey] = address
	if address == "" {
		delete(put.Config, listenKey)
	}
	return put
}

// normalAddress returns an address of LXD in one form. Host and port may be missing.
func normalAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), strconv.Itoa(cloudinit.DefaultPort)
	}
	switch host {
	case "", "*":
		host = "::"
	}
	return net.JoinHostPort(host, port)
}

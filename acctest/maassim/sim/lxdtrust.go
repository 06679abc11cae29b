package sim

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"
)

// withTrustToken is the LXD that reads tokens from a field of their own.
var withTrustToken = lxdVersion{5, 21}

func lxdTrustRoutes() []lxdRoute {
	return []lxdRoute{
		{http.MethodGet, "1.0/certificates", lxdTrusted, listCertificates},
		{http.MethodPost, "1.0/certificates", lxdPublic, addCertificate},
		{http.MethodGet, "1.0/certificates/{name}", lxdTrusted, readCertificate},
		{http.MethodPut, "1.0/certificates/{name}", lxdAdmin, putCertificate},
		{http.MethodDelete, "1.0/certificates/{name}", lxdAdmin, deleteCertificate},
	}
}

func (t trust) view() api.Certificate {
	return api.Certificate{
		Name: t.name, Type: api.CertificateTypeClient, Restricted: t.restricted, Projects: list(t.projects),
		Certificate: t.certificate, Fingerprint: fingerprint(t.certificate),
	}
}

// certificates are those that the client may see, which stand for clients.
func (c *lxdCall) certificates() []api.Certificate {
	found := []api.Certificate{}
	for _, t := range c.l.trusted {
		mine := fingerprint(t.certificate) == fingerprint(c.trust.certificate)
		if len(certificatesIn(t.certificate)) > 0 && (mine || !c.trust.restricted) {
			found = append(found, t.view())
		}
	}
	return found
}

func listCertificates(c *lxdCall) reply {
	found, paths := c.certificates(), []string{}
	if c.depth() == "1" {
		return synced(found)
	}
	for _, v := range found {
		paths = append(paths, "/1.0/certificates/"+v.Fingerprint)
	}
	return synced(paths)
}

// certificate finds one by its fingerprint or the beginning of it.
func (c *lxdCall) certificate() (api.Certificate, *reply) {
	all := c.certificates()
	i := slices.IndexFunc(all, func(v api.Certificate) bool { return strings.HasPrefix(v.Fingerprint, c.vars["name"]) })
	if i < 0 {
		bad := lxdMissing("Certificate")
		return api.Certificate{}, &bad
	}
	return all[i], nil
}

func readCertificate(c *lxdCall) reply {
	v, bad := c.certificate()
	if bad != nil {
		return *bad
	}
	return tagged(v, v)
}

func (c *lxdCall) trustIndex(v api.Certificate) int {
	return slices.IndexFunc(c.l.trusted, func(t trust) bool { return fingerprint(t.certificate) == v.Fingerprint })
}

func putCertificate(c *lxdCall) reply {
	v, bad := c.certificate()
	if bad == nil {
		bad = c.unchanged(v)
	}
	var in api.CertificatePut
	if bad == nil {
		bad = c.read(&in)
	}
	if bad == nil {
		bad = c.knownProjects(in.Projects)
	}
	if bad != nil {
		return *bad
	}
	t := &c.l.trusted[c.trustIndex(v)]
	t.name, t.restricted, t.projects = in.Name, in.Restricted, in.Projects
	return done()
}

func deleteCertificate(c *lxdCall) reply {
	v, bad := c.certificate()
	if bad != nil {
		return *bad
	}
	i := c.trustIndex(v)
	c.l.trusted = slices.Delete(slices.Clone(c.l.trusted), i, i+1)
	return done()
}

func (c *lxdCall) knownProjects(names []string) *reply {
	for _, name := range names {
		if c.l.projects[name] == nil {
			bad := lxdMissing("Project")
			return &bad
		}
	}
	return nil
}

// addCertificate trusts a certificate: a trusted client's word is enough, any
// other brings a token or the password.
func addCertificate(c *lxdCall) reply {
	var in api.CertificatesPost
	if bad := c.read(&in); bad != nil {
		return *bad
	}
	switch {
	case c.trusted && c.trust.restricted:
		return lxdForbidden()
	case !slices.Contains([]string{"", api.CertificateTypeClient, api.CertificateTypeMetrics}, in.Type):
		return lxdBad("Unknown request type %q", in.Type)
	case in.Token && c.trusted:
		return c.newToken(in)
	case c.trusted && in.Certificate == "" && c.client != nil, c.trusted && (in.Password != "" || in.TrustToken != ""):
		return lxdBad("Client is already trusted")
	}
	t := trust{name: in.Name, restricted: in.Restricted, projects: in.Projects}
	if !c.trusted {
		granted, bad := c.present(in)
		if bad != nil {
			return *bad
		}
		t = granted
		t.name = or(in.Name, t.name)
	}
	if bad := c.knownProjects(t.projects); bad != nil {
		return *bad
	}
	return c.addTrust(t, in.Certificate)
}

// addTrust stores the certificate that was sent, in base64 DER, or that of the
// connection.
func (c *lxdCall) addTrust(t trust, sent string) reply {
	der := c.client
	if sent != "" {
		var err error
		if der, err = base64.StdEncoding.DecodeString(sent); err != nil {
			return lxdBad("%v", err)
		}
		if _, err = x509.ParseCertificate(der); err != nil {
			return lxdBad("Invalid certificate material: %v", err)
		}
	}
	if der == nil {
		return lxdBad("No client certificate provided")
	}
	t.certificate = encodePEM("CERTIFICATE", der) + "\n"
	if _, known := c.l.trustingDER(der); known {
		return lxdRefused(http.StatusConflict, "Certificate already in trust store")
	}
	c.l.trusted = append(slices.Clone(c.l.trusted), t)
	return madeAt("/1.0/certificates/" + fingerprint(t.certificate))
}

// present checks the token or the password of a client that is not trusted.
func (c *lxdCall) present(in api.CertificatesPost) (trust, *reply) {
	refuse := func(rep reply) (trust, *reply) { return trust{}, &rep }
	explicit, passwords := c.l.since(withTrustToken), !c.l.since(withoutPassword)
	switch {
	case in.Password != "" && !passwords:
		return refuse(lxdRefused(http.StatusNotImplemented, "Password authentication is no longer supported, please use trust tokens instead"))
	case in.TrustToken != "" && !explicit:
		return refuse(lxdForbidden()) // a field that it does not read
	}
	if secret, isToken := tokenSecret(or(in.TrustToken, in.Password)); isToken {
		o := c.tokenWith(secret)
		if o == nil {
			return refuse(lxdRefused(http.StatusForbidden, "No matching certificate add operation found"))
		}
		o.finish(c.w, c.l, nil)
		wanted, _ := o.Metadata["request"].(api.CertificatesPost)
		return trust{name: wanted.Name, restricted: wanted.Restricted, projects: wanted.Projects}, nil
	}
	if in.Password == "" || c.l.password != in.Password {
		return refuse(lxdForbidden())
	}
	return trust{}, nil
}

// newToken begins an operation that waits for a client with its secret.
func (c *lxdCall) newToken(in api.CertificatesPost) reply {
	if bad := c.knownProjects(in.Projects); bad != nil {
		return *bad
	}
	shown, err := c.l.shown()
	if err != nil {
		return lxdBroken("%v", err)
	}
	o := c.begin(api.OperationClassToken, "Executing operation", nil)
	o.Metadata = map[string]any{
		"secret": newRandomUUID(), "fingerprint": fingerprint(shown.certificate), "addresses": c.l.addresses(), "request": in,
	}
	o.MayCancel = true
	o.begun = o.Operation
	return started(o)
}

// tokenSecret reads a token as "lxc config trust add" prints it.
func tokenSecret(text string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	var token api.CertificateAddToken
	if err := json.Unmarshal(raw, &token); err != nil {
		return "", false
	}
	return token.Secret, token.Secret != ""
}

func (c *lxdCall) tokenWith(secret string) *operation {
	for _, o := range c.l.operations {
		if o.Class == api.OperationClassToken && !o.StatusCode.IsFinal() && o.Metadata["secret"] == secret {
			return o
		}
	}
	return nil
}

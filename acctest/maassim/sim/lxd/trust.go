package lxd

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// trustTokenVersion is the first LXD with a separate field for tokens.
var trustTokenVersion = daemon.Version{Major: 5, Minor: 21}

func trustRoutes() []Route {
	return []Route{
		{http.MethodGet, "1.0/certificates", accessTrusted, listCertificates},
		{http.MethodPost, "1.0/certificates", accessPublic, addCertificate},
		{http.MethodGet, "1.0/certificates/{name}", accessTrusted, readCertificate},
		{http.MethodPut, "1.0/certificates/{name}", accessAdmin, putCertificate},
		{http.MethodDelete, "1.0/certificates/{name}", accessAdmin, deleteCertificate},
	}
}

func viewCertificate(t daemon.Trust) api.Certificate {
	return api.Certificate{
		Name: t.Name, Type: api.CertificateTypeClient, Restricted: t.Restricted, Projects: rest.NonNilList(t.Projects),
		Certificate: t.Certificate, Fingerprint: daemon.Fingerprint(t.Certificate),
	}
}

// visibleCertificates are the client certificates that the client may see.
func visibleCertificates(c *Call) []api.Certificate {
	found := []api.Certificate{}
	for _, t := range c.LXD.Trusted {
		mine := daemon.Fingerprint(t.Certificate) == daemon.Fingerprint(c.trust.Certificate)
		if len(daemon.CertificatesIn(t.Certificate)) > 0 && (mine || !c.trust.Restricted) {
			found = append(found, viewCertificate(t))
		}
	}
	return found
}

func listCertificates(c *Call) rest.Reply {
	found, paths := visibleCertificates(c), []string{}
	if c.recursion() == "1" {
		return syncReply(found)
	}
	for _, v := range found {
		paths = append(paths, "/1.0/certificates/"+v.Fingerprint)
	}
	return syncReply(paths)
}

// certificateNamed finds a certificate by its fingerprint or a prefix of it.
func certificateNamed(c *Call) (api.Certificate, *rest.Reply) {
	all := visibleCertificates(c)
	i := slices.IndexFunc(all, func(v api.Certificate) bool { return strings.HasPrefix(v.Fingerprint, c.Vars["name"]) })
	if i < 0 {
		bad := notFoundReply("Certificate")
		return api.Certificate{}, &bad
	}
	return all[i], nil
}

func readCertificate(c *Call) rest.Reply {
	v, bad := certificateNamed(c)
	if bad != nil {
		return *bad
	}
	return taggedReply(v, v)
}

func trustIndex(c *Call, v api.Certificate) int {
	return slices.IndexFunc(c.LXD.Trusted, func(t daemon.Trust) bool { return daemon.Fingerprint(t.Certificate) == v.Fingerprint })
}

func putCertificate(c *Call) rest.Reply {
	v, bad := certificateNamed(c)
	if bad == nil {
		bad = c.checkETag(v)
	}
	var in api.CertificatePut
	if bad == nil {
		bad = c.readBody(&in)
	}
	if bad == nil {
		bad = checkProjects(c, in.Projects)
	}
	if bad != nil {
		return *bad
	}
	t := &c.LXD.Trusted[trustIndex(c, v)]
	t.Name, t.Restricted, t.Projects = in.Name, in.Restricted, in.Projects
	return doneReply()
}

func deleteCertificate(c *Call) rest.Reply {
	v, bad := certificateNamed(c)
	if bad != nil {
		return *bad
	}
	i := trustIndex(c, v)
	c.LXD.Trusted = slices.Delete(slices.Clone(c.LXD.Trusted), i, i+1)
	return doneReply()
}

func checkProjects(c *Call, names []string) *rest.Reply {
	for _, name := range names {
		if c.LXD.Projects[name] == nil {
			bad := notFoundReply("Project")
			return &bad
		}
	}
	return nil
}

// addCertificate trusts a certificate. A trusted client may add one; any other client
// needs a token or the password.
func addCertificate(c *Call) rest.Reply {
	var in api.CertificatesPost
	if bad := c.readBody(&in); bad != nil {
		return *bad
	}
	switch {
	case c.trusted && c.trust.Restricted:
		return forbiddenReply()
	case !slices.Contains([]string{"", api.CertificateTypeClient, api.CertificateTypeMetrics}, in.Type):
		return BadRequestReply("Unknown request type %q", in.Type)
	case in.Token && c.trusted:
		return newToken(c, in)
	case c.trusted && in.Certificate == "" && c.Client != nil, c.trusted && (in.Password != "" || in.TrustToken != ""):
		return BadRequestReply("Client is already trusted")
	}
	t := daemon.Trust{Name: in.Name, Restricted: in.Restricted, Projects: in.Projects}
	if !c.trusted {
		granted, bad := checkTokenOrPassword(c, in)
		if bad != nil {
			return *bad
		}
		t = granted
		t.Name = cmp.Or(in.Name, t.Name)
	}
	if bad := checkProjects(c, t.Projects); bad != nil {
		return *bad
	}
	return addTrust(c, t, in.Certificate)
}

// addTrust stores the certificate in the request, in base64 DER, or that of the
// connection.
func addTrust(c *Call, t daemon.Trust, sent string) rest.Reply {
	der := c.Client
	if sent != "" {
		var err error
		if der, err = base64.StdEncoding.DecodeString(sent); err != nil {
			return BadRequestReply("%v", err)
		}
		if _, err = x509.ParseCertificate(der); err != nil {
			return BadRequestReply("Invalid certificate material: %v", err)
		}
	}
	if der == nil {
		return BadRequestReply("No client certificate provided")
	}
	t.Certificate = daemon.EncodePEM("CERTIFICATE", der) + "\n"
	if _, known := daemon.FindTrustDER(c.LXD.Trusted, der); known {
		return ErrorReply(http.StatusConflict, "Certificate already in trust store")
	}
	c.LXD.Trusted = append(slices.Clone(c.LXD.Trusted), t)
	return createdReply("/1.0/certificates/" + daemon.Fingerprint(t.Certificate))
}

// checkTokenOrPassword checks the token or the password of an untrusted client.
func checkTokenOrPassword(c *Call, in api.CertificatesPost) (daemon.Trust, *rest.Reply) {
	refuse := func(rep rest.Reply) (daemon.Trust, *rest.Reply) { return daemon.Trust{}, &rep }
	explicit, passwords := c.LXD.IsAtLeast(trustTokenVersion), !c.LXD.IsAtLeast(daemon.VersionWithoutPassword)
	switch {
	case in.Password != "" && !passwords:
		return refuse(ErrorReply(http.StatusNotImplemented, "Password authentication is no longer supported, please use trust tokens instead"))
	case in.TrustToken != "" && !explicit:
		return refuse(forbiddenReply()) // this version does not read the field
	}
	if secret, isToken := tokenSecret(cmp.Or(in.TrustToken, in.Password)); isToken {
		o := tokenWith(c, secret)
		if o == nil {
			return refuse(ErrorReply(http.StatusForbidden, "No matching certificate add operation found"))
		}
		finishOperation(o, c.World, c.LXD, nil)
		wanted, _ := o.Metadata["request"].(api.CertificatesPost)
		return daemon.Trust{Name: wanted.Name, Restricted: wanted.Restricted, Projects: wanted.Projects}, nil
	}
	if in.Password == "" || c.LXD.Password != in.Password {
		return refuse(forbiddenReply())
	}
	return daemon.Trust{}, nil
}

// newToken starts an operation that waits for a client with the token's secret.
func newToken(c *Call, in api.CertificatesPost) rest.Reply {
	if bad := checkProjects(c, in.Projects); bad != nil {
		return *bad
	}
	shown, err := c.LXD.EnsureIdentity()
	if err != nil {
		return InternalErrorReply("%v", err)
	}
	o := c.beginOperation(api.OperationClassToken, "Executing operation", nil)
	o.Metadata = map[string]any{
		"secret": world.NewRandomUUID(), "fingerprint": daemon.Fingerprint(shown.Certificate), "addresses": c.LXD.Addresses(), "request": in,
	}
	o.MayCancel = true
	o.Begun = o.Operation
	return operationReply(o)
}

// tokenSecret decodes a token as "lxc config trust add" prints it.
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

func tokenWith(c *Call, secret string) *world.Operation {
	for _, o := range c.LXD.Operations {
		if o.Class == api.OperationClassToken && !o.StatusCode.IsFinal() && o.Metadata["secret"] == secret {
			return o
		}
	}
	return nil
}

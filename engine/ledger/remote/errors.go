package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// noAnswerError says why a call got no answer. If sending it again cannot help, the error is an
// *engine.Refusal that says what answered instead.
func (n node) noAnswerError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // drop the address: the message has it
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return n.untrustedError(untrusted)
	}
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &header) && isHTTP(header.RecordHeader[:]), errors.Is(err, http.ErrSchemeMismatch):
		return n.wrongAddressError("plain HTTP answers there")
	case errors.As(err, &header):
		return n.wrongAddressError("what answers there does not speak TLS")
	}
	return &retryableError{err}
}

// isHTTP reports whether an answer begins like one of HTTP/1.
func isHTTP(record []byte) bool { return len(record) >= 5 && string(record[:5]) == "HTTP/" }

// untrustedError describes the certificate that the service showed, and why it is not trusted.
func (n node) untrustedError(err *tls.CertificateVerificationError) error {
	shown := "a certificate"
	if len(err.UnverifiedCertificates) > 0 {
		own := err.UnverifiedCertificates[0]
		shown = fmt.Sprintf("a certificate of %q, signed by %q", safeLine(own.Subject.String()), safeLine(own.Issuer.String()))
	}
	var names x509.HostnameError
	var wrong x509.CertificateInvalidError
	hint := "Give the file ca.pem of the ledger service as " + caField + ". If you have, something else answers at this address."
	switch {
	case errors.As(err, &names):
		hint = "Take an address that is in the certificate, or start the service with --name " + n.base.Hostname() + "."
	case errors.As(err, &wrong) && wrong.Reason == x509.Expired:
		hint = "See the clocks of both machines, and give the service another certificate."
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger service %s is not trusted: it shows %s: %s", n.base.Host, shown, safeLine(err.Err.Error())),
		Hint:    hint, Err: engine.ErrForbidden,
	}
}

// notLedgerError describes the server that answered, which is no ledger. An error of a proxy is
// retryable.
func (n node) notLedgerError(response *http.Response) error {
	said := "HTTP " + safeLine(response.Status)
	if server := response.Header.Get("Server"); server != "" {
		said += ", server " + safeLine(server)
	}
	if kind := response.Header.Get("Content-Type"); kind != "" {
		said += ", " + safeLine(kind)
	}
	if response.StatusCode == http.StatusBadGateway || response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusGatewayTimeout {
		return &retryableError{fmt.Errorf("a proxy answers in its place (%s)", said)}
	}
	return n.wrongAddressError("the server there is not a ledger service (" + said + ")")
}

func (n node) wrongAddressError(why string) error {
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no ledger service at %s: %s", n.base, why),
		Hint:    "Set " + addressField + " to the address at which capi-bridge ledger serve listens.", Err: engine.ErrInvalid,
	}
}

// unreachableError says that the client has given up to reach the service.
func (c *Client) unreachableError(err error) error {
	if c.nodes.isCluster() {
		return c.asLedgerError(fmt.Errorf("%s cannot serve, and nothing is placed without them: %s: %w", c.nodes, err.Error(), engine.ErrUnavailable))
	}
	return c.asLedgerError(fmt.Errorf("%s cannot be reached, and nothing is placed without it: %s: %w", c.nodes, safeLine(err.Error()), engine.ErrUnavailable))
}

// unansweredError says that the caller's time is over. In a cluster it has the reason of each
// node.
func (c *Client) unansweredError(ctx context.Context, last error) error {
	if c.nodes.isCluster() {
		return fmt.Errorf("%s did not answer: %s: %w", c.nodes, last.Error(), ctx.Err())
	}
	return fmt.Errorf("%s did not answer: %w", c.nodes, ctx.Err())
}

// asLedgerError marks an error as the ledger's, unless it is one of the answers that
// engine.Ledger promises.
func (c *Client) asLedgerError(err error) error {
	return engine.AsLedgerError(c.nodes.addresses(), err)
}

func (c *Client) incompleteAnswerError(o wire.Operation) error {
	return c.asLedgerError(fmt.Errorf("an answer of %s to %s lacks what was asked for: %w", c.nodes, o.Name, engine.ErrUnavailable))
}

func safeLine(text string) string { return bounded.TruncateText(bounded.OneLine(text), 300) }

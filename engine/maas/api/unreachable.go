package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
)

// notSentError is the error of an attempt that never left this machine.
func notSentError(ctx context.Context, r *Request, base *url.URL, err error) *Error {
	e := noAnswerError(ctx, r, base, err)
	e.neverSent = true
	return e
}

// lostAnswerError is the error of an attempt whose answer did not arrive completely.
func lostAnswerError(ctx context.Context, r *Request, base *url.URL, err error) *Error {
	e := noAnswerError(ctx, r, base, err)
	e.Unclear = !r.isIdempotent()
	return e
}

func noAnswerError(ctx context.Context, r *Request, base *url.URL, err error) *Error {
	e := &Error{Method: r.method, Route: r.route}
	if ctx.Err() != nil {
		e.Message, e.Err = "given up before MAAS answered", ctx.Err()
		return e
	}
	e.Kind = engine.ErrUnavailable
	if e.Message, e.Hint = explainUntrusted(base, err); e.Message != "" {
		e.isTerminal = true
		return e
	}
	e.Message, e.Hint, e.isTransient = explainUnreachable(base, err)
	return e
}

// explainUnreachable explains a failed exchange. passing reports whether another attempt
// may succeed.
func explainUnreachable(base *url.URL, err error) (message, hint string, passing bool) {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("cannot find the address of %s", base.Hostname()),
			"Check the host name in api_url and this machine's DNS.", !dns.IsNotFound
	}
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return err.Error(), "Something between here and MAAS may change its answers; check api_url and the proxy.", false
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: connection refused", base.Host),
			"Check host and port in api_url (MAAS listens on 5240, or 5443 for HTTPS) and whether MAAS runs.", true
	case isDialError(err):
		return fmt.Sprintf("cannot connect to %s: %v", base.Host, withoutSourcePort(err)),
			"Check api_url, the network, firewalls and the proxy variables between here and MAAS.", true
	}
	hint = "MAAS or a proxy before it may be restarting."
	if base.Scheme == "http" {
		hint += " If the port speaks HTTPS, api_url must begin with https://."
	}
	return fmt.Sprintf("the connection to %s broke before the answer arrived: %v", base.Host, withoutSourcePort(err)), hint, true
}

// withoutSourcePort removes the source port from a network error. The port differs each
// time, so two equal failures would have different messages.
func withoutSourcePort(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return err
	}
	same := *op
	same.Source = nil
	return &same
}

// explainUntrusted explains a refusal of TLS.
func explainUntrusted(base *url.URL, err error) (message, hint string) {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fmt.Sprintf("%s does not speak HTTPS", base.Host),
			"Let api_url begin with http://, or give the port of HTTPS (5443 by MAAS's default)."
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("the certificate of %s is signed by an authority that is not trusted here", base.Host),
			"Give that authority's certificate as the CA certificate of the provider."
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("the certificate of %s cannot be trusted: %v", base.Host, bad.Err),
			"Use the host name that the certificate is made for, and see that it has not expired."
	}
	return "", ""
}

// isDialError reports that no connection was made, so that nothing was sent.
func isDialError(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

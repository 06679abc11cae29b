package access

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Identify finds the client of the shown certificates. The first one is the
// client's own, and TLS has proved that the client has its key. Only signatures
// of signers count. A bad certificate is an *engine.Refusal with ErrForbidden
// that says why.
func (r *Register) Identify(ctx context.Context, shown []*x509.Certificate, signers *x509.CertPool, now time.Time) (Client, error) {
	if len(shown) == 0 {
		return Client{}, forbiddenError("the client showed no certificate", "Give it the certificate and the key that ledger client add has made.")
	}
	own := shown[0]
	expired := now.After(own.NotAfter)
	if err := r.verifyWithCache(own, shown[1:], signers, now, expired); err != nil {
		return Client{}, forbiddenError(fmt.Sprintf("the client's certificate (%s) is not signed by an authority of this ledger service: %v", own.Subject, err),
			"Give the client a certificate that ledger client add of this service has made.")
	}
	c, err := r.store.Client(ctx, fingerprint(own))
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return Client{}, forbiddenError(fmt.Sprintf("the client's certificate (%s) is not registered at this ledger service", own.Subject),
			"Make one by ledger client add, or register this one: ledger client add --certificate.")
	case err != nil:
		return Client{}, err
	case !c.Revoked.IsZero():
		return Client{}, forbiddenError(fmt.Sprintf("the certificate of the ledger's client %s was revoked on %s", c.Name, c.Revoked.Format(time.RFC3339)),
			"Ask the operator of the ledger service for another one.")
	case expired:
		return Client{}, forbiddenError(fmt.Sprintf("the certificate of the ledger's client %s expired on %s", c.Name, own.NotAfter.UTC().Format(time.RFC3339)),
			"Make another one: ledger client add.")
	}
	return c, nil
}

// verifiedTTL is how long a verified signature is cached. The check takes as
// long as a tenth of a reservation. The signers may expire meanwhile.
const verifiedTTL = time.Minute

// verifiedCertificate is a certificate whose signature was verified.
type verifiedCertificate struct {
	fingerprint string
	signers     *x509.CertPool
}

// verifyWithCache verifies the signature of a certificate, unless that was done
// within the last minute.
func (r *Register) verifyWithCache(own *x509.Certificate, between []*x509.Certificate, signers *x509.CertPool, now time.Time, expired bool) error {
	of := verifiedCertificate{fingerprint(own), signers}
	if at, ok := r.verifiedAt.Load(of); ok && !expired && now.Sub(at.(time.Time)).Abs() < verifiedTTL {
		return nil
	}
	err := verifyCertificate(own, between, signers, now, expired)
	if err == nil {
		r.verifiedAt.Store(of, now)
	}
	return err
}

// verifyCertificate verifies the signature of a certificate. An expired one is
// verified as of its last moment.
func verifyCertificate(own *x509.Certificate, between []*x509.Certificate, signers *x509.CertPool, now time.Time, expired bool) error {
	options := x509.VerifyOptions{
		Roots: signers, Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range between {
		options.Intermediates.AddCert(c)
	}
	if expired {
		options.CurrentTime = own.NotAfter
	}
	_, err := own.Verify(options)
	return err
}

func forbiddenError(message, hint string) error {
	return &engine.Refusal{Message: message, Hint: hint, Err: engine.ErrForbidden}
}

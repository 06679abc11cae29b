package access

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Register is the clients of a service.
type Register struct {
	store      ClientStore
	verifiedAt sync.Map // by the certificate, when
}

// ClientStore is where a register keeps its clients, by the fingerprints of their certificates.
type ClientStore interface {
	// Client reads one, ErrNotFound if there is none.
	Client(ctx context.Context, fingerprint string) (Client, error)
	// Clients lists all. Beside an error it lists those that can be read.
	Clients(ctx context.Context) ([]Client, error)
	// AddClient notes one. ErrConflict if its certificate is noted already.
	AddClient(ctx context.Context, c Client) error
	// ReplaceClient notes what has changed.
	ReplaceClient(ctx context.Context, c Client) error
}

// NewRegister returns the register in a folder, which may be missing as yet.
func NewRegister(folder string) *Register { return NewRegisterWith(newClientFolder(folder)) }

// NewRegisterWith returns the register in other notes.
func NewRegisterWith(notes ClientStore) *Register { return &Register{store: notes} }

// Add notes a client and its certificate, given in PEM. A name has one certificate at
// a time: ErrConflict until that is revoked or has expired.
func (r *Register) Add(ctx context.Context, name string, rights Rights, certificate []byte, now time.Time) (Client, error) {
	if err := checkClient(name, rights); err != nil {
		return Client{}, err
	}
	public, err := parseFirstCertificate(certificate)
	if err != nil {
		return Client{}, err
	}
	all, err := r.List(ctx)
	if err != nil {
		return Client{}, err
	}
	for _, c := range all {
		if c.Name == name && c.Revoked.IsZero() && now.Before(c.Expires) {
			return Client{}, &engine.Refusal{
				Message: fmt.Sprintf("there is a client %s already, whose certificate is valid until %s", name, c.Expires.Format(time.DateOnly)),
				Hint:    "Revoke it first, or choose another name: several clients may have one prefix.", Err: engine.ErrConflict,
			}
		}
	}
	c := Client{Name: name, Rights: rights, Fingerprint: fingerprint(public), Expires: public.NotAfter.UTC(), Added: now.UTC().Truncate(time.Second)}
	if err := r.store.AddClient(ctx, c); err != nil {
		return Client{}, err
	}
	return c, nil
}

// Revoke refuses a client from the next request on. ErrNotFound if no client of that
// name may use the service.
//
// It revokes each certificate of that name: a name may be given again once a former
// certificate has expired. A file that cannot be read keeps no other one from being
// revoked, and is an error all the same: it may be of that client.
func (r *Register) Revoke(ctx context.Context, name string, now time.Time) (Client, error) {
	all, failed := r.List(ctx)
	var revoked Client
	for _, c := range all {
		if c.Name != name || !c.Revoked.IsZero() {
			continue
		}
		c.Revoked = now.UTC().Truncate(time.Second)
		if err := r.store.ReplaceClient(ctx, c); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		revoked = c
	}
	if revoked.Name == "" && failed == nil {
		return Client{}, &engine.Refusal{
			Message: fmt.Sprintf("there is no client %s that could be revoked", name),
			Hint:    "List the clients: capi-bridge ledger client list.", Err: engine.ErrNotFound,
		}
	}
	return revoked, failed
}

// List lists all clients that ever were, sorted by name and by when they were added. Beside
// an error it lists those whose notes can be read.
func (r *Register) List(ctx context.Context) ([]Client, error) {
	all, failed := r.store.Clients(ctx)
	slices.SortFunc(all, func(a, b Client) int {
		if a.Name != b.Name {
			return strings.Compare(a.Name, b.Name)
		}
		return a.Added.Compare(b.Added)
	})
	return all, failed
}

// checkClient refuses what cannot be meant.
func checkClient(name string, rights Rights) error {
	switch {
	case !clientNamePattern.MatchString(name):
		return invalidError(fmt.Sprintf("%q is no name of a client", name), "Take letters, digits, dots, hyphens and underscores, at most 63.")
	case len(rights.Regions) == 0 || slices.Contains(rights.Regions, ""):
		return invalidError("the client has no region", "Name the mark or the address of each MAAS, or * for all.")
	case rights.Prefix == "":
		return invalidError("the client has no prefix", "Name the owner whose VMs it makes, or * for all.")
	}
	return nil
}

func invalidError(message, hint string) error {
	return &engine.Refusal{Message: message, Hint: hint, Err: engine.ErrInvalid}
}

// parseFirstCertificate reads the first certificate of a PEM text.
func parseFirstCertificate(text []byte) (*x509.Certificate, error) {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, invalidError("there is no certificate in PEM", `Give the text that begins with "-----BEGIN CERTIFICATE-----".`)
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		public, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalidError("the certificate is damaged", "Copy it again.")
		}
		return public, nil
	}
}

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

// Register holds the clients of a service and their rights.
type Register struct {
	store      ClientStore
	verifiedAt sync.Map // time of the last verification, by certificate
}

// ClientStore stores the clients of a register, by the fingerprints of their
// certificates.
type ClientStore interface {
	// Client reads a client; ErrNotFound if there is none.
	Client(ctx context.Context, fingerprint string) (Client, error)
	// Clients lists all clients. Beside an error it lists the readable ones.
	Clients(ctx context.Context) ([]Client, error)
	// AddClient stores a new client. ErrConflict if its certificate is already
	// stored.
	AddClient(ctx context.Context, c Client) error
	// ReplaceClient stores the changed state of a client.
	ReplaceClient(ctx context.Context, c Client) error
}

// NewRegister returns the register in a folder, which need not exist yet.
func NewRegister(folder string) *Register { return NewRegisterWith(newClientFolder(folder)) }

// NewRegisterWith returns a register in another store.
func NewRegisterWith(notes ClientStore) *Register { return &Register{store: notes} }

// Add registers a client and its certificate, given in PEM. A name has one
// certificate at a time. Add returns ErrConflict until that one is revoked or
// expired.
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
				Message: fmt.Sprintf("there is already a client %s; its certificate is valid until %s", name, c.Expires.Format(time.DateOnly)),
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

// Revoke refuses a client from the next request on. ErrNotFound if no client of
// that name may use the service.
//
// It revokes all certificates of the name: a name can be given again after its
// certificate has expired. If a file cannot be read, Revoke still revokes the
// others. It then returns an error, because the file may be this client's.
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
			Message: fmt.Sprintf("there is no active client %s to revoke", name),
			Hint:    "List the clients: capi-bridge ledger client list.", Err: engine.ErrNotFound,
		}
	}
	return revoked, failed
}

// List lists all clients, also former ones, sorted by name and by the time when
// they were added. Beside an error it lists the readable ones.
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

// checkClient refuses invalid names and rights.
func checkClient(name string, rights Rights) error {
	switch {
	case !clientNamePattern.MatchString(name):
		return invalidError(fmt.Sprintf("%q is not a valid client name", name), "Use letters, digits, dots, hyphens and underscores, at most 63 characters.")
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

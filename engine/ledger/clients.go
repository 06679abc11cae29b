package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

// Clients are the clients of a service in its ledger, so that all nodes of a cluster know
// them. A node asks again after a second whether one was revoked.
type Clients struct {
	store *store
	mu    sync.Mutex
	known map[string]knownClient // by the fingerprint
}

type knownClient struct {
	access.Client
	read time.Time
}

// clientFor is how long a client is not asked about again: each request would cost a
// question to the leader otherwise.
const clientFor = time.Second

var _ access.Notes = (*Clients)(nil)

// NewClients returns the clients in a ledger.
func NewClients(l *Ledger) *Clients { return &Clients{store: l.store, known: map[string]knownClient{}} }

// Client implements access.Notes.
func (c *Clients) Client(ctx context.Context, fingerprint string) (access.Client, error) {
	c.mu.Lock()
	known, ok := c.known[fingerprint]
	c.mu.Unlock()
	if ok && time.Since(known.read) < clientFor {
		return known.Client, nil
	}
	read := time.Now()
	var text string
	var client access.Client
	err := c.store.row(ctx, `SELECT note FROM clients WHERE fingerprint = ?1`, []any{fingerprint}, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return access.Client{}, fmt.Errorf("no client has the certificate %s: %w", fingerprint, engine.ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &client)
	}
	if err != nil {
		return access.Client{}, fmt.Errorf("cannot read a client of the ledger service: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[fingerprint] = knownClient{client, read}
	return client, nil
}

// Clients implements access.Notes.
func (c *Clients) Clients(ctx context.Context) (all []access.Client, err error) {
	var text string
	err = c.store.row(ctx, `SELECT json_group_array(json(note)) FROM clients`, nil, &text)
	if err == nil {
		err = decode(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the clients of the ledger service: %w", err)
	}
	return all, nil
}

// AddClient implements access.Notes.
func (c *Clients) AddClient(ctx context.Context, client access.Client) error {
	note := encode(client)
	err := c.store.exec(ctx, `INSERT INTO clients (fingerprint, note) VALUES (?1, ?2) ON CONFLICT DO NOTHING`, client.Fingerprint, note)
	if err != nil {
		return fmt.Errorf("cannot note the client %s: %w", client.Name, err)
	}
	var has string
	switch err := c.store.row(ctx, `SELECT note FROM clients WHERE fingerprint = ?1`, []any{client.Fingerprint}, &has); {
	case err != nil:
		return fmt.Errorf("cannot read the client %s: %w", client.Name, err)
	case has != note:
		return &engine.Refusal{
			Message: fmt.Sprintf("the certificate of %s is another client's already", client.Name),
			Hint:    "Give each client a certificate of its own. See capi-bridge ledger client list.", Err: engine.ErrConflict,
		}
	}
	return nil
}

// ReplaceClient implements access.Notes.
func (c *Clients) ReplaceClient(ctx context.Context, client access.Client) error {
	err := c.store.exec(ctx, `UPDATE clients SET note = ?2 WHERE fingerprint = ?1`, client.Fingerprint, encode(client))
	if err != nil {
		return fmt.Errorf("cannot note the client %s: %w", client.Name, err)
	}
	return nil
}

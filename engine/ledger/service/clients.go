package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
)

// Clients keep the clients of a service in its ledger, so that all nodes of a cluster know
// them. A node asks again after a second whether one was revoked.
type Clients struct {
	ledger *ledger.Ledger
	mu     sync.Mutex
	known  map[string]knownClient // by the fingerprint
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
func NewClients(l *ledger.Ledger) *Clients {
	return &Clients{ledger: l, known: map[string]knownClient{}}
}

// Client implements access.Notes.
func (c *Clients) Client(ctx context.Context, fingerprint string) (access.Client, error) {
	c.mu.Lock()
	known, ok := c.known[fingerprint]
	c.mu.Unlock()
	if ok && time.Since(known.read) < clientFor {
		return known.Client, nil
	}
	read := time.Now()
	note, err := ledger.ClientNote(ctx, c.ledger, fingerprint)
	if err != nil {
		return access.Client{}, err
	}
	client, err := parseNote(fingerprint, note)
	if err != nil {
		return access.Client{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[fingerprint] = knownClient{client, read}
	return client, nil
}

// Clients implements access.Notes.
func (c *Clients) Clients(ctx context.Context) (all []access.Client, failed error) {
	notes, err := ledger.ClientNotes(ctx, c.ledger)
	if err != nil {
		return nil, err
	}
	for fingerprint, note := range notes {
		client, err := parseNote(fingerprint, note)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, client)
	}
	return all, failed
}

// AddClient implements access.Notes.
func (c *Clients) AddClient(ctx context.Context, client access.Client) error {
	return ledger.AddClientNote(ctx, c.ledger, client.Fingerprint, writeNote(client))
}

// ReplaceClient implements access.Notes.
func (c *Clients) ReplaceClient(ctx context.Context, client access.Client) error {
	return ledger.ReplaceClientNote(ctx, c.ledger, client.Fingerprint, writeNote(client))
}

func parseNote(fingerprint, note string) (client access.Client, err error) {
	if err := json.Unmarshal([]byte(note), &client); err != nil {
		return access.Client{}, fmt.Errorf("the note of the client %s makes no sense: %w", fingerprint, err)
	}
	return client, nil
}

func writeNote(client access.Client) string {
	text, err := json.Marshal(client)
	if err != nil {
		panic(err) // texts and times can always be written
	}
	return string(text)
}

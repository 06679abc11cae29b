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

// LedgerClients keeps the clients of a service in its ledger, so that all nodes of a cluster
// know them. A node asks again after a second whether a client was revoked.
type LedgerClients struct {
	ledger *ledger.Ledger
	mu     sync.Mutex
	cache  map[string]cachedClient // by fingerprint
}

type cachedClient struct {
	access.Client
	read time.Time
}

// clientCacheTTL is how long a client stays in the cache. Without a cache, each request would
// cost a call to the leader.
const clientCacheTTL = time.Second

var _ access.ClientStore = (*LedgerClients)(nil)

// NewLedgerClients returns the clients in a ledger.
func NewLedgerClients(l *ledger.Ledger) *LedgerClients {
	return &LedgerClients{ledger: l, cache: map[string]cachedClient{}}
}

// Client implements access.ClientStore.
func (c *LedgerClients) Client(ctx context.Context, fingerprint string) (access.Client, error) {
	c.mu.Lock()
	known, ok := c.cache[fingerprint]
	c.mu.Unlock()
	if ok && time.Since(known.read) < clientCacheTTL {
		return known.Client, nil
	}
	read := time.Now()
	note, err := ledger.ReadClientNote(ctx, c.ledger, fingerprint)
	if err != nil {
		return access.Client{}, err
	}
	client, err := decodeClientNote(fingerprint, note)
	if err != nil {
		return access.Client{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache[fingerprint] = cachedClient{client, read}
	return client, nil
}

// Clients implements access.ClientStore.
func (c *LedgerClients) Clients(ctx context.Context) (all []access.Client, failed error) {
	notes, err := ledger.ListClientNotes(ctx, c.ledger)
	if err != nil {
		return nil, err
	}
	for fingerprint, note := range notes {
		client, err := decodeClientNote(fingerprint, note)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, client)
	}
	return all, failed
}

// AddClient implements access.ClientStore.
func (c *LedgerClients) AddClient(ctx context.Context, client access.Client) error {
	return ledger.AddClientNote(ctx, c.ledger, client.Fingerprint, encodeClientNote(client))
}

// ReplaceClient implements access.ClientStore.
func (c *LedgerClients) ReplaceClient(ctx context.Context, client access.Client) error {
	return ledger.ReplaceClientNote(ctx, c.ledger, client.Fingerprint, encodeClientNote(client))
}

func decodeClientNote(fingerprint, note string) (client access.Client, err error) {
	if err := json.Unmarshal([]byte(note), &client); err != nil {
		return access.Client{}, fmt.Errorf("the note of the client %s makes no sense: %w", fingerprint, err)
	}
	return client, nil
}

func encodeClientNote(client access.Client) string {
	text, err := json.Marshal(client)
	if err != nil {
		panic(err) // texts and times can always be marshalled
	}
	return string(text)
}

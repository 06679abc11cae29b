package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// participant is one of the processes. Its creators share an inventory until the ledger refuses
// it as too old.
type participant struct {
	ledger *Ledger
	region string

	mu        sync.Mutex
	inventory engine.Reservation // Candidates and Inventory of it
}

func runParticipant(path, region, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l, err := OpenFile(ctx, path)
	if err != nil {
		return err
	}
	p := &participant{ledger: l, region: region}
	if err := p.readInventory(ctx); err != nil {
		return err
	}
	errs := make([]error, creators)
	var wg sync.WaitGroup
	for n := range creators {
		wg.Go(func() { errs[n] = p.replaceVMs(ctx, engine.Key(fmt.Sprintf("%s-%d", name, n))) })
	}
	wg.Wait()
	return errors.Join(append(errs, l.Close())...)
}

// replaceVMs creates a VM, and replaces it some times. It reads the ledger and the region before
// each step, so that it continues where a killed process stopped.
func (p *participant) replaceVMs(ctx context.Context, key engine.Key) error {
	for {
		if done, err := p.advanceVM(ctx, key); done || err != nil {
			return err
		}
	}
}

func (p *participant) advanceVM(ctx context.Context, key engine.Key) (done bool, err error) {
	row, err := p.ledger.Row(ctx, key)
	if errors.Is(err, engine.ErrNotFound) {
		return false, p.place(ctx, key)
	}
	if err != nil {
		return false, err
	}
	var seen vmReply
	if err := p.get(ctx, "/vm?key="+url.QueryEscape(string(key)), &seen); err != nil {
		return false, err
	}
	switch {
	case row.State == engine.RowPending && !seen.There:
		return false, p.post(ctx, "/compose", row)
	case row.State == engine.RowPending:
		row.SystemID = fmt.Sprint(key, "/", seen.Made)
		return false, p.ledger.Bind(ctx, row)
	case row.State == engine.RowBound:
		if seen.Made > replacements {
			return true, nil
		}
		return false, p.ledger.MarkLeaving(ctx, key)
	case seen.There:
		return false, p.post(ctx, "/remove", row)
	}
	return false, ledgertest.DropRow(ctx, p.ledger, key)
}

// place waits until there is room.
func (p *participant) place(ctx context.Context, key engine.Key) error {
	for {
		p.mu.Lock()
		r := p.inventory
		p.mu.Unlock()
		r.Key, r.Name, r.Need = key, string(key), engine.Need{Cores: 1, MemoryMiB: 1024, DiskBytes: map[string]int64{"": 8e9}}
		row, fresh, err := p.ledger.Place(ctx, r)
		full, isFull := errors.AsType[*engine.Error](err)
		switch {
		case err == nil && !fresh:
			return fmt.Errorf("%s was there already: %+v", key, row)
		case isFull && full.Type == engine.InsufficientResources, errors.Is(err, engine.ErrBusy):
			if err := p.readInventory(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (p *participant) readInventory(ctx context.Context) error {
	tag, err := p.ledger.CurrentTag(ctx)
	if err != nil {
		return err
	}
	var hosts []engine.Candidate
	if err := p.get(ctx, "/hosts", &hosts); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inventory = engine.Reservation{Candidates: hosts, Inventory: tag}
	return nil
}

func (p *participant) get(ctx context.Context, route string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.region+route, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

func (p *participant) post(ctx context.Context, route string, row engine.Row) error {
	body, err := json.Marshal(row)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.region+route, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", route, answer.Status)
	}
	return nil
}

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// A service on several nodes keeps its clients in the ledger. A client's record
// is an opaque text here, by the fingerprint of the client's certificate.

const clientNoteSQL = `SELECT note FROM clients WHERE fingerprint = ?1`

// ReadClientNote reads the record of a client; ErrNotFound if there is none.
func ReadClientNote(ctx context.Context, l *Ledger, fingerprint string) (note string, err error) {
	err = l.store.queryRow(ctx, clientNoteSQL, []any{fingerprint}, &note)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("no client has the certificate %s: %w", fingerprint, engine.ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read a client of the ledger service: %w", err)
	}
	return note, nil
}

// ListClientNotes lists the records of all clients, by fingerprint.
func ListClientNotes(ctx context.Context, l *Ledger) (notes map[string]string, err error) {
	var text string
	err = l.store.queryRow(ctx, `SELECT json_group_object(fingerprint, note) AS found FROM clients`, nil, &text)
	if err == nil {
		err = decodeJSON(text, &notes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list the clients of the ledger service: %w", err)
	}
	return notes, nil
}

// AddClientNote adds the record of a client. It returns an *engine.Refusal with
// ErrConflict where the certificate has another record.
func AddClientNote(ctx context.Context, l *Ledger, fingerprint, note string) error {
	var has string
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		err := tx.exec(ctx, `INSERT INTO clients (fingerprint, note) VALUES (?1, ?2) ON CONFLICT DO NOTHING`, fingerprint, note)
		if err == nil {
			err = tx.queryRow(ctx, clientNoteSQL, []any{fingerprint}, &has)
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("cannot store a client of the ledger service: %w", err)
	case has != note:
		return &engine.Refusal{
			Message: fmt.Sprintf("the certificate %s already belongs to a client", fingerprint),
			Hint:    "Give each client a certificate of its own. See capi-bridge ledger client list.", Err: engine.ErrConflict,
		}
	}
	return nil
}

// ReplaceClientNote replaces the record of a client.
func ReplaceClientNote(ctx context.Context, l *Ledger, fingerprint, note string) error {
	if err := l.store.exec(ctx, `UPDATE clients SET note = ?2 WHERE fingerprint = ?1`, fingerprint, note); err != nil {
		return fmt.Errorf("cannot store a client of the ledger service: %w", err)
	}
	return nil
}

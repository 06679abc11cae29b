package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// commitCounter counts the transactions that other processes commit to a SQLite
// file.
//
// It holds a read transaction open. So SQLite neither restarts nor removes the
// write-ahead log, and the log keeps all commits.
type commitCounter struct {
	path string
	db   *sql.DB
	tx   *sql.Tx
}

// countCommits begins to count. The file must exist, and nobody may have it
// open.
func countCommits(ctx context.Context, path string) (*commitCounter, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	c := &commitCounter{path: path, db: db}
	tables := 0
	if c.tx, err = db.BeginTx(ctx, nil); err == nil {
		err = c.tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables) // the read transaction begins here
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

// countSoFar is the number of commits up to now.
func (c *commitCounter) countSoFar() (int, error) {
	log, err := os.ReadFile(c.path + "-wal")
	if err != nil {
		return 0, err
	}
	return countCommitsInLog(log)
}

// close ends the read transaction.
func (c *commitCounter) close() { _ = errors.Join(c.tx.Rollback(), c.db.Close()) }

// The layout of a write-ahead log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const (
	logHead     = 32
	logPageSize = 8  // in the head, 4 bytes
	logSalt     = 16 // in the head, 8 bytes
	frameInfo   = 24 // before each page
	framePages  = 4  // in the frame's head, 4 bytes: pages of the file after a commit; 0: no commit
	frameSalt   = 8  // in the frame's head, 8 bytes: equal to the log's salt, or the frame is an old one
	minPageSize = 512
)

// countCommitsInLog counts the frames of a write-ahead log that end a transaction.
func countCommitsInLog(log []byte) (int, error) {
	if len(log) == 0 {
		return 0, nil
	}
	if len(log) < logHead {
		return 0, fmt.Errorf("a write-ahead log of %d bytes has no head", len(log))
	}
	page := int(binary.BigEndian.Uint32(log[logPageSize:]))
	if page < minPageSize {
		return 0, fmt.Errorf("a write-ahead log cannot have pages of %d bytes", page)
	}
	salt := string(log[logSalt : logSalt+8])
	count := 0
	for frame := log[logHead:]; len(frame) >= frameInfo+page; frame = frame[frameInfo+page:] {
		if string(frame[frameSalt:frameSalt+8]) != salt {
			break
		}
		if binary.BigEndian.Uint32(frame[framePages:]) != 0 {
			count++
		}
	}
	return count, nil
}

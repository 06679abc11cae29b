//go:build dqlite

package dqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	dqlitedriver "github.com/canonical/go-dqlite/v3/driver"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// SQLite's primary result codes (sqlite.org/rescode.html), as the leader gives them.
const (
	codeBusy      = 5
	codeLocked    = 6
	codeInterrupt = 9 // the leader hands over
	codeIOErr     = 10
	codeCorrupt   = 11
	codeFull      = 13
)

// classifyError says what an error of the driver means. Statements are keyed, so one with an
// unknown outcome may be sent again.
func classifyError(err error) (meaning error, again bool) {
	if refusal := ledger.NewerSchemaError(err, "the cluster's database"); refusal != nil {
		return refusal, false
	}
	coded, ok := errors.AsType[dqlitedriver.Error](err)
	if !ok {
		return leaderlessError(err.Error()), !errors.Is(err, context.Canceled)
	}
	switch code := coded.Code & 0xff; {
	case isMisread(coded):
		return fmt.Errorf("the leader of the cluster could not finish reading: %w", engine.ErrBusy), true
	case code == codeBusy, code == codeLocked, code == codeInterrupt:
		return fmt.Errorf("other nodes keep writing to the ledger of the cluster: %w", engine.ErrBusy), true
	case code == codeFull, code == codeIOErr:
		return &engine.Refusal{
			Message: fmt.Sprintf("the leader of the cluster cannot write the ledger: %v", coded),
			Hint:    "See whether the disk of that node is full or failing: capi-bridge ledger cluster status names it.", Err: engine.ErrUnavailable,
		}, true
	case code == codeCorrupt:
		return &engine.Refusal{
			Message: fmt.Sprintf("the ledger of the cluster is damaged: %v", coded),
			Hint:    "Stop all nodes and restore a backup into a new cluster.", Err: engine.ErrInvalid,
		}, false
	}
	return fmt.Errorf("the ledger of the cluster: %w", err), false
}

// isMisread reports whether the driver misread a failure, so that its code and message are lost.
// The server appends the failure to the head of the rows that it has begun to write (gateway.c
// of dqlite, failure). The driver then reads the number of columns and the name of the first
// column as the failure. SQLite's own messages contain spaces, except "interrupted", which means
// the same. The first column of each query of the ledger has a name of one word.
func isMisread(coded dqlitedriver.Error) bool { return !strings.Contains(coded.Message, " ") }

// leaderlessError says that the cluster can write nothing now.
func leaderlessError(why string) error {
	return &engine.Refusal{
		Message: "the cluster of the ledger has no leader that can be reached, and nothing is placed without it: " + why,
		Hint:    "More than half of the nodes must run and reach each other. See capi-bridge ledger cluster status on each.", Err: engine.ErrUnavailable,
	}
}

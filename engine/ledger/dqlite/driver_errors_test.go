//go:build dqlite

package dqlite

import (
	"context"
	"errors"
	"io"
	"testing"

	dqlitedriver "github.com/canonical/go-dqlite/v3/driver"

	"github.com/maaslxd/maaslxd/engine"
)

// TestClassifyError: what a caller gets for an error of the driver, and whether the statement is sent
// again.
func TestClassifyError(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		err    error
		is     error // nil: no sentinel
		again  bool
	}{
		"Lost":      {"A connection broke, and nobody knows whether it was done.", io.EOF, engine.ErrUnavailable, true},
		"Canceled":  {"Nobody waits any more.", context.Canceled, engine.ErrUnavailable, false},
		"Busy":      {"Another node writes.", dqlitedriver.Error{Code: codeBusy, Message: "database is locked"}, engine.ErrBusy, true},
		"HandOver":  {"The leader hands over.", dqlitedriver.Error{Code: codeInterrupt, Message: "interrupted"}, engine.ErrBusy, true},
		"Full":      {"The disk of the leader is full.", dqlitedriver.Error{Code: codeFull, Message: "database or disk is full"}, engine.ErrUnavailable, true},
		"Damaged":   {"Only a backup helps.", dqlitedriver.Error{Code: codeCorrupt, Message: "database disk image is malformed"}, engine.ErrInvalid, false},
		"Misread":   {"The number of columns stands for the code.", dqlitedriver.Error{Code: 2, Message: "note"}, engine.ErrBusy, true},
		"Misread11": {"Eleven columns are no damage.", dqlitedriver.Error{Code: codeCorrupt, Message: "key"}, engine.ErrBusy, true},
		"Mistake":   {"A statement that is wrong stays so.", dqlitedriver.Error{Code: 1, Message: "no such table: x"}, nil, false},
	} {
		meaning, again := classifyError(tc.err)
		if again != tc.again || tc.is != nil && !errors.Is(meaning, tc.is) || tc.is == nil && errors.Is(meaning, engine.ErrUnavailable) {
			t.Errorf("%s: %s\ngot %v, again %t", name, tc.reason, meaning, again)
		}
	}
}

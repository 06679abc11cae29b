//go:build !dqlite

package ledger

import (
	"errors"
	"io"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestWithoutDqlite: a program that was built without dqlite says so, and makes nothing.
func TestWithoutDqlite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"init", "status"} {
		if err := runCommand(t.Context(), t.TempDir(), io.Discard, io.Discard, "cluster", name); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("cluster %s: %v", name, err)
		}
	}
	const says = "it was built without dqlite"
	wantServeRefused(t, "Keys would not help it.", says, "--node", "a.example:7444")
	wantServeRefused(t, "Nor would other keys.", says, "--node", "a.example:7444", "--keys", "/nowhere")
}

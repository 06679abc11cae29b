package ledger

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestCloseSentTwice: two nodes get one close at the same moment, because its sender got no
// answer from the first. Both report success, whichever wrote last.
func TestCloseSentTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	closing := engine.HostCloseRequest{HostKey: "h1", Holder: "me", Lease: time.Minute, Window: time.Minute}
	var nodes [2]*Ledger
	for i := range nodes {
		l, err := OpenFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		nodes[i] = l.Region("mark")
	}
	var sendings sync.WaitGroup
	for i, l := range nodes {
		closing := closing
		closing.Lease += time.Duration(i) * time.Second // like a node whose clock is ahead
		sendings.Go(func() {
			for range 500 {
				if err := l.CloseHost(t.Context(), closing); err != nil {
					t.Errorf("got %v", err)
					return
				}
			}
		})
	}
	sendings.Wait()
}

package ledger

import (
	"context"
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestUnreadableText: a probe of a node says whether more nodes must run.
func TestUnreadableText(t *testing.T) {
	t.Parallel()
	const leaderless, other = "the cluster has no leader: more than half of the nodes must run", "the ledger cannot be read"
	for name, tc := range map[string]struct {
		reason string
		node   string
		err    error
		want   string
	}{
		"NoLeader": {"The other nodes say so.", "a.example:7444", engine.ErrUnavailable, leaderless},
		"NoAnswer": {"Without a leader a read gets none.", "a.example:7444", context.DeadlineExceeded, leaderless},
		"Damaged":  {"More nodes would not help.", "a.example:7444", errors.New("damaged"), other},
		"File":     {"A file has no leader.", "", engine.ErrUnavailable, other},
	} {
		r := &runningService{serveOptions: serveOptions{node: nodeConfig{address: tc.node}}}
		if got := r.unreadableText(tc.err); got != tc.want {
			t.Errorf("%s: %s\ngot %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

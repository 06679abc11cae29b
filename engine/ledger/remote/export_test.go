package remote

import (
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// LookAtFiles lets the next call look whether the files have changed.
func (c *Client) LookAtFiles() {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	c.conns.looked = time.Time{}
}

// Table is where the leases of a region are kept.
func Table(l ledger.Rows) lease.Table { return table{l.(*Ledger)} }

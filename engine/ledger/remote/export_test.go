package remote

import (
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// ExpireFilesRead lets the next call look whether the files have changed.
func (c *Client) ExpireFilesRead() {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	c.conns.filesReadAt = time.Time{}
}

// LeaseTableOf is where the leases of a region are kept.
func LeaseTableOf(l ledger.RegionLedger) lease.Table { return leaseTable{l.(*Ledger)} }

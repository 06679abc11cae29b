package remote

import (
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// ExpireFilesRead makes the next call check whether the files have changed.
func (c *Client) ExpireFilesRead() {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	c.conns.filesReadAt = time.Time{}
}

// LeaseTableOf returns the lease table of a region.
func LeaseTableOf(l ledger.RegionLedger) lease.Table { return leaseTable{l.(*Ledger)} }

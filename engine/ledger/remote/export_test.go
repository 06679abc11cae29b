package remote

import "time"

// LookAtFiles lets the next call look whether the files have changed.
func (c *Client) LookAtFiles() {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	c.conns.looked = time.Time{}
}

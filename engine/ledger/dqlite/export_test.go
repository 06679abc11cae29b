//go:build dqlite

package dqlite

import "context"

// Exec runs a statement on the cluster's database.
func (c *Cluster) Exec(ctx context.Context, statement string) error {
	db, err := c.connect()
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

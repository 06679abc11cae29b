//go:build dqlite

package dqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger"
)

// backupTimeout is the longest time of a copy. The leader sends the whole database at once.
const backupTimeout = 5 * time.Minute

// Backup writes the whole ledger of the cluster to a file. You can open the file like any
// ledger. ErrConflict if the file exists.
func (c *Cluster) Backup(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, backupTimeout)
	defer cancel()
	leader, err := c.connectLeader(ctx)
	if err != nil {
		return err
	}
	defer leader.Close()
	files, err := leader.Dump(ctx, database)
	if err != nil {
		return leaderlessError("it does not give a copy: " + err.Error())
	}
	folder, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return folderError(filepath.Dir(path), err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(f.Name)), f.Data, 0o600); err != nil {
			return folderError(folder, err)
		}
	}
	if err := ledger.WriteFileFromDatabase(ctx, filepath.Join(folder, database), path); err != nil {
		return fmt.Errorf("cannot write the backup: %w", errors.Join(err))
	}
	return nil
}

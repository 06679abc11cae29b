//go:build dqlite

package dqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	godqlite "github.com/canonical/go-dqlite/v3"
	"github.com/canonical/go-dqlite/v3/client"
	"gopkg.in/yaml.v2"

	"github.com/maaslxd/maaslxd/engine"
)

// LastEntry returns how far the copy of a stopped node goes. Of two copies, the
// one with the later term goes further. In the same term it is the one with the
// higher index.
func LastEntry(folder string) (string, error) {
	last, err := godqlite.ReadLastEntryInfo(folder)
	if err != nil {
		return "", startError(folder, err)
	}
	return fmt.Sprintf("term %d, index %d", last.Term, last.Index), nil
}

// Recover makes a stopped node the only member of its cluster, and returns how
// far its copy goes. Writes that only the lost nodes had are lost. The next
// opening begins a generation of the ledger, so no older inventory is trusted.
func Recover(folder string) (last string, err error) {
	own, err := readInfo(folder)
	if err != nil {
		return "", err
	}
	if last, err = LastEntry(folder); err != nil {
		return "", err
	}
	alone := []godqlite.NodeInfo{{ID: own.ID, Address: own.Address, Role: client.Voter}}
	if err := godqlite.ReconfigureMembershipExt(folder, alone); err != nil {
		return "", startError(folder, err)
	}
	known, err := client.NewYamlNodeStore(filepath.Join(folder, nodesFile))
	if err == nil {
		err = known.Set(context.Background(), []client.NodeInfo{own})
	}
	if err != nil {
		return "", folderError(folder, err)
	}
	return last, nil
}

// readInfo reads the id and the address of a node.
func readInfo(folder string) (own client.NodeInfo, err error) {
	text, err := os.ReadFile(filepath.Join(folder, infoFile))
	if err == nil {
		err = yaml.Unmarshal(text, &own)
	}
	if err == nil && own.ID == 0 {
		err = errors.New("it names no node")
	}
	if err != nil {
		return own, &engine.Refusal{
			Message: fmt.Sprintf("there is no node of a cluster in %s: %v", folder, err),
			Hint:    "Name the folder of a service that has run with --node, by --dir.", Err: engine.ErrNotFound,
		}
	}
	return own, nil
}

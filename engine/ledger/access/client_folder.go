package access

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// clientsFolderName is the folder with a file for each issued certificate, by
// fingerprint.
const clientsFolderName = "clients"

// clientFolder keeps clients in files. Each request checks the file of its
// client, and reads it again if it has changed.
type clientFolder struct {
	path  string
	cache sync.Map // by the file's path: cachedClient
}

// cachedClient is the content of a client's file at the last read.
type cachedClient struct {
	info   fs.FileInfo
	client Client
}

var _ ClientStore = (*clientFolder)(nil)

func newClientFolder(path string) *clientFolder {
	return &clientFolder{path: filepath.Join(path, clientsFolderName)}
}

// Client implements ClientStore.
func (f *clientFolder) Client(_ context.Context, fingerprint string) (Client, error) {
	path := f.clientPath(fingerprint)
	if before, ok := f.cache.Load(path); ok {
		if now, err := os.Stat(path); err == nil && isUnchanged(before.(cachedClient).info, now) {
			return before.(cachedClient).client, nil
		}
	}
	text, info, err := readPrivate(path)
	if err != nil {
		f.cache.Delete(path)
		return Client{}, err
	}
	var c Client
	if err := json.Unmarshal(text, &c); err != nil || c.Fingerprint != fingerprint || c.Name == "" {
		return Client{}, damagedFileError(path, "it is not the record of a client")
	}
	if time.Since(info.ModTime()) > fileTimeGranularity {
		f.cache.Store(path, cachedClient{info, c})
	}
	return c, nil
}

// fileTimeGranularity is the coarsest time step of file systems. A file may
// change again within this time, and keep the same time.
const fileTimeGranularity = 2 * time.Second

// isUnchanged reports whether a file is the same as before. ReplaceClient
// always creates a new file.
func isUnchanged(before, now fs.FileInfo) bool {
	return os.SameFile(before, now) && before.Mode() == now.Mode() && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// Clients implements ClientStore.
func (f *clientFolder) Clients(ctx context.Context) (all []Client, failed error) {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannotReadError(f.path, err)
	}
	for _, entry := range entries {
		fingerprint, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || strings.HasPrefix(fingerprint, ".") {
			continue
		}
		c, err := f.Client(ctx, fingerprint)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, c)
	}
	return all, failed
}

// AddClient implements ClientStore.
func (f *clientFolder) AddClient(_ context.Context, c Client) error {
	return createFile(f.clientPath(c.Fingerprint), encodeClient(c))
}

// ReplaceClient implements ClientStore.
func (f *clientFolder) ReplaceClient(_ context.Context, c Client) error {
	return replaceFile(f.clientPath(c.Fingerprint), encodeClient(c))
}

func (f *clientFolder) clientPath(fingerprint string) string {
	return filepath.Join(f.path, fingerprint+".json")
}

func encodeClient(c Client) []byte {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // texts and times can always be marshalled
	}
	return append(text, '\n')
}

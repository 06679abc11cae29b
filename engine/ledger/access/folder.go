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

// clientsFolder has a file for each certificate that was given out, by its fingerprint.
const clientsFolder = "clients"

// folder keeps clients in files. Each request looks at the file of its client, and reads it
// when it has changed.
type folder struct {
	path string
	read sync.Map // by the file's path: fileOfClient
}

// fileOfClient is what a file said when it was read.
type fileOfClient struct {
	info   fs.FileInfo
	client Client
}

var _ Notes = (*folder)(nil)

func newFolder(path string) *folder { return &folder{path: filepath.Join(path, clientsFolder)} }

// Client implements Notes.
func (f *folder) Client(_ context.Context, fingerprint string) (Client, error) {
	path := f.file(fingerprint)
	if before, ok := f.read.Load(path); ok {
		if now, err := os.Stat(path); err == nil && isSame(before.(fileOfClient).info, now) {
			return before.(fileOfClient).client, nil
		}
	}
	text, info, err := readPrivate(path)
	if err != nil {
		f.read.Delete(path)
		return Client{}, err
	}
	var c Client
	if err := json.Unmarshal(text, &c); err != nil || c.Fingerprint != fingerprint || c.Name == "" {
		return Client{}, damaged(path, "it is not the note of a client")
	}
	if time.Since(info.ModTime()) > tick {
		f.read.Store(path, fileOfClient{info, c})
	}
	return c, nil
}

// tick is the coarsest step of a file system's times. A file that was written within it may be
// written again without a sign.
const tick = 2 * time.Second

// isSame tells whether a file is what it was. ReplaceClient puts another file there.
func isSame(before, now fs.FileInfo) bool {
	return os.SameFile(before, now) && before.Mode() == now.Mode() && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// Clients implements Notes.
func (f *folder) Clients(ctx context.Context) (all []Client, failed error) {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(f.path, err)
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

// AddClient implements Notes.
func (f *folder) AddClient(_ context.Context, c Client) error {
	return create(f.file(c.Fingerprint), encode(c))
}

// ReplaceClient implements Notes.
func (f *folder) ReplaceClient(_ context.Context, c Client) error {
	return replace(f.file(c.Fingerprint), encode(c))
}

func (f *folder) file(fingerprint string) string { return filepath.Join(f.path, fingerprint+".json") }

func encode(c Client) []byte {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // texts and times can always be written
	}
	return append(text, '\n')
}

package access

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// clientsFolder has a file for each certificate that was given out, by its fingerprint.
const clientsFolder = "clients"

// folder keeps clients in files. Each is read at each request.
type folder struct{ path string }

var _ Notes = folder{}

func newFolder(path string) folder { return folder{filepath.Join(path, clientsFolder)} }

// Client implements Notes.
func (f folder) Client(_ context.Context, fingerprint string) (Client, error) {
	path := f.file(fingerprint)
	text, err := readPrivate(path)
	if err != nil {
		return Client{}, err
	}
	var c Client
	if err := json.Unmarshal(text, &c); err != nil || c.Fingerprint != fingerprint || c.Name == "" {
		return Client{}, damaged(path, "it is not the note of a client")
	}
	return c, nil
}

// Clients implements Notes.
func (f folder) Clients(ctx context.Context) (all []Client, failed error) {
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
func (f folder) AddClient(_ context.Context, c Client) error {
	return create(f.file(c.Fingerprint), encode(c))
}

// ReplaceClient implements Notes.
func (f folder) ReplaceClient(_ context.Context, c Client) error {
	return replace(f.file(c.Fingerprint), encode(c))
}

func (f folder) file(fingerprint string) string { return filepath.Join(f.path, fingerprint+".json") }

func encode(c Client) []byte {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // texts and times can always be written
	}
	return append(text, '\n')
}

package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// folder numbers exchanges and writes them.
type folder struct {
	dir         string
	mu          sync.Mutex
	lastWritten int // the last number that is written
}

// openFolder makes the folder where there is none. An existing one must be empty.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot record: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot record: %w", err)
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("cannot record: %s is not empty: give each run a folder of its own", dir)
	}
	return &folder{dir: dir}, nil
}

// write gives an exchange the next number and writes its file. The file is never there in
// part.
func (f *folder) write(e recording.Exchange) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Number = f.lastWritten + 1
	if err := f.writeFile(e); err != nil {
		return err
	}
	f.lastWritten++
	return nil
}

// writeFile writes the file of an exchange. It fails if the file could not be read again.
func (f *folder) writeFile(e recording.Exchange) error {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(e)
	if err == nil {
		_, err = recording.ParseExchange(e.String()+".json", content.Bytes())
	}
	if err == nil {
		err = writeFileAtomically(filepath.Join(f.dir, e.String()+".json"), content.Bytes())
	}
	if err != nil {
		return fmt.Errorf("cannot write exchange %s: %w", e, err)
	}
	return nil
}

// rewriteExchanges applies a change to each written exchange.
func (f *folder) rewriteExchanges(change func(*recording.Exchange)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lastWritten == 0 {
		return nil
	}
	stories, err := recording.LoadStories(f.dir)
	if err != nil {
		return err
	}
	for _, e := range stories[0].Exchanges {
		change(&e)
		if err := f.writeFile(e); err != nil {
			return err
		}
	}
	return nil
}

func writeFileAtomically(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(file.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

func (f *folder) writtenCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastWritten
}

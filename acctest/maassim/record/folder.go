package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// folder numbers exchanges and writes them.
type folder struct {
	dir     string
	mu      sync.Mutex
	last    int
	written int
}

// openFolder makes the folder if need be, and goes on behind its last number.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot record: %w", err)
	}
	f := &folder{dir: dir}
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*-*.json"))
	if err != nil {
		return nil, fmt.Errorf("cannot record: %w", err)
	}
	for _, path := range paths {
		number, _, _ := strings.Cut(filepath.Base(path), "-")
		if n, err := strconv.Atoi(number); err == nil {
			f.last = max(f.last, n)
		}
	}
	return f, nil
}

// write gives an exchange the next number and writes its file. The file is
// whole or not there.
func (f *folder) write(e recording.Exchange) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	e.Number = f.last
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(e); err != nil {
		return fmt.Errorf("cannot write exchange %s: %w", e, err)
	}
	path := filepath.Join(f.dir, e.String()+".json")
	if err := writeWhole(path, content.Bytes()); err != nil {
		return fmt.Errorf("cannot write exchange %s: %w", e, err)
	}
	f.written++
	return nil
}

func writeWhole(path string, content []byte) error {
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

func (f *folder) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written
}

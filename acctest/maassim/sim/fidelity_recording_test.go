package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// exchange is one recorded request and what the genuine MAAS answered.
type exchange struct {
	Number   int
	Name     string           `json:"name"`
	Request  recordedRequest  `json:"request"`
	Response recordedResponse `json:"response"`
}

type recordedRequest struct {
	Method        string          `json:"method"`
	Path          string          `json:"path"`
	Query         map[string]any  `json:"query"`
	Form          json.RawMessage `json:"form"`
	Authenticated bool            `json:"authenticated"`
	ContentType   string          `json:"content_type"`
}

type recordedResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	IsJSON  bool              `json:"body_is_json"`
	Body    json.RawMessage   `json:"body"`
}

func (e exchange) String() string { return fmt.Sprintf("%03d-%s", e.Number, e.Name) }

// op is the value of the query's op parameter, or empty.
func (e exchange) op() string { op, _ := e.Request.Query["op"].(string); return op }

// loadExchanges reads every numbered JSON file of a folder, in order.
func loadExchanges(dir string) ([]exchange, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*-*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var all []exchange
	for _, path := range paths {
		e, err := loadExchange(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read exchange %s: %w", filepath.Base(path), err)
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no exchanges in %s", dir)
	}
	return all, nil
}

func loadExchange(path string) (exchange, error) {
	var e exchange
	content, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(content, &e); err != nil {
		return e, err
	}
	number, _, _ := strings.Cut(filepath.Base(path), "-")
	e.Number, err = strconv.Atoi(number)
	return e, err
}

// decodeJSON keeps numbers as written, so that 8000.0 and 8000 stay apart:
// a client that reads the first into an integer fails.
func decodeJSON(content []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}

// values turns a recorded query or form (value or list of values by name)
// into url.Values.
func values(recorded map[string]any) url.Values {
	out := url.Values{}
	for name, v := range recorded {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				out.Add(name, fmt.Sprint(one))
			}
		default:
			out.Add(name, fmt.Sprint(v))
		}
	}
	return out
}

// Package recording is the format of recorded exchanges with a MAAS: one JSON file for
// each exchange, numbered in the order of the requests.
package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// APIRoot begins the path of each request to MAAS's API.
const APIRoot = "/MAAS/api/2.0/"

// Exchange is one recorded request and MAAS's answer.
type Exchange struct {
	Number   int      `json:"-"` // of the file
	Name     string   `json:"name"`
	Note     *string  `json:"note"`
	Request  Request  `json:"request"`
	Response Response `json:"response"`
}

// Request is the recorded request. Query and Form hold, by name, a text or a list of
// texts. If the body is no form, Form is one text.
type Request struct {
	Method        string          `json:"method"`
	Path          string          `json:"path"`
	Query         map[string]any  `json:"query"`
	Form          json.RawMessage `json:"form"`
	Authenticated bool            `json:"authenticated"`
	ContentType   *string         `json:"content_type"`
	// LeftOut means that the request had a body that was not recorded. It cannot be sent
	// again.
	LeftOut bool `json:"left_out,omitempty"`
}

// Response is the recorded answer. The Body is JSON, or one text.
type Response struct {
	Status  int               `json:"status"`
	Reason  string            `json:"reason"`
	Headers map[string]string `json:"headers"`
	IsJSON  bool              `json:"body_is_json"`
	Body    json.RawMessage   `json:"body"`
	Elapsed float64           `json:"elapsed_s"`
	// LeftOut means that the answer had a body that was not recorded.
	LeftOut bool `json:"left_out,omitempty"`
}

// String is the name of the exchange's file, without its ending.
func (e Exchange) String() string { return fmt.Sprintf("%03d-%s", e.Number, e.Name) }

// Op is the value of the query's op parameter, or empty.
func (e Exchange) Op() string { op, _ := e.Request.Query["op"].(string); return op }

// Route is the path below the API's root, in parts.
func (e Exchange) Route() []string {
	return strings.Split(strings.Trim(strings.TrimPrefix(e.Request.Path, APIRoot), "/"), "/")
}

// FormValues are the fields of the form. There are none where the body is no form.
func (e Exchange) FormValues() url.Values {
	form, isObject := e.Form()
	if !isObject {
		return url.Values{}
	}
	return Values(form)
}

// Form is the form as recorded, with numbers as they are written. It returns false where
// the body is no form.
func (e Exchange) Form() (map[string]any, bool) {
	if len(e.Request.Form) == 0 {
		return nil, false
	}
	v, err := DecodeJSON(e.Request.Form)
	form, isObject := v.(map[string]any)
	return form, err == nil && isObject
}

// FormOrder are the names of the form's fields in the order in which they were
// recorded.
func (e Exchange) FormOrder() (names []string) {
	d := json.NewDecoder(bytes.NewReader(e.Request.Form))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return names
		}
		if text, _ := name.(string); !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	return names
}

// Media is the request's content type, or empty.
func (e Exchange) Media() string {
	if e.Request.ContentType == nil {
		return ""
	}
	return *e.Request.ContentType
}

// Story is a folder of exchanges, in the order in which they were sent.
type Story struct {
	Name      string
	Exchanges []Exchange
}

// LoadStories reads the stories of a folder. The exchanges in the folder itself are one
// story, and those of each folder in it another. The error names the file that it could
// not read.
func LoadStories(dir string) ([]Story, error) {
	var stories []Story
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		exchanges, err := loadFolder(path)
		if err == nil && len(exchanges) > 0 {
			stories = append(stories, Story{Name: filepath.Base(path), Exchanges: exchanges})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the recordings: %w", err)
	}
	if len(stories) == 0 {
		return nil, fmt.Errorf("cannot read the recordings: no file like 001-name.json in %s", dir)
	}
	return stories, nil
}

func loadFolder(dir string) ([]Exchange, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*-*.json"))
	if err != nil {
		return nil, err
	}
	var all []Exchange
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		e, err := ParseExchange(filepath.Base(path), content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b Exchange) int { return a.Number - b.Number })
	return all, nil
}

// ParseExchange reads the exchange of a file. The error says what is wrong in it.
func ParseExchange(file string, content []byte) (Exchange, error) {
	var e Exchange
	number, _, _ := strings.Cut(file, "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return e, fmt.Errorf("the file's name does not begin with a number: %w", err)
	}
	if err := json.Unmarshal(content, &e); err != nil {
		return e, fmt.Errorf("not an exchange: %w", err)
	}
	e.Number = n
	return e, e.check()
}

// check refuses an exchange that cannot be replayed.
func (e Exchange) check() error {
	switch {
	case e.Request.Method == "" || strings.ContainsFunc(e.Request.Method, isNotLetter):
		return fmt.Errorf("not an exchange: %q is not a method", e.Request.Method)
	case !strings.HasPrefix(e.Request.Path, "/"):
		return fmt.Errorf("not an exchange: the path %q does not begin with /", e.Request.Path)
	case e.Response.Status < 100 || e.Response.Status > 999:
		return fmt.Errorf("not an exchange: %d is not a status", e.Response.Status)
	case len(e.Response.Body) == 0:
		return errors.New("not an exchange: the response has no body")
	}
	if _, err := url.Parse("http://maas.test" + e.Request.Path); err != nil {
		return fmt.Errorf("not an exchange: the path cannot be read: %w", err)
	}
	var form any
	if len(e.Request.Form) > 0 && json.Unmarshal(e.Request.Form, &form) != nil {
		return errors.New("not an exchange: the form cannot be read")
	}
	switch form.(type) {
	case nil, string, map[string]any:
		return nil
	}
	return errors.New("not an exchange: the form is neither an object nor a text")
}

func isNotLetter(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') }

// DecodeJSON keeps numbers as written, so that 8000.0 and 8000 stay different: a client
// that reads 8000.0 into an integer fails.
func DecodeJSON(content []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}

// UserSuffix ends the names of exchanges that a user without admin rights sent.
const UserSuffix = "-user1"

// IsByUser tells whether a user without admin rights sent the exchange. It is false where
// the recorder did not know.
func (e Exchange) IsByUser() bool { return strings.HasSuffix(e.Name, UserSuffix) }

// Values turns a recorded query or form (value or list of values by name)
// into url.Values.
func Values(recorded map[string]any) url.Values {
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

// OK tells whether the exchange took effect.
func (e Exchange) OK() bool {
	return e.Response.Status >= http.StatusOK && e.Response.Status < http.StatusMultipleChoices
}

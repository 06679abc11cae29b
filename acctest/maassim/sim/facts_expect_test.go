package sim_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// wantReply checks status [media type [body]]. A body that begins with ~ is a part of the
// answer's body. A JSON body is compared as JSON.
func (r *factRun) wantReply(status int, rest string) error {
	if r.last.Status != status {
		return fmt.Errorf("want status %d, got %d %s", status, r.last.Status, r.last.Body)
	}
	media, body, _ := strings.Cut(rest, " ")
	got, _, _ := strings.Cut(r.last.Header.Get("Content-Type"), ";")
	if media != "" && got != media {
		return fmt.Errorf("want content type %s, got %q", media, got)
	}
	text := strings.TrimSpace(string(r.last.Body))
	switch {
	case body == "":
	case body == "(empty)":
		if text != "" {
			return fmt.Errorf("want no body, got %q", text)
		}
	case strings.HasPrefix(body, "~"):
		if want := strings.TrimPrefix(body, "~"); !strings.Contains(text, strings.TrimSpace(want)) {
			return fmt.Errorf("want a body with %q, got %q", want, text)
		}
	case media == "application/json":
		return sameJSON(body, text)
	case text != body:
		return fmt.Errorf("want body %q, got %q", body, text)
	}
	return nil
}

func sameJSON(want, got string) error {
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		return fmt.Errorf("want JSON, got %q", got)
	}
	if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
		return fmt.Errorf("want body %s, got %s", want, got)
	}
	return nil
}

// wantField checks PATH=JSON in the last answer, such as status_name="Ready".
func (r *factRun) wantField(rest string) error {
	path, want, whole := strings.Cut(rest, "=")
	if !whole {
		return fmt.Errorf("has wants PATH=JSON, got %q", rest)
	}
	got, err := r.lookUp(path)
	if err != nil {
		return err
	}
	text, _ := json.Marshal(got)
	if string(text) != want {
		return fmt.Errorf("want %s=%s, got %s", path, want, text)
	}
	return nil
}

func (r *factRun) wantNoField(path string) error {
	if v, err := r.lookUp(path); err == nil {
		return fmt.Errorf("want no %s, got %v", path, v)
	}
	return nil
}

// save saves PATH of the last answer as {NAME}.
func (r *factRun) save(rest string) error {
	name, path, _ := strings.Cut(rest, " ")
	if !savedName.MatchString("{" + name + "}") {
		return fmt.Errorf("%q cannot be a saved name: want small letters and digits", name)
	}
	v, err := r.lookUp(strings.TrimSpace(path))
	if err != nil {
		return err
	}
	r.saved[name] = fmt.Sprint(v)
	return nil
}

// waitForField repeats GET PATH for a few seconds until FIELD=JSON holds.
func (r *factRun) waitForField(rest string) error {
	path, want, _ := strings.Cut(rest, " ")
	if !strings.Contains(want, "=") {
		return fmt.Errorf("until wants PATH FIELD=JSON, got %q", rest)
	}
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = r.call("GET", path); err != nil {
			return err
		}
		if err = r.wantField(want); err == nil {
			return nil
		}
	}
	return fmt.Errorf("waited in vain: %w", err)
}

// lookUp finds a path like 0.blockdevice_set.0.tags. # is the length of a list.
func (r *factRun) lookUp(path string) (any, error) {
	v, err := decodeJSON(r.last.Body)
	if err != nil {
		return nil, fmt.Errorf("the last answer is no JSON: %q", r.last.Body)
	}
	for _, key := range strings.Split(path, ".") {
		switch parent := v.(type) {
		case map[string]any:
			child, ok := parent[key]
			if !ok {
				return nil, fmt.Errorf("no %s in %s", path, r.last.Body)
			}
			v = child
		case []any:
			index, err := strconv.Atoi(key)
			if key == "#" {
				v = len(parent)
				continue
			}
			if err != nil || index >= len(parent) {
				return nil, fmt.Errorf("no %s in %s", path, r.last.Body)
			}
			v = parent[index]
		default:
			return nil, fmt.Errorf("no %s in %s", path, r.last.Body)
		}
	}
	return v, nil
}

// fill replaces {name} by saved values. An unknown name is an error.
func (r *factRun) fill(text string) (string, error) {
	var missing error
	filled := savedName.ReplaceAllStringFunc(text, func(name string) string {
		v, ok := r.saved[strings.Trim(name, "{}")]
		if !ok {
			missing = fmt.Errorf("%s was not saved", name)
		}
		return v
	})
	return filled, missing
}

var savedName = regexp.MustCompile(`\{[a-z0-9]+\}`)

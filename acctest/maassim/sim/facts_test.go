package sim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// fact is one row of testdata/facts.txt: something that MAAS does and that a
// client relies on or has to live with.
type fact struct {
	name, reason string
	line         int
	model        string
	steps        []factStep
}

// factStep is one line of a fact.
type factStep struct {
	line int
	verb string // a method, a status, or has, lacks, save, wait
	rest string
}

// TestFacts holds the simulator against what was seen on a genuine MAAS 3.4
// and written down in our own words. The head of testdata/facts.txt explains
// its lines.
func TestFacts(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := parseFacts(string(content))
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan bool, len(facts))
	t.Cleanup(func() {
		close(held)
		count := 0
		for range held {
			count++
		}
		fmt.Printf("TestFacts: %d of %d facts hold\n", count, len(facts))
	})
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runFact(t, f) })
			if !t.Failed() {
				held <- true
			}
		})
	}
}

// parseFacts reads the table; an error names the line.
func parseFacts(text string) ([]fact, error) {
	var facts []fact
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "fact "):
			name := strings.TrimPrefix(line, "fact ")
			if seen[name] {
				return nil, fmt.Errorf("line %d: fact %s is there twice", i+1, name)
			}
			seen[name] = true
			facts = append(facts, fact{name: name, line: i + 1})
		case len(facts) == 0:
			return nil, fmt.Errorf("line %d: stands before the first fact", i+1)
		default:
			facts[len(facts)-1].add(i+1, line)
		}
	}
	for _, f := range facts {
		if f.reason == "" || len(f.steps) == 0 {
			return nil, fmt.Errorf("line %d: fact %s needs a reason and steps", f.line, f.name)
		}
	}
	return facts, nil
}

func (f *fact) add(number int, line string) {
	trimmed := strings.TrimSpace(line)
	if line == trimmed {
		f.reason = strings.TrimSpace(f.reason + " " + line)
		return
	}
	verb, rest, _ := strings.Cut(trimmed, " ")
	if verb == "model" {
		f.model = rest
		return
	}
	f.steps = append(f.steps, factStep{line: number, verb: verb, rest: strings.TrimSpace(rest)})
}

// factRun is a fact being tried out.
type factRun struct {
	t       *testing.T
	maas    http.RoundTripper
	saved   map[string]string
	last    served
	started map[string]chan served
}

func runFact(t *testing.T, f fact) {
	model, err := sim.ReadModel(strings.NewReader(cmp.Or(f.model, "{}")))
	if err != nil {
		t.Fatal(err)
	}
	if f.model == "" {
		model = factsModel()
	}
	world, err := sim.New(model)
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	run := &factRun{t: t, maas: world.RoundTripper(), saved: map[string]string{}, started: map[string]chan served{}}
	for _, step := range f.steps {
		if err := run.step(step); err != nil {
			t.Fatalf("facts.txt:%d: %v\n%s", step.line, err, f.reason)
		}
	}
}

// factsModel is the world of a fact that brings none: two hosts, two pools
// each, all waiting steered by the fact.
func factsModel() sim.Model {
	model := sim.DefaultModel()
	model.Hosts = model.Hosts[:2]
	model.Images = []string{"ubuntu/focal", "ubuntu/jammy"}
	return model
}

func (r *factRun) step(s factStep) error {
	if status, err := strconv.Atoi(s.verb); err == nil {
		return r.expect(status, r.fill(s.rest))
	}
	switch s.verb {
	case "has":
		return r.has(r.fill(s.rest))
	case "lacks":
		return r.lacks(r.fill(s.rest))
	case "save":
		return r.save(s.rest)
	case "wait":
		d, err := time.ParseDuration(s.rest)
		time.Sleep(d)
		return err
	case "until":
		return r.until(r.fill(s.rest))
	case "start":
		return r.start(s.rest)
	case "end":
		return r.end(s.rest)
	case "lost":
		if r.last.Status != 0 {
			return fmt.Errorf("want no answer, got %d %s", r.last.Status, r.last.Body)
		}
		return nil
	}
	return r.call(s.verb, s.rest)
}

// start sends a call and goes on without its answer; end waits for that.
func (r *factRun) start(rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	method, rest, _ := strings.Cut(rest, " ")
	request, err := r.request(method, rest)
	if err != nil {
		return err
	}
	done := make(chan served, 1)
	r.started[name] = done
	go func() { done <- roundTrip(r.maas, request) }()
	synctest.Wait()
	return nil
}

func (r *factRun) end(name string) error {
	done := r.started[name]
	if done == nil {
		return fmt.Errorf("nothing was started as %q", name)
	}
	r.last = <-done
	return nil
}

// roundTrip is a call whose answer may be lost: status 0.
func roundTrip(maas http.RoundTripper, request *http.Request) served {
	response, err := maas.RoundTrip(request)
	if err != nil {
		return served{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return served{}
	}
	return served{Status: response.StatusCode, Header: response.Header, Body: body}
}

func (r *factRun) call(method, rest string) error {
	request, err := r.request(method, rest)
	if err != nil {
		return err
	}
	r.last = roundTrip(r.maas, request)
	return nil
}

// request makes a call of METHOD [as NAME] [within TIME] PATH [field=value …]
// or [JSON].
func (r *factRun) request(method, rest string) (*http.Request, error) {
	who, ctx := "admin", r.t.Context()
	if after, ok := strings.CutPrefix(rest, "as "); ok {
		who, rest, _ = strings.Cut(after, " ")
	}
	if after, ok := strings.CutPrefix(rest, "within "); ok {
		var text string
		text, rest, _ = strings.Cut(after, " ")
		limit, err := time.ParseDuration(text)
		if err != nil {
			return nil, err
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		r.t.Cleanup(cancel)
		ctx = limited
	}
	path, body, _ := strings.Cut(r.fill(rest), " ")
	contentType := "application/x-www-form-urlencoded"
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		contentType = "application/json"
	} else {
		body = formBody(body)
	}
	if !strings.HasPrefix(path, "/") {
		path = "/MAAS/api/2.0/" + path
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://maas.test"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return request, r.sign(request, who)
}

// sign adds the Authorization header of admin, user, nobody, a header that
// was saved (same), or a broken one.
func (r *factRun) sign(request *http.Request, who string) error {
	header := ""
	switch who {
	case "admin":
		header = apiKey(sim.DefaultAdminKey).header(time.Now())
	case "user":
		header = apiKey(sim.DefaultUserKey).header(time.Now())
	case "nobody":
	case "same":
		header = r.saved["authorization"]
	case "stale":
		header = apiKey(sim.DefaultAdminKey).header(time.Now().Add(-time.Hour))
	case "stranger":
		header = apiKey("no:such:key").header(time.Now())
	case "bearer":
		header = "Bearer something"
	default:
		return fmt.Errorf("unknown caller %q", who)
	}
	if header != "" {
		request.Header.Set("Authorization", header)
		r.saved["authorization"] = header
	}
	return nil
}

// formBody turns a=1 b='x y' into a form.
func formBody(text string) string {
	var fields []string
	for _, field := range formField.FindAllStringSubmatch(text, -1) {
		value := field[2]
		if strings.HasPrefix(value, "'") {
			value = strings.Trim(value, "'")
		}
		fields = append(fields, field[1]+"="+url.QueryEscape(value))
	}
	return strings.Join(fields, "&")
}

var formField = regexp.MustCompile(`([\w]+)=('[^']*'|\S*)`)

// expect checks status [media type [body]]; a body that begins with ~ is a
// part of it, one that is JSON is compared as JSON.
func (r *factRun) expect(status int, rest string) error {
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

// has checks PATH=JSON in the last    served, as in status_name="Ready".
func (r *factRun) has(rest string) error {
	path, want, _ := strings.Cut(rest, "=")
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

func (r *factRun) lacks(path string) error {
	if v, err := r.lookUp(path); err == nil {
		return fmt.Errorf("want no %s, got %v", path, v)
	}
	return nil
}

// save keeps NAME PATH of the last    served for {NAME}.
func (r *factRun) save(rest string) error {
	name, path, _ := strings.Cut(rest, " ")
	v, err := r.lookUp(strings.TrimSpace(path))
	if err != nil {
		return err
	}
	r.saved[name] = fmt.Sprint(v)
	return nil
}

// until repeats GET PATH until FIELD=JSON holds, for a few seconds.
func (r *factRun) until(rest string) error {
	path, want, _ := strings.Cut(rest, " ")
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = r.call("GET", path); err != nil {
			return err
		}
		if err = r.has(want); err == nil {
			return nil
		}
	}
	return fmt.Errorf("waited in vain: %w", err)
}

// lookUp walks a path like 0.blockdevice_set.0.tags or # (a list's length).
func (r *factRun) lookUp(path string) (any, error) {
	v, err := decodeJSON(r.last.Body)
	if err != nil {
		return nil, fmt.Errorf("the last    served is no JSON: %q", r.last.Body)
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

// fill puts saved values in place of {name}.
func (r *factRun) fill(text string) string {
	return savedName.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := r.saved[strings.Trim(name, "{}")]; ok {
			return v
		}
		return name
	})
}

var savedName = regexp.MustCompile(`\{[a-z0-9]+\}`)

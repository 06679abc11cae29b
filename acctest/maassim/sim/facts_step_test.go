package sim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// factRun is the run of a fact.
type factRun struct {
	t       *testing.T
	maas    http.RoundTripper
	saved   map[string]string
	last    simResponse
	started map[string]chan simResponse
}

// methods are the verbs that make a call.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions}

// verbs are the other verbs except for statuses. The value tells whether the verb is an
// expectation.
var verbs = map[string]bool{"has": true, "lacks": true, "until": true, "lost": true, "save": false, "wait": false, "start": false, "end": false}

// check returns what is wrong with a step before it runs.
func (s factStep) check() error {
	_, known := verbs[s.verb]
	if !known && !s.isStatus() && !slices.Contains(methods, s.verb) {
		return fmt.Errorf("line %d: %q is neither a method nor a status nor a word of this table", s.line, s.verb)
	}
	return nil
}

func (s factStep) isStatus() bool {
	status, err := strconv.Atoi(s.verb)
	return err == nil && status >= 100 && status <= 599
}

// isExpectation tells whether the step checks the simulator's behaviour.
func (s factStep) isExpectation() bool { return verbs[s.verb] || s.isStatus() }

func (r *factRun) step(s factStep) error {
	rest, err := r.fill(s.rest)
	if err != nil {
		return err
	}
	if status, err := strconv.Atoi(s.verb); err == nil {
		return r.wantReply(status, rest)
	}
	switch s.verb {
	case "has":
		return r.wantField(rest)
	case "lacks":
		return r.wantNoField(rest)
	case "save":
		return r.save(rest)
	case "wait":
		d, err := time.ParseDuration(rest)
		time.Sleep(d)
		return err
	case "until":
		return r.waitForField(rest)
	case "start":
		return r.start(rest)
	case "end":
		return r.end(rest)
	case "lost":
		if r.last.Status != 0 {
			return fmt.Errorf("want no answer, got %d %s", r.last.Status, r.last.Body)
		}
		return nil
	}
	return r.call(s.verb, rest)
}

// start sends a call without waiting for its answer. The verb end waits for that.
func (r *factRun) start(rest string) error {
	name, rest, _ := strings.Cut(rest, " ")
	method, rest, _ := strings.Cut(rest, " ")
	if !slices.Contains(methods, method) {
		return fmt.Errorf("start wants NAME METHOD PATH, got the method %q", method)
	}
	request, err := r.request(method, rest)
	if err != nil {
		return err
	}
	done := make(chan simResponse, 1)
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

// roundTrip makes a call whose answer may be lost: its status is 0 then.
func roundTrip(maas http.RoundTripper, request *http.Request) simResponse {
	response, err := maas.RoundTrip(request)
	if err != nil {
		return simResponse{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return simResponse{}
	}
	return simResponse{Status: response.StatusCode, Header: response.Header, Body: body}
}

func (r *factRun) call(method, rest string) error {
	request, err := r.request(method, rest)
	if err != nil {
		return err
	}
	r.last = roundTrip(r.maas, request)
	return nil
}

// request makes the call METHOD [as NAME] [within TIME] PATH [field=value …] or [JSON].
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
	path, body, _ := strings.Cut(rest, " ")
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

// sign adds an Authorization header: of admin, user or nobody, a saved one (same), or a
// broken one.
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

// formBody reads a=1 b='x y' as a form.
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

package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// recordedHeaders are the headers of answers that a recording keeps.
var recordedHeaders = []string{"Content-Type", "Vary", "X-MAAS-API-Hash", "X-Frame-Options", "Content-Length", "WWW-Authenticate", "Allow", "Retry-After", "Location"}

// answer is what a MAAS answered.
type answer struct {
	status int
	header http.Header
	body   *bodyCopy
}

// writeExchange masks a finished exchange and writes it.
func (p *Proxy) writeExchange(c *call, a answer) {
	e := p.maskExchange(c, a)
	if err := p.folder.write(e); err != nil {
		p.log(fmt.Errorf("%s %s is not recorded: %w", c.request.Method, c.request.URL.Path, err))
	}
}

// maskExchange makes the recording of a call. It masks everything twice: the first pass
// learns names, and the second one replaces them everywhere.
func (p *Proxy) maskExchange(c *call, a answer) recording.Exchange {
	e := recording.Exchange{}
	for range 2 {
		e = recording.Exchange{Response: recording.Response{
			Status: a.status, Reason: http.StatusText(a.status), Headers: map[string]string{},
			Elapsed: float64(time.Since(c.started).Milliseconds()) / 1000,
		}}
		setting := p.recordRequest(c, &e)
		for _, name := range recordedHeaders {
			if value := a.header.Get(name); value != "" {
				e.Response.Headers[name] = p.maskHeader(name, value)
			}
		}
		p.recordResponse(c, &e, a, setting)
	}
	e.Name = fileNameOf(e)
	if e.Request.Authenticated && p.learnNonAdmin(c, a.status, e) {
		e.Name += recording.UserSuffix
	}
	return e
}

// apiHashPattern is the form of X-MAAS-API-Hash, which depends on the API's version only.
var apiHashPattern = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// maskHeader masks the value of a header.
func (p *Proxy) maskHeader(name, value string) string {
	switch {
	case name == "X-MAAS-API-Hash" && apiHashPattern.MatchString(value):
		return value
	case name == "Location":
		target, err := url.Parse(value)
		if err != nil {
			return "<LOCATION>"
		}
		return p.maskPath(target)
	}
	return p.mask.Text(value)
}

// addNote adds a sentence to an exchange's note.
func addNote(e *recording.Exchange, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e.Note != nil {
		text = *e.Note + "; " + text
	}
	e.Note = &text
}

// recordRequest records the request. If it is about a setting of MAAS, it returns the
// setting's name.
func (p *Proxy) recordRequest(c *call, e *recording.Exchange) (setting string) {
	r := c.request
	e.Request = recording.Request{Method: r.Method, Query: map[string]any{}, Form: json.RawMessage("{}"), Authenticated: r.Header.Get("Authorization") != ""}
	p.mask.learnCredentials(r.Header.Get("Authorization"))
	collection, query := collectionOf(r.URL.Path), rest.ParseQuery(r.URL.RawQuery)
	f := c.readForm()
	if f.media != "" {
		media := mediaName(f.media)
		e.Request.ContentType = &media
	}
	if f.problem != "" || collection == "" {
		f.fields, f.json = nil, nil
		e.Request.LeftOut = c.sent.length() > 0
	}
	if e.Request.LeftOut {
		addNote(e, "a body of %d bytes is left out: %s", c.sent.length(), cmp.Or(f.problem, outsideAPIProblem))
	}
	if collection == "maas" {
		setting = query.Get("name") + f.fields.Get("name")
	}
	e.Request.Path = p.maskPath(r.URL)
	e.Request.Query = p.maskFields(collection, query, setting)
	if op := query.Get("op"); op == "set_owner_data" || op == "set_workload_annotations" {
		collection = "owner_data"
	}
	if f.json != nil {
		e.Request.Form = encode(string(encode(p.mask.Body(collection, f.json))))
	} else {
		e.Request.Form = encodeInOrder(p.maskFields(collection, f.fields, setting), c.sentFieldNames())
	}
	return setting
}

// outsideAPIProblem is the reason why the body of a path outside of API 2.0 is left out.
const outsideAPIProblem = "the path is outside of API 2.0"

// sentFieldNames are the names of an urlencoded body's fields in their order. Some answers
// of MAAS depend on that order.
func (c *call) sentFieldNames() (names []string) {
	body, _ := c.sent.content()
	for pair := range strings.SplitSeq(string(body), "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && !slices.Contains(names, plain) {
			names = append(names, plain)
		}
	}
	return names
}

// encodeInOrder encodes fields in the order of the names. Fields without a name there come
// last.
func encodeInOrder(fields map[string]any, names []string) json.RawMessage {
	var out bytes.Buffer
	for _, name := range slices.Concat(names, slices.Sorted(maps.Keys(fields))) {
		value, has := fields[name]
		if !has {
			continue
		}
		delete(fields, name)
		out.WriteString(map[bool]string{true: "{", false: ","}[out.Len() == 0])
		out.Write(encode(name))
		out.WriteByte(':')
		out.Write(encode(value))
	}
	if out.Len() == 0 {
		return json.RawMessage("{}")
	}
	out.WriteByte('}')
	return out.Bytes()
}

// maskFields are the parameters of a query or form, masked: one value as a text,
// several as a list.
func (p *Proxy) maskFields(collection string, values url.Values, setting string) map[string]any {
	out := map[string]any{}
	for name, all := range values {
		masked := make([]any, len(all))
		for i, value := range all {
			key := name
			if name == "value" && setting != "" {
				key = setting
			}
			masked[i] = p.mask.Field(collection, key, value)
		}
		shown := p.mask.Parameter(name, strings.Join(all, "") != "")
		if out[shown] = masked; len(masked) == 1 {
			out[shown] = masked[0]
		}
	}
	return out
}

// maskPath masks the names in the path of a request. In each recording the path begins
// with /MAAS, whatever prefix a proxy in front of the MAAS uses.
func (p *Proxy) maskPath(u *url.URL) string {
	whole := u.EscapedPath()
	if _, below, found := strings.Cut(whole, apiPath); found {
		whole = recording.APIRoot + below
	}
	parts := strings.Split(whole, "/")
	before := ""
	for i := range parts {
		plain, err := url.PathUnescape(parts[i])
		if err != nil {
			plain = parts[i]
		}
		parts[i] = url.PathEscape(p.mask.Segment(before, plain))
		before = plain
	}
	return strings.Join(parts, "/")
}

// apiPath is a part of the path of each request to API 2.0.
const apiPath = "/api/2.0/"

// recordResponse records the answer.
func (p *Proxy) recordResponse(c *call, e *recording.Exchange, a answer, setting string) {
	collection := collectionOf(c.request.URL.Path)
	text, v, problem := a.readContent()
	switch {
	case collection == "":
		problem = outsideAPIProblem
	case isLeftOut(c.request.URL.Query().Get("op"), collection):
		problem = "such answers hold secrets or scripts"
	}
	e.Response.Body = encode("")
	switch {
	case problem != "" && a.body.length() > 0:
		e.Response.LeftOut = true
		addNote(e, "an answer of %d bytes is left out: %s", a.body.length(), problem)
	case v != nil && setting != "" && a.status < http.StatusBadRequest:
		e.Response.IsJSON, e.Response.Body = true, encode(p.mask.Value(collection, setting, *v))
	case v != nil && a.status >= http.StatusBadRequest:
		e.Response.IsJSON, e.Response.Body = true, encode(p.mask.Refusal(*v))
	case v != nil:
		e.Response.IsJSON, e.Response.Body = true, encode(p.mask.Body(collection, *v))
	case setting != "" && a.status < http.StatusBadRequest:
		e.Response.Body = encode(p.mask.Field(collection, setting, text))
	default:
		e.Response.Body = encode(p.mask.Text(text))
	}
}

// collectionOf is the last word of a path that names a collection. It is empty for a path
// outside of API 2.0.
func collectionOf(path string) string {
	_, below, found := strings.Cut(path, apiPath)
	if !found {
		return ""
	}
	name := ""
	for part := range strings.SplitSeq(below, "/") {
		if namedRoutes[part] != "" || routeWords[part] || name == "" {
			name = part
		}
	}
	return cmp.Or(name, "/")
}

var nonNamePattern = regexp.MustCompile(`[^a-z0-9]+`)

// fileNameOf names the file of an exchange after its request.
func fileNameOf(e recording.Exchange) string {
	words := []string{e.Request.Method}
	for i, part := range e.Route() {
		if i%2 == 0 {
			words = append(words, part)
		}
	}
	words = append(words, e.Op())
	if e.Response.Status >= http.StatusBadRequest {
		words = append(words, fmt.Sprint(e.Response.Status))
	}
	return strings.Trim(nonNamePattern.ReplaceAllString(strings.ToLower(strings.Join(words, "-")), "-"), "-")
}

// learnNonAdmin tells whether the caller is known not to be an administrator.
func (p *Proxy) learnNonAdmin(c *call, status int, e recording.Exchange) bool {
	key := consumerKey.FindString(c.request.Header.Get("Authorization"))
	p.mu.Lock()
	defer p.mu.Unlock()
	var who struct {
		Superuser *bool `json:"is_superuser"`
	}
	if e.Op() == "whoami" && json.Unmarshal(e.Response.Body, &who) == nil && who.Superuser != nil {
		p.isAdminByKey[key] = *who.Superuser
	}
	admin, known := p.isAdminByKey[key]
	if !known && status == http.StatusForbidden && strings.Contains(string(e.Response.Body), "admin") {
		p.isAdminByKey[key] = false
		return true
	}
	return known && !admin
}

var consumerKey = regexp.MustCompile(`oauth_consumer_key="?[^",&]+`)

package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// ofInterest are the headers of answers that are kept.
var ofInterest = []string{"Content-Type", "Vary", "X-MAAS-API-Hash", "X-Frame-Options", "Content-Length", "WWW-Authenticate", "Allow", "Retry-After", "Location"}

// write masks an exchange that is over and writes it.
func (p *Proxy) write(c *call, status int, header http.Header, got *kept) {
	e, err := p.exchange(c, status, header, got)
	if err == nil {
		err = p.folder.write(e)
	}
	if err != nil {
		p.log(fmt.Errorf("%s %s is not recorded: %w", c.request.Method, c.request.URL.Path, err))
	}
}

// exchange is the recording of a call. All of it is masked twice: the first time
// learns the names that the second one looks for.
func (p *Proxy) exchange(c *call, status int, header http.Header, got *kept) (recording.Exchange, error) {
	e := recording.Exchange{}
	for range 2 {
		e = recording.Exchange{Response: recording.Response{
			Status: status, Reason: http.StatusText(status), Headers: map[string]string{},
			Elapsed: float64(time.Since(c.started).Milliseconds()) / 1000,
		}}
		setting := p.request(c, &e)
		for _, name := range ofInterest {
			if value := header.Get(name); value != "" {
				e.Response.Headers[name] = p.mask.Text(value)
			}
		}
		if err := p.response(c, &e, header, got, setting); err != nil {
			return e, err
		}
	}
	e.Name = nameOf(e)
	if e.Request.Authenticated && p.nonAdmin(c, status, e) {
		e.Name += "-user1"
	}
	return e, nil
}

// request fills in what was asked, and gives the setting of MAAS that it is
// about, if it is about one.
func (p *Proxy) request(c *call, e *recording.Exchange) (setting string) {
	r := c.request
	e.Request = recording.Request{Method: r.Method, Query: map[string]any{}, Form: json.RawMessage("{}"), Authenticated: r.Header.Get("Authorization") != ""}
	if kind := r.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil {
			media = p.mask.Text(kind)
		}
		e.Request.ContentType = &media
	}
	p.mask.credentials(r.Header.Get("Authorization"))
	collection := collectionOf(r.URL.Path)
	query := r.URL.Query()
	form, text, note := c.form()
	setting = query.Get("name") + form.Get("name")
	if collection != "maas" {
		setting = ""
	}
	e.Request.Path = p.path(r.URL)
	e.Request.Query = p.fields(collection, query, "")
	if op := query.Get("op"); op == "set_owner_data" || op == "set_workload_annotations" {
		collection = "owner_data"
	}
	switch {
	case note != "":
		e.Note = &note
	case text != "":
		e.Request.Form = encode(p.body(collection, text))
	default:
		e.Request.Form = encode(p.fields(collection, form, setting))
	}
	return setting
}

// fields are the parameters of a query or form, masked: one value as a text,
// several as a list.
func (p *Proxy) fields(collection string, values url.Values, setting string) map[string]any {
	out := map[string]any{}
	for name, all := range values {
		masked := make([]any, len(all))
		for i, value := range all {
			key := name
			if name == "value" && IsSecret(setting) {
				key = setting
			}
			masked[i] = p.mask.Field(collection, key, value)
		}
		if out[name] = masked; len(masked) == 1 {
			out[name] = masked[0]
		}
	}
	return out
}

// path is the path of a request with the names in it masked.
func (p *Proxy) path(u *url.URL) string {
	parts := strings.Split(u.EscapedPath(), "/")
	for i := range parts {
		plain, err := url.PathUnescape(parts[i])
		if err != nil {
			plain = parts[i]
		}
		if i > 0 {
			if kind := namedRoutes[parts[i-1]]; kind != "" && kind != "host" && kind != "vmhost" {
				p.mask.Field(parts[i-1], "name", plain)
			}
		}
		parts[i] = url.PathEscape(p.mask.Text(plain))
	}
	return strings.Join(parts, "/")
}

// form is the body of a request as its fields, or as one text. The note says why
// it is neither.
func (c *call) form() (form url.Values, text, note string) {
	body, whole := c.sent.content()
	if !whole {
		return nil, "", fmt.Sprintf("a body of %d bytes is left out", c.sent.size)
	}
	media, parameters, _ := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	switch {
	case len(body) == 0:
		return url.Values{}, "", ""
	case media == "application/x-www-form-urlencoded":
		if form, err := url.ParseQuery(string(body)); err == nil {
			return form, "", ""
		}
	case media == "multipart/form-data":
		if form, err := multipartForm(strings.NewReader(string(body)), parameters["boundary"]); err == nil && len(form) > 0 {
			return form, "", ""
		}
	}
	if !utf8.Valid(body) {
		return nil, "", fmt.Sprintf("a body of %d bytes that is no text is left out", len(body))
	}
	return nil, string(body), ""
}

func multipartForm(body io.Reader, boundary string) (url.Values, error) {
	if boundary == "" {
		return nil, errors.New("no boundary")
	}
	form, reader := url.Values{}, multipart.NewReader(body, boundary)
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return form, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(content) {
			content = fmt.Appendf(nil, "<%d BYTES>", len(content))
		}
		form.Add(part.FormName(), string(content))
	}
}

// response fills in what was answered.
func (p *Proxy) response(c *call, e *recording.Exchange, header http.Header, got *kept, setting string) error {
	body, whole := got.content()
	if !whole {
		note := fmt.Sprintf("an answer of %d bytes is left out", got.size)
		e.Note, e.Response.Body = &note, json.RawMessage(`""`)
		return nil
	}
	body, err := unzipped(header, body)
	if err != nil {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	collection := collectionOf(c.request.URL.Path)
	if v, err := decode(body); err == nil && strings.Contains(header.Get("Content-Type"), "json") {
		e.Response.IsJSON = true
		if IsSecret(setting) {
			v = p.mask.Field(collection, setting, fmt.Sprint(v))
		}
		e.Response.Body = encode(p.mask.Value(collection, collection, v))
		return nil
	}
	if !utf8.Valid(body) {
		body = fmt.Appendf(nil, "<%d BYTES>", len(body))
	}
	e.Response.Body = encode(p.body(collection, string(body)))
	return nil
}

// body masks a text that may be JSON.
func (p *Proxy) body(collection, text string) string {
	if v, err := decode([]byte(text)); err == nil && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) {
		return string(encode(p.mask.Value(collection, collection, v)))
	}
	return p.mask.Text(text)
}

// collectionOf is the last word of a path that names a collection.
func collectionOf(path string) string {
	name := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(path, recording.APIRoot), "/") {
		if namedRoutes[part] != "" || name == "" {
			name = part
		}
	}
	return name
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf names an exchange's file by its request.
func nameOf(e recording.Exchange) string {
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
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.Join(words, "-")), "-"), "-")
}

// nonAdmin tells whether the caller is known to be no admin.
func (p *Proxy) nonAdmin(c *call, status int, e recording.Exchange) bool {
	key := consumerKey.FindString(c.request.Header.Get("Authorization"))
	p.mu.Lock()
	defer p.mu.Unlock()
	var who struct {
		Superuser *bool `json:"is_superuser"`
	}
	if e.Op() == "whoami" && json.Unmarshal(e.Response.Body, &who) == nil && who.Superuser != nil {
		p.users[key] = *who.Superuser
	}
	admin, known := p.users[key]
	if !known && status == http.StatusForbidden && strings.Contains(string(e.Response.Body), "admin") {
		p.users[key] = false
		return true
	}
	return known && !admin
}

var consumerKey = regexp.MustCompile(`oauth_consumer_key="?[^",&]+`)

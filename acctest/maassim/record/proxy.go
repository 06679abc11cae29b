// Package record is a proxy in front of a MAAS. It records requests and answers in the
// form of package recording, without secrets, addresses and names.
package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
)

// maxKeptBytes is how much of a body the recording keeps. The proxy passes on a longer
// body whole, and the recording notes its length.
const maxKeptBytes = 32 << 20

// Proxy passes requests to a MAAS and writes each exchange into a folder. It serves many
// requests at a time.
type Proxy struct {
	upstream *url.URL
	folder   *folder
	mask     *Mask
	reverse  *httputil.ReverseProxy
	log      func(error)

	mu           sync.Mutex
	isAdminByKey map[string]bool // consumer key → is an admin

	reportSignatureOnce sync.Once // reports a refused signature once
}

// New makes a proxy in front of the MAAS at an URL like https://maas.example:5443/MAAS. It
// writes into the folder dir, which must be empty: a placeholder means the same thing only
// within one run. It calls report with each problem that keeps an exchange from being
// written.
func New(before, dir string, transport http.RoundTripper, report func(error)) (*Proxy, error) {
	upstream, err := url.Parse(before)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" {
		return nil, fmt.Errorf("cannot record the MAAS at %q: want a URL like http://maas.example:5240/MAAS", before)
	}
	folder, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	p := &Proxy{upstream: upstream, folder: folder, mask: NewMask(), log: report, isAdminByKey: map[string]bool{}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: transport, ModifyResponse: p.recordAnswer, ErrorHandler: p.answerBadGateway,
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	return p, nil
}

// URL is the URL that clients use as MAAS's, if the proxy listens at the address.
func (p *Proxy) URL(address string) string {
	return "http://" + address + strings.TrimSuffix(path.Clean("/"+p.upstream.Path), "/")
}

// WrittenCount is the number of exchanges that were written.
func (p *Proxy) WrittenCount() int { return p.folder.writtenCount() }

// call is an exchange that is under way.
type call struct {
	request *http.Request
	sent    *bodyCopy
	started time.Time
}

type callKey struct{}

// ServeHTTP passes a request on, and records it with its answer.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{request: r.Clone(context.WithoutCancel(r.Context())), sent: &bodyCopy{}, started: time.Now()}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &tee{from: r.Body, to: c.sent, wantLength: r.ContentLength}
	}
	p.reverse.ServeHTTP(w, r.WithContext(ctx))
}

// rewrite sends a request to the MAAS. The path stays, because clients already use /MAAS.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = p.upstream.Scheme, p.upstream.Host
	if p.upstream.Scheme == "https" || !signsAddress(r.In) {
		r.Out.Host = p.upstream.Host
	}
	r.Out.Header.Del("Expect") // the proxy reads the body at once
}

// signsAddress tells whether a signature covers the address that the client sees. Then
// MAAS must see the same address.
func signsAddress(r *http.Request) bool {
	header := r.Header.Get("Authorization")
	return strings.Contains(header, "oauth_signature_method") && !strings.Contains(header, "PLAINTEXT")
}

// reportRefusedSignature explains once why a MAAS behind TLS refuses a signature that
// covers the address.
func (p *Proxy) reportRefusedSignature(c *call, status int) {
	if status == http.StatusUnauthorized && p.upstream.Scheme == "https" && signsAddress(c.request) {
		p.reportSignatureOnce.Do(func() {
			p.log(errors.New("a client signs the recorder's address, and MAAS refuses that (401): record at MAAS's http address, or let the client sign with PLAINTEXT"))
		})
	}
}

// recordAnswer copies an answer while it goes to the client. It writes the exchange before
// the client sees the end of the answer.
func (p *Proxy) recordAnswer(response *http.Response) error {
	c, _ := response.Request.Context().Value(callKey{}).(*call)
	if c == nil {
		return errors.New("an answer without a request")
	}
	if location := response.Header.Get("Location"); strings.HasPrefix(location, p.upstream.Scheme+"://"+p.upstream.Host+"/") {
		response.Header.Set("Location", strings.TrimPrefix(location, p.upstream.Scheme+"://"+p.upstream.Host))
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil // a websocket is no exchange
	}
	got := answer{response.StatusCode, response.Header.Clone(), &bodyCopy{}}
	p.reportRefusedSignature(c, got.status)
	response.Body = &tee{from: response.Body, to: got.body, wantLength: -1, onEnd: sync.OnceFunc(func() { p.writeExchange(c, got) })}
	return nil
}

// answerBadGateway answers 502 where the MAAS cannot be reached.
func (p *Proxy) answerBadGateway(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		p.log(fmt.Errorf("%s %s was not answered: %w", r.Method, r.URL.Path, err))
	}
	http.Error(w, fmt.Sprintf("The recorder cannot reach its MAAS: %v", err), http.StatusBadGateway)
}

// bodyCopy is the beginning of a body.
type bodyCopy struct {
	mu         sync.Mutex
	prefix     bytes.Buffer
	size       int64
	reachedEnd bool // the body was read to its end
}

func (k *bodyCopy) add(b []byte, ended bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.size += int64(len(b))
	k.reachedEnd = k.reachedEnd || ended
	if room := maxKeptBytes - k.prefix.Len(); room > 0 {
		k.prefix.Write(b[:min(room, len(b))])
	}
}

func (k *bodyCopy) length() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.size
}

// content returns the body. If it is not whole, problem says why.
func (k *bodyCopy) content() (body []byte, problem string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.size > maxKeptBytes:
		return nil, "it is too long"
	case !k.reachedEnd && k.size > 0:
		return nil, "it broke off"
	}
	return bytes.Clone(k.prefix.Bytes()), ""
}

// tee copies what is read, and calls onEnd once at the end.
type tee struct {
	from       io.ReadCloser
	to         *bodyCopy
	wantLength int64 // length of the body, -1 if unknown
	onEnd      func()
}

// Read reads on and copies what it read.
func (t *tee) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	t.to.add(b[:n], errors.Is(err, io.EOF) || t.wantLength >= 0 && t.to.length()+int64(n) == t.wantLength)
	if err != nil && t.onEnd != nil {
		t.onEnd()
	}
	return n, err
}

// Close ends the copy, too, because a client may go away in the middle.
func (t *tee) Close() error {
	if t.onEnd != nil {
		t.onEnd()
	}
	return t.from.Close()
}

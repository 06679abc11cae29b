// Package record is a proxy before a MAAS that keeps what is asked and answered,
// in the form of package recording, with secrets, addresses and names made
// neutral.
package record

import (
	"bytes"
	"compress/gzip"
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

// mostKept is how much of a body is kept. A longer one is passed on whole, and
// the recording says how long it was.
const mostKept = 32 << 20

// Proxy passes requests to a MAAS and writes each exchange into a folder. It may
// serve many requests at a time.
type Proxy struct {
	upstream *url.URL
	folder   *folder
	mask     *Mask
	reverse  *httputil.ReverseProxy
	log      func(error)

	mu    sync.Mutex
	users map[string]bool // consumer key → is an admin
}

// New makes a proxy before the MAAS at an URL like https://maas.example:5443/MAAS
// that writes into the folder dir, behind the exchanges that are in it. Problems
// that keep an exchange from being written go to log.
func New(before, dir string, transport http.RoundTripper, report func(error)) (*Proxy, error) {
	upstream, err := url.Parse(before)
	if err != nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" {
		return nil, fmt.Errorf("cannot record before %q: want an URL like http://maas.example:5240/MAAS", before)
	}
	folder, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	p := &Proxy{upstream: upstream, folder: folder, mask: NewMask(), log: report, users: map[string]bool{}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: transport, ModifyResponse: p.answered, ErrorHandler: p.failed,
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	return p, nil
}

// URL is what a client takes for MAAS's address where the proxy listens there.
func (p *Proxy) URL(address string) string {
	return "http://" + address + strings.TrimSuffix(path.Clean("/"+p.upstream.Path), "/")
}

// Written is how many exchanges were written.
func (p *Proxy) Written() int { return p.folder.count() }

// call is an exchange that is under way.
type call struct {
	request *http.Request
	sent    *kept
	started time.Time
}

type callKey struct{}

// ServeHTTP passes a request on, and keeps it with its answer.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{request: r.Clone(context.WithoutCancel(r.Context())), sent: &kept{}, started: time.Now()}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &tee{from: r.Body, to: c.sent}
	}
	p.reverse.ServeHTTP(w, r.WithContext(ctx))
}

// rewrite aims a request at the MAAS. The path stays: clients name /MAAS.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = p.upstream.Scheme, p.upstream.Host
	r.Out.Host = p.upstream.Host
	r.Out.Header.Del("Expect") // the body is read at once
}

// answered keeps an answer while it goes to the client, and writes the exchange
// before the client knows that it is over.
func (p *Proxy) answered(response *http.Response) error {
	c, _ := response.Request.Context().Value(callKey{}).(*call)
	if c == nil {
		return errors.New("an answer without a request")
	}
	if location := response.Header.Get("Location"); strings.HasPrefix(location, p.upstream.Scheme+"://"+p.upstream.Host+"/") {
		response.Header.Set("Location", strings.TrimPrefix(location, p.upstream.Scheme+"://"+p.upstream.Host))
	}
	got := &kept{}
	header, status := response.Header.Clone(), response.StatusCode
	response.Body = &tee{from: response.Body, to: got, end: sync.OnceFunc(func() {
		p.write(c, status, header, got)
	})}
	return nil
}

// failed answers 502 where the MAAS cannot be reached.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		p.log(fmt.Errorf("%s %s was not answered: %w", r.Method, r.URL.Path, err))
	}
	http.Error(w, fmt.Sprintf("The recorder cannot reach the MAAS before which it stands: %v", err), http.StatusBadGateway)
}

// kept is the beginning of a body.
type kept struct {
	mu    sync.Mutex
	start bytes.Buffer
	size  int64
}

func (k *kept) add(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.size += int64(len(b))
	if room := mostKept - k.start.Len(); room > 0 {
		k.start.Write(b[:min(room, len(b))])
	}
}

// content is the body, or false where it was too long to be kept.
func (k *kept) content() ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.start.Bytes()), k.size <= mostKept
}

// tee keeps what is read, and says once when that ends.
type tee struct {
	from io.ReadCloser
	to   *kept
	end  func()
}

// Read reads on, and keeps it.
func (t *tee) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	t.to.add(b[:n])
	if err != nil && t.end != nil {
		t.end()
	}
	return n, err
}

// Close ends it, too: a client may go away in the middle.
func (t *tee) Close() error {
	if t.end != nil {
		t.end()
	}
	return t.from.Close()
}

// unzipped is a body as it was before it was compressed for the way.
func unzipped(header http.Header, body []byte) ([]byte, error) {
	if !strings.EqualFold(header.Get("Content-Encoding"), "gzip") {
		return body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, mostKept+1))
	if err == nil && len(plain) > mostKept {
		err = errors.New("it is too long")
	}
	return plain, err
}

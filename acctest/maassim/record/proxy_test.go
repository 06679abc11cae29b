package record_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// behind starts a proxy before a handler, and gives its URL and its folder.
func behind(t *testing.T, maas http.Handler) (proxyURL, dir string) {
	t.Helper()
	upstream := httptest.NewTLSServer(maas)
	t.Cleanup(upstream.Close)
	dir = filepath.Join(t.TempDir(), "new", "folder")
	transport := upstream.Client().Transport.(*http.Transport).Clone()
	transport.DisableCompression = true
	proxy, err := record.New(upstream.URL+"/MAAS", dir, transport, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL, dir
}

func recorded(t *testing.T, dir string) []recording.Exchange {
	t.Helper()
	stories, err := recording.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return stories[0].Exchanges
}

func send(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func request(t *testing.T, method, url, kind string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// TestProxyForms checks that each kind of body reaches the MAAS as it was sent,
// and is recorded.
func TestProxyForms(t *testing.T) {
	t.Parallel()
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	_ = w.WriteField("name", "zone-a")
	file, _ := w.CreateFormFile("content", "image.bin")
	_, _ = file.Write([]byte{0, 0xff, 0xfe})
	_ = w.Close()
	cases := map[string]struct {
		kind, body string
		form       string // as it is recorded
	}{
		"URLEncoded": {"application/x-www-form-urlencoded", "a=1&a=2&b=x", `{"a":["1","2"],"b":"x"}`},
		"Multipart":  {w.FormDataContentType(), parts.String(), `{"content":"<3 BYTES>","name":"zone1"}`},
		"JSON":       {"application/json", `{"password":"sesame"}`, `"{\"password\":\"<LXD TRUST PASSWORD>\"}"`},
		"Broken":     {"multipart/form-data; boundary=x", "no parts", `"no parts"`},
		"Binary":     {"application/octet-stream", "\xff\xfe", `{}`},
		"Nothing":    {"", "", `{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != tc.body {
					t.Errorf("the MAAS got %q, want %q", body, tc.body)
				}
				fmt.Fprint(w, "done")
			}))
			r := request(t, "POST", url+"/MAAS/api/2.0/zones/", tc.kind, strings.NewReader(tc.body))
			r.Header.Set("Expect", "100-continue")
			if status, body := send(t, r); status != http.StatusOK || body != "done" {
				t.Errorf("got %d %q", status, body)
			}
			var got bytes.Buffer
			e := recorded(t, dir)[0]
			got.Write(bytes.ReplaceAll(bytes.ReplaceAll(e.Request.Form, []byte("\n"), nil), []byte(" "), nil))
			if want := strings.ReplaceAll(tc.form, " ", ""); got.String() != want {
				t.Errorf("the form is %s, want %s", got.String(), want)
			}
		})
	}
}

// TestProxyGzip checks that a compressed answer reaches the client as it is, and
// is recorded in clear, without its secrets.
func TestProxyGzip(t *testing.T) {
	t.Parallel()
	url, dir := behind(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, `{"token_secret": "hushhush", "size": 8000.0}`)
		_ = z.Close()
	}))
	if _, body := send(t, request(t, "GET", url+"/MAAS/api/2.0/account/", "", nil)); !strings.Contains(body, "hushhush") {
		t.Errorf("the client got %q", body)
	}
	if got := strings.Join(strings.Fields(string(recorded(t, dir)[0].Response.Body)), ""); got != `{"size":8000.0,"token_secret":"<SECRET>"}` {
		t.Errorf("recorded is %s", got)
	}
}

// TestProxyStreams checks that the client reads an answer while it comes.
func TestProxyStreams(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	url, dir := behind(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "begin ")
		w.(http.Flusher).Flush()
		<-goOn
		fmt.Fprint(w, "end")
	}))
	response, err := http.DefaultClient.Do(request(t, "GET", url+"/MAAS/api/2.0/version/", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	begin := make([]byte, 6)
	if _, err := io.ReadFull(response.Body, begin); err != nil || string(begin) != "begin " {
		t.Errorf("got %q %v", begin, err)
	}
	close(goOn)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "end" {
		t.Errorf("got %q %v", rest, err)
	}
	if got := string(recorded(t, dir)[0].Response.Body); got != `"begin end"` {
		t.Errorf("recorded is %s", got)
	}
}

// TestProxyCrowd checks that many calls at once are each recorded once and whole.
func TestProxyCrowd(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("word ", 4_000)
	url, dir := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, large)
	}))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { send(t, request(t, "PUT", url+"/MAAS/api/2.0/files/", "text/plain", strings.NewReader(large))) })
	}
	all.Wait()
	seen := map[int]bool{}
	for _, e := range recorded(t, dir) {
		seen[e.Number] = true
		if len(e.Response.Body) != len(large)+2 || len(e.Request.Form) != len(large)+2 {
			t.Errorf("%s has %d and %d bytes", e, len(e.Request.Form), len(e.Response.Body))
		}
	}
	if len(seen) != 20 || !seen[1] || !seen[20] {
		t.Errorf("the numbers are %v", seen)
	}
}

// TestProxyWithoutMAAS checks the answer where no MAAS is behind the proxy.
func TestProxyWithoutMAAS(t *testing.T) {
	t.Parallel()
	nobody := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, fmt.Errorf("nobody is there")
	}}
	var problems []error
	proxy, err := record.New("https://maas.test:5443/MAAS", t.TempDir(), nobody, func(err error) { problems = append(problems, err) })
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	proxy.ServeHTTP(w, httptest.NewRequest("GET", "/MAAS/api/2.0/version/", nil))
	if w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "cannot reach the MAAS") || len(problems) != 1 {
		t.Errorf("got %d %q and %v", w.Code, w.Body, problems)
	}
}

// TestProxyGoesOn checks that a second run numbers behind the first.
func TestProxyGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") }))
	defer upstream.Close()
	for range 2 {
		proxy, err := record.New(upstream.URL, dir, http.DefaultTransport, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		proxy.ServeHTTP(w, httptest.NewRequest("GET", "/MAAS/api/2.0/version/", nil))
		if w.Body.String() != "yes" || proxy.Written() != 1 {
			t.Errorf("got %q, %d written", w.Body, proxy.Written())
		}
	}
	if all := recorded(t, dir); len(all) != 2 || all[1].Number != 2 || time.Duration(all[1].Response.Elapsed) < 0 {
		t.Errorf("recorded are %v", all)
	}
}

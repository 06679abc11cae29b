package record_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
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

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// startProxy starts a proxy in front of a handler and returns its URL and its folder.
func startProxy(t *testing.T, maas http.Handler) (proxyURL, dir string) {
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

func loadExchanges(t *testing.T, dir string) []recording.Exchange {
	t.Helper()
	stories, err := recording.LoadStories(dir)
	if err != nil {
		t.Fatal(err)
	}
	return stories[0].Exchanges
}

// ownClient has its own connections. httptest.Server.Close closes those of the default
// transport, which other tests use.
func ownClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func sendRequest(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	response, err := ownClient(t).Do(r)
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

func newTestRequest(t *testing.T, method, url, kind string, body io.Reader) *http.Request {
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

// TestProxyForms checks that each kind of body reaches the MAAS unchanged and is recorded.
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
		"URLEncoded": {"application/x-www-form-urlencoded", "cores=1&cores=2&mode=auto", `{"cores":["1","2"],"mode":"auto"}`},
		"Multipart":  {w.FormDataContentType(), parts.String(), `{"content":"text 1","name":"zone1"}`},
		"JSON":       {"application/json", `{"password":"sesame"}`, `"{\"password\":\"<LXD TRUST PASSWORD>\"}"`},
		"Broken":     {"multipart/form-data; boundary=x", "no parts", `{}`},
		"Binary":     {"application/octet-stream", "\xff\xfe", `{}`},
		"Nothing":    {"", "", `{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != tc.body {
					t.Errorf("the MAAS got %q, want %q", body, tc.body)
				}
				fmt.Fprint(w, "done")
			}))
			r := newTestRequest(t, "POST", url+"/MAAS/api/2.0/zones/", tc.kind, strings.NewReader(tc.body))
			r.Header.Set("Expect", "100-continue")
			if status, body := sendRequest(t, r); status != http.StatusOK || body != "done" {
				t.Errorf("got %d %q", status, body)
			}
			var got bytes.Buffer
			e := loadExchanges(t, dir)[0]
			got.Write(bytes.ReplaceAll(bytes.ReplaceAll(e.Request.Form, []byte("\n"), nil), []byte(" "), nil))
			if want := strings.ReplaceAll(tc.form, " ", ""); got.String() != want {
				t.Errorf("the form is %s, want %s", got.String(), want)
			}
		})
	}
}

// TestProxyGzip checks that a compressed answer reaches the client unchanged, and is
// recorded uncompressed without secrets.
func TestProxyGzip(t *testing.T) {
	t.Parallel()
	url, dir := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, `{"token_secret": "hushhush", "size": 8000.0}`)
		_ = z.Close()
	}))
	if _, body := sendRequest(t, newTestRequest(t, "GET", url+"/MAAS/api/2.0/account/", "", nil)); !strings.Contains(body, "hushhush") {
		t.Errorf("the client got %q", body)
	}
	if got := strings.Join(strings.Fields(string(loadExchanges(t, dir)[0].Response.Body)), ""); got != `{"size":8000.0,"token_secret":"<SECRET>"}` {
		t.Errorf("recorded is %s", got)
	}
}

// TestProxyStreams checks that the client can read an answer before its end.
func TestProxyStreams(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	url, dir := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "begin ")
		w.(http.Flusher).Flush()
		<-goOn
		fmt.Fprint(w, "end")
	}))
	response, err := ownClient(t).Do(newTestRequest(t, "GET", url+"/MAAS/api/2.0/version/", "", nil))
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
	if got := string(loadExchanges(t, dir)[0].Response.Body); got != `"begin end"` {
		t.Errorf("recorded is %s", got)
	}
}

// TestProxyCrowd checks that each of many simultaneous calls is recorded once, with its
// own answer.
func TestProxyCrowd(t *testing.T) {
	t.Parallel()
	url, dir := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `[%s%s]`, strings.Repeat(`{"size": 1},`, 4_000), strings.TrimPrefix(r.PostFormValue("vid"), "vid"))
	}))
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			sendRequest(t, newTestRequest(t, "PUT", url+"/MAAS/api/2.0/vlans/1/", "application/x-www-form-urlencoded", strings.NewReader(fmt.Sprint("vid=", n))))
		})
	}
	all.Wait()
	seen := map[int]bool{}
	for _, e := range loadExchanges(t, dir) {
		seen[e.Number] = true
		var answer []any
		if err := json.Unmarshal(e.Response.Body, &answer); err != nil || len(answer) != 4_001 {
			t.Fatalf("%s has %d entries, %v", e, len(answer), err)
		}
		if form := e.FormValues().Get("vid"); form != fmt.Sprint(answer[4_000]) {
			t.Errorf("%s: vid=%s has the answer of %v", e, form, answer[4_000])
		}
	}
	if len(seen) != 20 || !seen[1] || !seen[20] {
		t.Errorf("the numbers are %v", seen)
	}
}

// TestProxyWithoutMAAS checks the answer if the proxy cannot reach a MAAS.
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
	if w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "cannot reach its MAAS") || len(problems) != 1 {
		t.Errorf("got %d %q and %v", w.Code, w.Body, problems)
	}
}

// TestProxyWantsEmptyFolder checks that a second run cannot use the folder of the first,
// because its placeholders have other meanings.
func TestProxyWantsEmptyFolder(t *testing.T) {
	t.Parallel()
	url, dir := startProxy(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") }))
	sendRequest(t, newTestRequest(t, "GET", url+"/MAAS/api/2.0/version/", "", nil))
	if _, err := record.New(url, dir, http.DefaultTransport, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("the second run got %v", err)
	}
	if all := loadExchanges(t, dir); len(all) != 1 {
		t.Errorf("recorded are %v", all)
	}
}

// TestProxySignedAddress checks that a MAAS sees the address that its client signs with
// HMAC, if that is possible. For all other requests it sees its own address.
func TestProxySignedAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, upstream, method string
		want                     string // the address that MAAS sees
		told                     bool
	}{
		"HMAC":      {"the signature covers it", "http://maas.test:5240", "HMAC-SHA1", "proxy.test", false},
		"Plaintext": {"a server before MAAS may go by its name", "http://maas.test:5240", "PLAINTEXT", "maas.test:5240", false},
		"TLS":       {"the signature covers https, too: it cannot be right", "https://maas.test:5443", "HMAC-SHA1", "maas.test:5443", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var problems []error
			maas := transportFunc(func(r *http.Request) (*http.Response, error) {
				if r.Host != tc.want || r.URL.Host != strings.Split(tc.upstream, "/")[2] {
					t.Errorf("%s: MAAS sees %q at %q, want %q", tc.reason, r.Host, r.URL.Host, tc.want)
				}
				w := httptest.NewRecorder()
				w.WriteHeader(http.StatusUnauthorized)
				answer := w.Result()
				answer.Request = r
				return answer, nil
			})
			proxy, err := record.New(tc.upstream+"/MAAS", t.TempDir(), maas, func(err error) { problems = append(problems, err) })
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r := httptest.NewRequest("GET", "http://proxy.test/MAAS/api/2.0/version/", nil)
				r.Header.Set("Authorization", fmt.Sprintf(`OAuth oauth_signature_method="%s", oauth_signature="x"`, tc.method))
				proxy.ServeHTTP(httptest.NewRecorder(), r)
			}
			if tc.told && (len(problems) != 1 || !strings.Contains(problems[0].Error(), "signs the recorder's address")) || !tc.told && len(problems) > 0 {
				t.Errorf("%s: reported are %v", tc.reason, problems)
			}
		})
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestProxyFinish checks that a name is masked in earlier exchanges, too, after a later
// one revealed it. Placeholders must stay.
func TestProxyFinish(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "zones") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `[{"name": "zone1"}, {"name": "berlin"}, {"name": "api"}]`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "Nothing is in berlin but zone1.")
	}))
	defer upstream.Close()
	dir := filepath.Join(t.TempDir(), "taken")
	proxy, err := record.New(upstream.URL, dir, ownClient(t).Transport, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"machines/", "zones/"} {
		proxy.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/MAAS/api/2.0/"+path, nil))
	}
	for range 2 {
		if err := proxy.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	all := loadExchanges(t, dir)
	if got, want := string(all[0].Response.Body), `"Nothing is in zone2 but zone1."`; got != want {
		t.Errorf("recorded is %s, want %s", got, want)
	}
	if path := all[1].Request.Path; path != "/MAAS/api/2.0/zones/" {
		t.Errorf("the path is %s", path)
	}
}

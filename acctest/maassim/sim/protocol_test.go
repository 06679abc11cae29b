package sim_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestCredentials checks the 401 for each error in OAuth.
func TestCredentials(t *testing.T) {
	t.Parallel()
	k := strings.Split(sim.DefaultAdminKey, ":")
	old := fmt.Sprint(time.Now().Add(-10 * time.Minute).Unix())
	cases := map[string]struct {
		reason string
		header func(string) string
		status int
		text   string
	}{
		"Right":        {"The plain case.", func(h string) string { return h }, 200, "[]"},
		"None":         {"Without OAuth the answer has no message.", func(string) string { return "" }, 401, "Forbidden"},
		"Bearer":       {"Not OAuth.", func(string) string { return "Bearer x" }, 401, "Forbidden"},
		"Consumer":     {"Unknown consumer.", replaceHeaderText(k[0], "nobody"), 401, "Authorization Error: Invalid API key."},
		"Token":        {"Unknown token.", replaceHeaderText(k[1], "nothing"), 401, "Authorization Error: 'Invalid access token: nothing'"},
		"Secret":       {"MAAS echoes the real secret.", replaceHeaderText(k[2], "guess"), 401, "'Invalid signature. Expected signature base string: &" + k[2] + "'"},
		"Method":       {"Two methods are known.", replaceHeaderText("PLAINTEXT", "RSA-SHA1"), 401, "'Signature method RSA-SHA1 not supported try one of the following: PLAINTEXT, HMAC-SHA1'"},
		"OldTimestamp": {"Old timestamps are refused.", replaceTimestamp(old), 401, "has a greater difference than threshold 300'"},
		"Future":       {"Timestamps of the future are accepted.", replaceTimestamp("9999999999"), 200, "[]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{})
			r := c.request("GET", "vm-hosts/", nil)
			r.Header.Set("Authorization", tc.header(r.Header.Get("Authorization")))
			wantStatus(t, c.send(r), tc.status, tc.text)
			if again := c.send(r); tc.status == 200 {
				wantStatus(t, again, 401, "'Nonce already used: ")
			}
		})
	}
}

func replaceHeaderText(old, with string) func(string) string {
	return func(h string) string { return strings.Replace(h, old, with, 1) }
}

func replaceTimestamp(to string) func(string) string {
	return func(h string) string {
		before, _, _ := strings.Cut(h, `oauth_timestamp="`)
		return before + `oauth_timestamp="` + to + `"`
	}
}

// TestCallTakesItsTime has an effect after half of the call's latency, and the answer after
// all of it.
func TestCallTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newMAASClient(t, sim.Model{Latency: sim.Latency{Call: 20 * time.Millisecond}})
		began, written := time.Now(), make(chan outcome, 1)
		go func() { written <- c.call("POST", "zones/", "name=north") }()
		time.Sleep(5 * time.Millisecond)
		early := c.call("GET", "zones/north/")
		if took := time.Since(began); took != 25*time.Millisecond {
			t.Errorf("a read that began after 5 ms was answered after %v, not 25 ms", took)
		}
		wantStatus(t, early, 200, "north")
		wantStatus(t, <-written, 200, "north")
	})
}

// TestHMAC signs as RFC 5849 demands, with a query and an urlencoded body. The body of a
// PUT is not signed. The operation may be a field of the body.
func TestHMAC(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, sim.Model{})
	form := url.Values{"name": {"z 1"}, "description": {"a&b"}}
	wantStatus(t, c.send(signedRequest(c, "POST", "zones/", form)), 200, `/zones/z%201/`)
	wantStatus(t, c.send(signedRequest(c, "GET", "users/?op=whoami", nil)), 200, "admin")
	wantStatus(t, c.send(signedRequest(c, "POST", "users/", url.Values{"op": {"whoami"}})), 400, "Unrecognised signature: method=POST op=whoami")
	wantStatus(t, c.send(signedRequest(c, "POST", "machines/", url.Values{"op": {"allocate"}, "name": {"nobody"}})), 409, "constraints: [('name', ['nobody'])]")
	wantStatus(t, c.send(signedRequest(c, "PUT", "zones/default/", url.Values{"description": {"c"}})), 200, `"description":"c"`)
	bad := signedRequest(c, "GET", "zones/", nil)
	bad.URL.RawQuery = "x=1"
	wantStatus(t, c.send(bad), 401, "Invalid signature.")
}

func signedRequest(c *maasClient, method, path string, form url.Values) *http.Request {
	r := c.request(method, path, form)
	k := strings.Split(c.key, ":")
	params := url.Values{
		"oauth_consumer_key": {k[0]}, "oauth_token": {k[1]}, "oauth_signature_method": {"HMAC-SHA1"},
		"oauth_nonce": {fmt.Sprint("h", nonces.Add(1))}, "oauth_timestamp": {fmt.Sprint(time.Now().Unix())}, "oauth_version": {"1.0"},
	}
	var pairs, fields []string
	esc := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	body := form
	if method == "PUT" {
		body = nil // MAAS does not sign it
	}
	for _, values := range []url.Values{params, r.URL.Query(), body} {
		for name := range values {
			pairs = append(pairs, esc(name)+"="+esc(values.Get(name)))
		}
	}
	slices.Sort(pairs)
	base := method + "&" + esc("http://maas.test"+r.URL.Path) + "&" + esc(strings.Join(pairs, "&"))
	mac := hmac.New(sha1.New, []byte("&"+esc(k[2])))
	mac.Write([]byte(base))
	params.Set("oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for name := range params {
		fields = append(fields, name+`="`+esc(params.Get(name))+`"`)
	}
	r.Header.Set("Authorization", "OAuth "+strings.Join(fields, ", "))
	return r
}

// TestRouting checks MAAS's answers to wrong paths, methods and users.
func TestRouting(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, method, path string
		user                 bool
		status               int
		text                 string
	}{
		"NoSlash":    {"MAAS does not redirect.", "GET", "vm-hosts", false, 404, "Unknown API endpoint: /MAAS/api/2.0/vm-hosts."},
		"Unknown":    {"No such resource.", "GET", "nothing/", false, 404, "Unknown API endpoint"},
		"NoHost":     {"GET has its own message.", "GET", "vm-hosts/99/", false, 404, "Not Found"},
		"NoHostPUT":  {"Other methods call it a pod.", "PUT", "vm-hosts/99/", false, 404, "No Pod matches the given query."},
		"NotANumber": {"MAAS has an internal error.", "GET", "vm-hosts/x/", false, 500, "Field 'id' expected a number but got 'x'."},
		"Method":     {"A collection has no PUT.", "PUT", "vm-hosts/", false, 405, ""},
		"HEAD":       {"MAAS knows no HEAD.", "HEAD", "vm-hosts/", false, 405, ""},
		"Op":         {"Known path, unknown op.", "GET", "vm-hosts/?op=no", false, 400, "Unrecognised signature: method=GET op=no"},
		"Format":     {"JSON only.", "GET", "zones/?format=xml", false, 400, "Invalid output format specified 'xml'."},
		"UserReads":  {"Reading is for all.", "GET", "vm-hosts/", true, 200, "["},
		"UserWrites": {"Users cannot compose.", "POST", "vm-hosts/1/?op=compose", true, 403, "This method is reserved for admin users."},
		"UserEdits":  {"No permission on the object: no body.", "DELETE", "machines/{m}/", true, 403, ""},
		"Filter":     {"An unknown filter is an error, an unknown parameter is not.", "GET", "machines/?x=1", false, 400, `{"x":["No such constraint."]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, oneHost())
			path := strings.Replace(tc.path, "{m}", c.sim.Machines()[0].SystemID, 1)
			if tc.user {
				c.key = c.sim.UserAPIKey()
			}
			wantStatus(t, c.call(tc.method, path), tc.status, tc.text)
		})
	}
}

// TestFormEncodings reads a form in each encoding that MAAS accepts.
func TestFormEncodings(t *testing.T) {
	t.Parallel()
	var parts bytes.Buffer
	w := multipart.NewWriter(&parts)
	if err := w.WriteField("name", "z1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for kind, body := range map[string]string{
		"application/x-www-form-urlencoded": "name=z1",
		"application/json":                  `{"name": "z1"}`,
		w.FormDataContentType():             parts.String(),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := newMAASClient(t, sim.Model{})
			r, err := http.NewRequestWithContext(t.Context(), "POST", c.base+"/api/2.0/zones/", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", plaintext(c.key))
			r.Header.Set("Content-Type", kind)
			wantStatus(t, c.send(r), 200, `"name":"z1"`)
		})
	}
}

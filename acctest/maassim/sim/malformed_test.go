package sim

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/surface"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// malformed are bodies that contradict their content type, with MAAS's answers.
var malformed = map[string]struct {
	reason, kind, body string
	status             int // 0 if MAAS treats the body as empty
	text               string
}{
	"JSON":            {"The JSON is incomplete.", "application/json", `{"name":`, 400, "Bad Request"},
	"EmptyJSON":       {"An empty body is not valid JSON.", "application/json", "", 400, "Bad Request"},
	"JSONTwice":       {"Two JSON values are not valid JSON.", "application/json", `{} {}`, 400, "Bad Request"},
	"JSONNotUTF8":     {"Python cannot decode it.", "application/json", "{\"name\": \"\xff\"}", 400, "Bad Request"},
	"JSONList":        {"A list has no fields.", "application/json", `[1]`, 500, "'list' object has no attribute 'get'"},
	"JSONNull":        {"null has no fields.", "application/json", `null`, 500, "'NoneType' object has no attribute 'get'"},
	"JSONText":        {"A JSON text has no fields.", "application/json; charset=utf-8", `"x"`, 500, "'str' object has no attribute 'get'"},
	"XML":             {"MAAS reads no XML.", "text/xml", "<a/>", 500, "'NoneType' object has no attribute 'get'"},
	"TypeUnreadable":  {"A body with an invalid content type has no fields.", "x/", "a=b", 500, "'NoneType' object has no attribute 'get'"},
	"NoBoundary":      {"Parts cannot be told apart.", "multipart/form-data", "--x\r\n", 500, "Invalid boundary in multipart: None"},
	"Fields":          {"A form has so many fields at most.", "application/x-www-form-urlencoded", strings.Repeat("a=&", 1001), 500, "The number of GET/POST parameters exceeded"},
	"Truncated":       {"The existing beginning of a part counts.", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"zzz\"\r\n\r\nab", 0, ""},
	"PartWithoutName": {"A part without a name is ignored.", "multipart/form-data; boundary=x", "--x\r\n\r\nab\r\n--x--\r\n", 0, ""},
	"Escapes":         {"An invalid escape is plain text.", "application/x-www-form-urlencoded", "zzz=%zz%&%=%ff;&&=", 0, ""},
	"NoType":          {"A body without a type has no fields.", "", "name=x", 0, ""},
}

// malformedRequest is a signed request of an operation. All ids in its path are 1.
func malformedRequest(o surface.Operation, value, kind, body string) *http.Request {
	r := signedRequest(o.Method, strings.ReplaceAll(surface.Shape(o.Path), "{}", url.PathEscape(value))+"?op="+o.Op, nil, int(surfaceNonce.Add(1)))
	plain := httptest.NewRequest(o.Method, r.URL.String(), strings.NewReader(body))
	plain.Header = r.Header
	plain.Header.Set("Content-Type", kind)
	if kind == "" {
		plain.Header.Del("Content-Type")
	}
	return plain
}

// TestMalformedBodies sends each malformed body to each operation. The answer must be
// MAAS's, and no handler may panic.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	for name, tc := range malformed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Model{MAASVersion: versions.V36, Hosts: []HostModel{{Name: "h1", Cores: 4, MemoryMiB: 8192}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			for _, o := range surface.Operations() {
				if !o.ExistsIn(versions.V36) || o.Method != http.MethodPost && o.Method != http.MethodPut {
					continue
				}
				answer := httptest.NewRecorder()
				s.ServeHTTP(answer, malformedRequest(o, "1", tc.kind, tc.body))
				got := answer.Body.String()
				if strings.HasPrefix(got, world.BugText) {
					t.Errorf("%s: %s", o, got)
				}
				if tc.status != 0 && (answer.Code != tc.status || !strings.HasPrefix(got, tc.text)) {
					t.Errorf("%s %s: %d %s, want %d %s", tc.reason, o, answer.Code, got, tc.status, tc.text)
				}
			}
		})
	}
}

// TestMalformedAfterCredentials: a caller without permission learns nothing about the
// body. But nginx checks its size first.
func TestMalformedAfterCredentials(t *testing.T) {
	t.Parallel()
	s, err := New(Model{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for reason, tc := range map[string]struct {
		size, status int
		signed       bool
	}{
		"no credentials": {10, 401, false},
		"too large":      {10<<20 + 1, 413, false},
		"just not":       {10 << 20, 400, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://maas.test"+rest.APIRoot+"zones/", bytes.NewReader(make([]byte, tc.size)))
		if tc.signed {
			r.Header = signedRequest(http.MethodPost, "zones/", nil, int(surfaceNonce.Add(1))).Header
		}
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		if s.ServeHTTP(answer, r); answer.Code != tc.status {
			t.Errorf("%s: %d %s, want %d", reason, answer.Code, answer.Body, tc.status)
		}
	}
}

// FuzzOperations calls any operation of any version with any path, content type and body.
// No handler may panic.
func FuzzOperations(f *testing.F) {
	for i, value := range []string{"1", "0", "-1", "99999999999999999999", "x", "a/b", "\x00", "\xff", "é", " ", "..", "op-x", "%2F", "10.77.0.0/24"} {
		f.Add(uint16(i*29), uint8(i), value, "application/x-www-form-urlencoded", []byte("name=%ff&id=1"))
	}
	for _, tc := range malformed {
		f.Add(uint16(len(tc.body)), uint8(2), "1", tc.kind, []byte(tc.body))
	}
	sims := map[string]*Sim{}
	for _, v := range versions.Names() {
		s, err := New(Model{MAASVersion: v, Hosts: []HostModel{{Name: "h1", Cores: 4, MemoryMiB: 8192}}, Machines: []MachineModel{{Hostname: "metal1"}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(s.Close)
		sims[v] = s
	}
	f.Fuzz(func(t *testing.T, operation uint16, version uint8, value, kind string, body []byte) {
		all := surface.Operations()
		o, s := all[int(operation)%len(all)], sims[versions.Names()[int(version)%len(versions.Names())]]
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, malformedRequest(o, value, kind, string(body)))
		if strings.HasPrefix(answer.Body.String(), world.BugText) {
			t.Fatalf("%s %q %q %q: %s", o, value, kind, body, answer.Body)
		}
	})
}

package lxd

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// sentinelNames of an error, by name.
func sentinelNames(err error) string {
	var names []string
	for name, sentinel := range map[string]error{
		"ErrUnavailable": engine.ErrUnavailable, "ErrForbidden": engine.ErrForbidden, "ErrOtherServer": engine.ErrOtherServer,
		"ErrInvalid": engine.ErrInvalid, "ErrNotFound": engine.ErrNotFound,
	} {
		if errors.Is(err, sentinel) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// shownText returns everything that an error shows to people.
func shownText(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*engine.Error](err); ok {
		text += "\n" + e.Hint
	}
	if e, ok := errors.AsType[*engine.SpecError](err); ok {
		text += "\n" + e.Hint
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		text += "\n" + e.Hint
	}
	return text
}

// checkNoSecret searches a text for each line of a private key.
func checkNoSecret(t *testing.T, text string, key fleetkey.Key) {
	t.Helper()
	for line := range strings.Lines(key.Key) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && strings.Contains(text, line) {
			t.Errorf("a line of the private key is shown:\n%s", text)
		}
	}
}

func TestProbeServer(t *testing.T) {
	t.Parallel()
	admin, tenant := makeKey(t), makeKey(t)
	f := startFakeLXD(t, map[string][]string{admin.Fingerprint: {unrestricted}, tenant.Fingerprint: {"maas"}})
	cases := map[string]struct {
		reason  string
		key     fleetkey.Key
		project string
		pin     string
		want    []string // instances
	}{
		"Unrestricted":   {"All instances count, containers too.", admin, "maas", "", []string{"container-1", "vm-2"}},
		"Restricted":     {"That is how hosts trust us.", tenant, "maas", "", []string{"container-1", "vm-2"}},
		"DefaultProject": {"An LXD without projects of its own.", admin, "", "", []string{}},
		"Pinned":         {"The certificate is still the one.", tenant, "maas", f.fingerprint(t), []string{"container-1", "vm-2"}},
		"PinnedByOpenSSL": {"OpenSSL writes fingerprints otherwise.", tenant, "maas",
			strings.ToUpper(strings.TrimSuffix(withColons(f.fingerprint(t)), ":")), []string{"container-1", "vm-2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewProber(Config{UserAgent: "maaslxd/test"})
			got, err := p.Server(t.Context(), endpoint("https://"+f.address()+"/", tc.project), tc.key.Credentials, tc.pin)
			if err != nil {
				t.Fatalf("%s: %s", tc.reason, shownText(err))
			}
			want := engine.LXDServer{
				Version: "5.0.2", Instances: tc.want, StoragePools: []string{"fast", "local"}, Fingerprint: f.fingerprint(t),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// withColons puts a colon after every two digits.
func withColons(hex string) string {
	var b strings.Builder
	for n, digit := range hex {
		b.WriteRune(digit)
		if n%2 == 1 {
			b.WriteByte(':')
		}
	}
	return b.String()
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	admin, tenant, stranger := makeKey(t), makeKey(t), makeKey(t)
	trust := map[string][]string{admin.Fingerprint: {unrestricted}, tenant.Fingerprint: {"maas"}}
	say := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			w.Write([]byte(text))
		}
	}
	no := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { writeRefusal(w, status) }
	}
	old := func(f *fakeLXD) { f.extensions = []string{"projects", "instances", "storage"} }
	cases := map[string]struct {
		reason  string
		change  func(*fakeLXD)
		key     fleetkey.Key
		project string
		kind    string
		typed   engine.ErrorType
		message string
	}{
		"Untrusted": {"LXD lets anyone connect, and says so.", nil, stranger, "maas", "ErrForbidden", engine.HostUnavailable,
			"does not trust the client certificate " + stranger.Fingerprint},
		"ProjectMissing": {"404: who may see all is told that it is not there.", nil, admin, "nope", "", engine.ProjectNotFound, `no project "nope"`},
		"ProjectHidden":  {"403: who may not see it is not told whether it is there.", nil, tenant, "default", "", engine.ProjectNotFound, `no project "default"`},
		"ProjectGone":    {"Deleted between two calls.", answerAt("/1.0/instances", no(404)), admin, "maas", "", engine.ProjectNotFound, `no project "maas"`},
		"TooOld":         {"MAAS cannot compose on it.", old, admin, "maas", "ErrInvalid", engine.HostUnavailable, "too old"},
		"PoolsForbidden": {"A finer permission than ours.", answerAt("/1.0/storage-pools", no(403)), admin, "maas", "ErrForbidden", engine.HostUnavailable, "answered 403"},
		"Broken":         {"Its database is locked.", answerAt("/1.0/storage-pools", no(500)), admin, "maas", "ErrUnavailable", engine.HostUnavailable, "answered 500"},
		"Starting":       {"Its daemon is not ready.", answerAt("/1.0", no(503)), admin, "maas", "ErrUnavailable", engine.HostUnavailable, "answered 503"},
		"HTML":           {"A web server listens there.", answerAt("/1.0", say(200, "<html>")), admin, "maas", "ErrUnavailable", engine.HostUnavailable, "is not an LXD"},
		"OtherJSON":      {"Another API listens there.", answerAt("/1.0", say(200, "{}")), admin, "maas", "ErrUnavailable", engine.HostUnavailable, "is not an LXD"},
		"OtherMetadata":  {"One that looks alike.", answerAt("/1.0", say(200, `{"type":"sync","metadata":{}}`)), admin, "maas", "ErrUnavailable", engine.HostUnavailable, "is not an LXD"},
		"OtherList": {"One that looks more alike.", answerAt("/1.0/storage-pools", func(w http.ResponseWriter, _ *http.Request) { writeAnswer(w, []string{"/a-secret"}) }),
			admin, "maas", "ErrUnavailable", engine.HostUnavailable, "is not an LXD"},
		"Redirect": {"Nothing is sent elsewhere.", answerAt("/1.0", say(307, `{"type":"sync","metadata":{"api_version":"1.0"}}`)), admin, "maas", "ErrUnavailable", engine.HostUnavailable, "is not an LXD"},
		"Endless": {"An answer without bounds would take all memory.", answerAt("/1.0", say(200, strings.Repeat(" ", answerLimits.Bytes)+`{"type":"sync","metadata":{"api_version":"1.0"}}`)), admin, "maas", "ErrUnavailable",
			engine.HostUnavailable, "is not an LXD"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFakeLXD(t, trust)
			if tc.change != nil {
				tc.change(f)
			}
			got, err := NewProber(Config{Timeout: time.Minute}).Server(t.Context(), endpoint(f.address(), tc.project), tc.key.Credentials, "")
			e, ok := errors.AsType[*engine.Error](err)
			if !ok || e.Type != tc.typed || sentinelNames(err) != tc.kind || e.Hint == "" {
				t.Fatalf("%s: got %v, sentinels %q, hint of %#v", tc.reason, err, sentinelNames(err), e)
			}
			if !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Message, f.address()) {
				t.Errorf("%s: message %q, want %q and the address", tc.reason, e.Message, tc.message)
			}
			if strings.Contains(shownText(err), "own words") {
				t.Errorf("LXD's words are passed on unread: %s", shownText(err))
			}
			if diff := cmp.Diff(engine.LXDServer{}, got); diff != "" {
				t.Errorf("half a server beside an error: %s", diff)
			}
			checkNoSecret(t, shownText(err), tc.key)
			if !f.awaitAllClosed() {
				t.Errorf("%d connections stay open", f.open.Load())
			}
		})
	}
}

func TestServerGivenUp(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := startFakeLXD(t, map[string][]string{key.Fingerprint: {"maas"}}, answerAt("/1.0/instances", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	_, err := NewProber(Config{Timeout: time.Minute}).Server(ctx, endpoint(f.address(), "maas"), key.Credentials, "")
	if !errors.Is(err, context.Canceled) || sentinelNames(err) != "" {
		t.Errorf("got %v (%s), want the caller's own end", err, sentinelNames(err))
	}
	if !f.awaitAllClosed() {
		t.Errorf("%d connections stay open", f.open.Load())
	}
}

func TestServerBadInput(t *testing.T) {
	t.Parallel()
	key, other := makeKey(t), makeKey(t)
	cases := map[string]struct {
		reason, address string
		credentials     engine.Credentials
		field           string
	}{
		"Address":     {"LXD's API is HTTPS only.", "http://10.0.0.5:8443", key.Credentials, "address"},
		"OtherKey":    {"Two halves of two pairs.", "10.0.0.5", engine.Credentials{Certificate: key.Certificate, Key: other.Key}, "lxd_client_key"},
		"NoKey":       {"Nothing was given.", "10.0.0.5", engine.Credentials{Certificate: key.Certificate}, "lxd_client_key"},
		"Certificate": {"Nothing was given.", "10.0.0.5", engine.Credentials{Key: key.Key}, "lxd_client_cert"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewProber(Config{Timeout: time.Minute}).Server(t.Context(), endpoint(tc.address, "maas"), tc.credentials, "")
			e, ok := errors.AsType[*engine.SpecError](err)
			if !ok || e.Field.String() != tc.field || e.Hint == "" || !engine.IsTerminal(err) {
				t.Fatalf("%s: got %v, want an error of %s", tc.reason, err, tc.field)
			}
			checkNoSecret(t, shownText(err), key)
			checkNoSecret(t, shownText(err), other)
		})
	}
}

func TestHostPort(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, address, want string }{
		"IPv4":         {"As MAAS shows it.", "10.0.0.5", "10.0.0.5:8443"},
		"Port":         {"As MAAS shows it, too.", "10.0.0.5:18443", "10.0.0.5:18443"},
		"URL":          {"As lxc writes it.", "https://10.0.0.5:8443", "10.0.0.5:8443"},
		"URLNoPort":    {"MAAS adds LXD's port, not that of HTTPS.", "https://10.0.0.5/", "10.0.0.5:8443"},
		"Scheme":       {"Schemes know no case.", "HTTPS://10.0.0.5", "10.0.0.5:8443"},
		"IPv6":         {"Without a port it needs no brackets.", "fd00:0::5", "[fd00::5]:8443"},
		"IPv6Brackets": {"But may have them.", "[fd00::5]", "[fd00::5]:8443"},
		"IPv6Port":     {"With a port it must.", "https://[fd00::5]:443", "[fd00::5]:443"},
		"IPv6Zone":     {"Link-local addresses have one.", "[fe80::1%eth0]:8443", "[fe80::1%eth0]:8443"},
		"Name":         {"Names know no case.", "LXD.example.com", "lxd.example.com:8443"},
		"NamePort":     {"", "lxd.example.com:1", "lxd.example.com:1"},
		"HTTP":         {"LXD does not speak it.", "http://10.0.0.5", ""},
		"Empty":        {"Nothing was given.", "", ""},
		"OnlyPort":     {"No host.", ":8443", ""},
		"PortZero":     {"Nothing can listen there.", "10.0.0.5:0", ""},
		"PortTooBig":   {"No such port.", "lxd:65536", ""},
		"PortWord":     {"No number.", "lxd:https", ""},
		"Path":         {"An API below a path is not LXD's.", "https://lxd/api", ""},
		"Query":        {"What for?", "lxd?project=maas", ""},
		"User":         {"LXD knows no passwords.", "https://me:hunter2@lxd", ""},
		"Space":        {"Mistyped.", "10.0.0.5 8443", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hostPort(tc.address)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s: %q became %q, %v; want %q", tc.reason, tc.address, got, err, tc.want)
			}
			if err != nil && strings.Contains(shownText(err), "hunter2") {
				t.Errorf("the password is shown: %v", err)
			}
		})
	}
}

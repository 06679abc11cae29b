package lxd

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/canonical/lxd/shared"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// fakeLXD implements as much of an LXD as a read needs. Its answers are those of LXD 5.0.2.
type fakeLXD struct {
	*httptest.Server
	certificate string // PEM
	trusted     map[string][]string
	projects    map[string][]string // instances by project
	pools       []string
	extensions  []string
	// instead may answer a request before the handlers below.
	instead func(w http.ResponseWriter, r *http.Request) bool

	requests, accepted, open atomic.Int64
}

// unrestricted marks a certificate that may see all projects.
const unrestricted = "*"

// startFakeLXD starts an LXD with two projects. It trusts the keys, each for the projects
// given with it. change may alter it before it listens.
func startFakeLXD(t *testing.T, trust map[string][]string, change ...func(*fakeLXD)) *fakeLXD {
	t.Helper()
	certificate, pair := serverPair(t)
	f := &fakeLXD{
		certificate: certificate,
		trusted:     trust,
		projects:    map[string][]string{"default": nil, "maas": {"vm-2", "container-1"}},
		pools:       []string{"local", "fast"},
		extensions:  slices.Concat([]string{"storage", "instances"}, NeededExtensions()),
	}
	f.Server = withoutErrorLog(httptest.NewUnstartedServer(f))
	f.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert}
	f.Config.ConnState = f.countConnections
	for _, c := range change {
		c(f)
	}
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// serverPair makes a certificate as LXD does at its first start.
func serverPair(t *testing.T) (string, tls.Certificate) {
	t.Helper()
	certificate, key, err := shared.GenerateMemCert(false, shared.CertOptions{CommonName: "host"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(certificate), pair
}

func withoutErrorLog(s *httptest.Server) *httptest.Server {
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	return s
}

func (f *fakeLXD) countConnections(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.accepted.Add(1)
		f.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		f.open.Add(-1)
	}
}

// address is "host:port".
func (f *fakeLXD) address() string { return f.Listener.Addr().String() }

func (f *fakeLXD) fingerprint(t *testing.T) string {
	t.Helper()
	return fingerprintOf(t, f.certificate)
}

// awaitAllClosed waits until every connection is closed.
func (f *fakeLXD) awaitAllClosed() bool {
	for range 1000 {
		if f.open.Load() == 0 {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func (f *fakeLXD) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	if f.instead != nil && f.instead(w, r) {
		return
	}
	may, known := f.visibleProjects(r)
	sees := func(project string) bool {
		return slices.Contains(may, unrestricted) || slices.Contains(may, project)
	}
	path := strings.TrimPrefix(r.URL.Path, "/1.0")
	project, one := strings.CutPrefix(path, "/projects/")
	switch {
	case r.Method != http.MethodGet:
		writeRefusal(w, http.StatusMethodNotAllowed)
	case path == "":
		f.answerServer(w, known)
	case !known:
		writeRefusal(w, http.StatusForbidden)
	case one:
		f.answerInProject(w, project, sees(project), func([]string) { writeAnswer(w, map[string]any{"name": project}) })
	case path == "/instances":
		project := r.URL.Query().Get("project")
		f.answerInProject(w, project, sees(project), func(names []string) { writeAnswer(w, objectURLs("/1.0/instances/", names, "?project="+project)) })
	case path == "/storage-pools":
		writeAnswer(w, objectURLs("/1.0/storage-pools/", f.pools, ""))
	default:
		writeRefusal(w, http.StatusNotFound)
	}
}

// visibleProjects returns the projects that the client may see, and whether it is trusted.
func (f *fakeLXD) visibleProjects(r *http.Request) ([]string, bool) {
	if len(r.TLS.PeerCertificates) == 0 {
		return nil, false
	}
	sum := sha256.Sum256(r.TLS.PeerCertificates[0].Raw)
	may, known := f.trusted[hex.EncodeToString(sum[:])]
	return may, known
}

func (f *fakeLXD) answerServer(w http.ResponseWriter, known bool) {
	info := map[string]any{"api_version": "1.0", "api_extensions": f.extensions, "auth": "untrusted"}
	if known {
		info["auth"], info["environment"] = "trusted", map[string]any{"server_version": "5.0.2"}
	}
	writeAnswer(w, info)
}

func (f *fakeLXD) answerInProject(w http.ResponseWriter, name string, visible bool, do func(instances []string)) {
	instances, exists := f.projects[name]
	switch {
	case !visible:
		writeRefusal(w, http.StatusForbidden)
	case !exists:
		writeRefusal(w, http.StatusNotFound)
	default:
		do(instances)
	}
}

func objectURLs(prefix string, names []string, suffix string) []string {
	all := []string{}
	for _, name := range names {
		all = append(all, prefix+name+suffix)
	}
	return all
}

func writeAnswer(w http.ResponseWriter, metadata any) {
	writeJSON(w, http.StatusOK, map[string]any{"type": "sync", "status": "Success", "status_code": http.StatusOK, "metadata": metadata})
}

func writeRefusal(w http.ResponseWriter, status int) {
	writeJSON(w, status, map[string]any{"type": "error", "error_code": status, "error": "LXD's own words"})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}

// answerAt replaces the answer of one path.
func answerAt(path string, do http.HandlerFunc) func(*fakeLXD) {
	return func(f *fakeLXD) {
		f.instead = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			do(w, r)
			return true
		}
	}
}

// makeKey makes a key pair as LoadOrCreate does.
func makeKey(t *testing.T) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(t.TempDir()+"/"+fleetkey.KeyFile, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func fingerprintOf(t *testing.T, certificate string) string {
	t.Helper()
	f, err := fleetkey.Fingerprint(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func endpoint(address, project string) engine.Endpoint {
	return engine.Endpoint{Address: address, Project: project}
}

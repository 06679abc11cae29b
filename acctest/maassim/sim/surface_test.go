package sim

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/surface"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
)

// TestServedOperations: the simulator serves only operations that MAAS has, and all routes
// of one path use the same variable names.
func TestServedOperations(t *testing.T) {
	t.Parallel()
	router := surface.NewRouter(allRoutes())
	for _, r := range router.RoutesWithoutOperation() {
		t.Errorf("%s %s op=%q is no operation of MAAS: see operations.txt", r.Method, r.Path, r.Op)
	}
	names := map[string]string{}
	for _, r := range router.Routes() {
		shape := surface.Shape(r.Path)
		if other := names[shape]; other != "" && other != r.Path {
			t.Errorf("%s is called %s, too", r.Path, other)
		}
		names[shape] = r.Path
	}
}

// TestEveryOperation calls each operation in each version. If the version has it, the
// simulator must answer it, at least with 501. If not, it must answer as MAAS does.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	for _, version := range versions.Names() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s, err := New(Model{MAASVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			router := surface.NewRouter(allRoutes())
			for _, o := range surface.Operations() {
				status, body := askOperation(t, s, o)
				unserved := status == http.StatusNotImplemented && strings.Contains(body, o.String())
				absent := status == http.StatusNotFound && strings.HasPrefix(body, "Unknown API endpoint") || status == http.StatusMethodNotAllowed || status == http.StatusBadRequest && strings.HasPrefix(body, "Unrecognised signature")
				switch {
				case o.RemovedIn(version):
					if status != http.StatusGone {
						t.Errorf("%s: %d %s, want 410", o, status, body)
					}
				case !o.ExistsIn(version):
					if !absent {
						t.Errorf("%s is not in %s: %d %s", o, version, status, body)
					}
				case router.IsServed(o) == unserved || absent:
					t.Errorf("%s: %d %s; served: %t", o, status, body, router.IsServed(o))
				}
			}
		})
	}
}

var pathVariable = regexp.MustCompile(`\{[^}]*\}`)

// askOperation calls an operation with an empty body. All ids in its path are 1.
func askOperation(t *testing.T, s *Sim, o surface.Operation) (status int, body string) {
	t.Helper()
	target := pathVariable.ReplaceAllString(o.Path, "1")
	if o.Op != "" {
		target += "?op=" + o.Op
	}
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, signedRequest(o.Method, target, nil, int(surfaceNonce.Add(1))))
	return answer.Code, answer.Body.String()
}

var surfaceNonce atomic.Int64

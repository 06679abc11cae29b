package maas

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/maaslxd/maaslxd/engine"
)

func TestCapabilities(t *testing.T) {
	t.Parallel()
	version := value(map[string]string{"version": "3.4.10"})
	admin := value(map[string]any{"username": "admin", "is_superuser": true})
	hosts := value([]wireHost{})
	html := status(200, "text/html", "<html>Welcome</html>")
	cases := map[string]struct {
		reason  string
		version func() *http.Response
		user    func() *http.Response
		hosts   func() *http.Response
		want    engine.Capabilities
		err     string
		message string
	}{
		"VMHosts": {"MAAS up to 3.8.", version, admin, hosts,
			engine.Capabilities{Version: "3.4.10", VMHosts: true, Username: "admin", Admin: true}, "", ""},
		"Gone": {"MAAS after that.", version, admin, status(410, "text/plain", "gone"),
			engine.Capabilities{Version: "3.4.10", Username: "admin", Admin: true}, "", ""},
		"User": {"Some keys are not an administrator's.", version, value(map[string]any{"username": "joe", "is_superuser": false}), hosts,
			engine.Capabilities{Version: "3.4.10", VMHosts: true, Username: "joe"}, "", ""},
		"NoMAAS":    {"Nothing answers at version/.", status(404, "text/plain", "404 page not found"), admin, hosts, engine.Capabilities{}, "ErrUnavailable", "no MAAS API"},
		"Page":      {"A web server is there.", html, admin, hosts, engine.Capabilities{}, "ErrUnavailable", "not the answer of a MAAS"},
		"OtherJSON": {"Another API is there.", value(map[string]string{"hello": "world"}), admin, hosts, engine.Capabilities{}, "ErrUnavailable", "not the answer of a MAAS"},
		"BadKey":    {"version/ needs no key, whoami does.", version, status(401, "text/html", "Authorization Error"), hosts, engine.Capabilities{}, "ErrForbidden", "refused the API key"},
		"HostsDown": {"What is not known is not guessed.", version, admin, status(500, "text/plain", "broken"), engine.Capabilities{}, "ErrUnavailable", "broken"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := byRoute(map[string]func() *http.Response{
					"GET version/": tc.version, "GET users/?op=whoami": tc.user, "GET vm-hosts/": tc.hosts,
				})
				c := testClient(t, f)
				got, err := c.Capabilities(t.Context())
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if kinds(err) != tc.err || err != nil && !strings.Contains(err.Error(), tc.message) {
					t.Errorf("%s: got %v (%s)", tc.reason, err, kinds(err))
				}
				before := len(f.all())
				c.Capabilities(t.Context())
				if again := len(f.all()) - before; err == nil && again != 0 {
					t.Errorf("%s: asked again %d times", tc.reason, again)
				}
			})
		})
	}
}

func TestGoneIsErrGone(t *testing.T) {
	t.Parallel()
	_, err := testClient(t, always(410, "text/plain", "")).Hosts(t.Context())
	if kinds(err) != "ErrGone" || !engine.IsTerminal(err) {
		t.Errorf("got %v", err)
	}
}

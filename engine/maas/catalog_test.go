package maas

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/engine"
)

func TestCapabilities(t *testing.T) {
	t.Parallel()
	version := jsonReply(map[string]string{"version": "3.4.10"})
	admin := jsonReply(map[string]any{"username": "admin", "is_superuser": true})
	hosts := jsonReply([]wireHost{})
	html := statusReply(200, "text/html", "<html>Welcome</html>")
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
		"Gone": {"MAAS after that.", version, admin, statusReply(410, "text/plain", "gone"),
			engine.Capabilities{Version: "3.4.10", Username: "admin", Admin: true}, "", ""},
		"User": {"Some keys are not an administrator's.", version, jsonReply(map[string]any{"username": "joe", "is_superuser": false}), hosts,
			engine.Capabilities{Version: "3.4.10", VMHosts: true, Username: "joe"}, "", ""},
		"NoMAAS":    {"Nothing answers at version/.", statusReply(404, "text/plain", "404 page not found"), admin, hosts, engine.Capabilities{}, "ErrUnavailable", "no MAAS API"},
		"Page":      {"A web server is there.", html, admin, hosts, engine.Capabilities{}, "ErrUnavailable", "not the answer of a MAAS"},
		"OtherJSON": {"Another API is there.", jsonReply(map[string]string{"hello": "world"}), admin, hosts, engine.Capabilities{}, "ErrUnavailable", "not the answer of a MAAS"},
		"BadKey":    {"version/ needs no key, whoami does.", version, statusReply(401, "text/html", "Authorization Error"), hosts, engine.Capabilities{}, "ErrForbidden", "refused the API key"},
		"HostsDown": {"What is not known is not guessed.", version, admin, statusReply(500, "text/plain", "broken"), engine.Capabilities{}, "ErrUnavailable", "broken"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newRouteFake(map[string]func() *http.Response{
					"GET version/": tc.version, "GET users/?op=whoami": tc.user, "GET vm-hosts/": tc.hosts,
				})
				c := testClient(t, f)
				got, err := c.Catalog.Capabilities(t.Context())
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if errorKinds(err) != tc.err || err != nil && !strings.Contains(err.Error(), tc.message) {
					t.Errorf("%s: got %v (%s)", tc.reason, err, errorKinds(err))
				}
				before := len(f.requests())
				c.Catalog.Capabilities(t.Context())
				if again := len(f.requests()) - before; err == nil && again != 0 {
					t.Errorf("%s: asked again %d times", tc.reason, again)
				}
			})
		})
	}
}

func TestGoneIsErrGone(t *testing.T) {
	t.Parallel()
	_, err := testClient(t, newConstantFake(410, "text/plain", "")).Hosts.Hosts(t.Context())
	if errorKinds(err) != "ErrGone" || !engine.IsTerminal(err) {
		t.Errorf("got %v", err)
	}
}

// TestUnreadableImage: if MAAS lists something that cannot be read, an image may have more
// architectures than those that were read.
func TestUnreadableImage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, newRouteFake(map[string]func() *http.Response{"GET boot-resources/": jsonReply([]map[string]any{
			{"name": "ubuntu/noble", "type": "Synced", "architecture": "amd64/ga-24.04"},
			{"name": "ubuntu/noble", "type": "Synced", "architecture": 7},
		})}))
		got, err := c.Catalog.Images(t.Context())
		want := []engine.Image{{Name: "ubuntu/noble", Architectures: []string{"amd64"}, MoreArchitectures: true, Kernels: []string{"ga-24.04"}}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// TestUploadedImages lists images as a real MAAS does: an image that was uploaded as
// custom/k8s is named k8s.
func TestUploadedImages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, newRouteFake(map[string]func() *http.Response{"GET boot-resources/": jsonReply([]map[string]any{
			{"name": "k8s", "type": "Uploaded", "architecture": "amd64/generic"},
			{"name": "custom/old", "type": "Uploaded", "architecture": "amd64/generic"},
			{"name": "ubuntu/noble", "type": "Synced", "architecture": "amd64/ga-24.04"},
		})}))
		got, err := c.Catalog.Images(t.Context())
		want := []engine.Image{
			{Name: "custom/k8s", Architectures: []string{"amd64"}},
			{Name: "custom/old", Architectures: []string{"amd64"}},
			{Name: "ubuntu/noble", Architectures: []string{"amd64"}, Kernels: []string{"ga-24.04"}},
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

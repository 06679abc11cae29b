package record_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/replay"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// client is a client whose calls are recorded.
type client struct {
	t     *testing.T
	proxy http.Handler
	key   string
}

var nonces atomic.Int64

func (c client) call(method, path string, form url.Values) map[string]any {
	c.t.Helper()
	return c.send(method, path, form.Encode(), form != nil)
}

// post sends fields in the order of the body.
func (c client) post(path, body string) { c.send("POST", path, body, true) }

func (c client) send(method, path, body string, isForm bool) map[string]any {
	c.t.Helper()
	r := httptest.NewRequest(method, "http://proxy.test/MAAS/api/2.0/"+path, strings.NewReader(body))
	if isForm {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	k := strings.Split(c.key, ":")
	r.Header.Set("Authorization", fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="r%d", oauth_timestamp="%d"`,
		k[0], k[1], k[2], nonces.Add(1), time.Now().Unix()))
	w := httptest.NewRecorder()
	c.proxy.ServeHTTP(w, r)
	var answer map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return answer
}

// siteSecrets are the secrets of the site below.
var siteSecrets = []string{
	"acme", "ACME", "Acme", "sesame-open", "top secret text", "dG9wIHNlY3JldCB0ZXh0", "BEGIN",
	"simAdminConsumer00", "simAdminToken00000", "simAdminSecret", "simUserConsumer", "rpcsecretvalue", "10.99.", "00:16:3e:aa:bb:cc",
}

// playSite plays the story of a site with its own names, secrets and addresses.
func playSite(t *testing.T, s *sim.Sim, proxy http.Handler) {
	t.Helper()
	admin, user := client{t, proxy, s.APIKey()}, client{t, proxy, s.UserAPIKey()}
	admin.call("GET", "version/", nil)
	admin.call("GET", "users/?op=whoami", nil)
	user.call("GET", "users/?op=whoami", nil)
	key := strings.Split(s.APIKey(), ":")
	client{t, proxy, key[0] + ":wrongTokenOfAcme:" + key[2]}.call("GET", "zones/", nil)
	client{t, proxy, key[0] + ":" + key[1] + ":wrongSecretOfAcme"}.call("GET", "zones/", nil)
	client{t, proxy, "nobodyOfAcme:" + key[1] + ":" + key[2]}.call("GET", "zones/", nil)
	admin.call("GET", "subnets/", nil)
	admin.call("POST", "zones/", url.Values{"name": {"acme-berlin"}, "description": {"rack of the ACME company"}})
	admin.call("POST", "resourcepools/", url.Values{"name": {"acme-pool"}})
	user.call("POST", "zones/", url.Values{"name": {"acme-other"}})
	admin.call("POST", "tags/", url.Values{"name": {"acme-tag"}, "comment": {"of acme"}})
	host := admin.call("POST", "vm-hosts/", url.Values{
		"type": {"lxd"}, "power_address": {"https://10.99.1.5:8443"}, "password": {"sesame-open"}, "name": {"acme-kvm"}, "zone": {"acme-berlin"}, "pool": {"acme-pool"}, "tags": {"acme-tag"},
	})
	id := fmt.Sprint(host["id"])
	time.Sleep(3 * time.Second)
	admin.call("GET", "vm-hosts/", nil)
	vm := admin.call("POST", "vm-hosts/"+id+"/?op=compose", url.Values{"hostname": {"acme-web"}, "cores": {"1"}, "memory": {"1024"}, "storage": {"root:8(default)"}})
	machine := "machines/" + fmt.Sprint(vm["system_id"]) + "/"
	admin.call("GET", machine, nil)
	admin.call("GET", machine+"?op=power_parameters", nil)
	time.Sleep(3 * time.Second)
	if err := s.FinishMachine("acme-web"); err != nil {
		t.Fatal(err)
	}
	admin.call("GET", machine, nil)
	admin.call("PUT", machine, url.Values{"description": {"top secret text"}})
	admin.call("POST", "machines/?op=allocate", url.Values{"name": {"acme-web"}, "agent_name": {"cli"}})
	admin.call("POST", machine+"?op=set_owner_data", url.Values{"customer": {"acme gmbh"}})
	admin.call("POST", machine+"?op=deploy", url.Values{"distro_series": {"jammy"}, "user_data": {"dG9wIHNlY3JldCB0ZXh0"}})
	admin.call("GET", "machines/?hostname=acme-web&zone=acme-berlin", nil)
	admin.call("GET", "zones/acme-berlin/", nil)
	admin.call("GET", "zones/no-acme/", nil)
	time.Sleep(3 * time.Second)
	if err := s.FinishMachine("acme-web"); err != nil {
		t.Fatal(err)
	}
	admin.call("GET", machine, nil)
	var together sync.WaitGroup
	for range 4 {
		together.Go(func() { admin.call("GET", "vm-hosts/"+id+"/", nil) })
	}
	together.Wait()
	admin.call("POST", machine+"?op=release", nil)
	time.Sleep(3 * time.Second)
	admin.call("DELETE", machine, nil)
	admin.call("GET", machine, nil)
}

// siteModel is the world of recordings at a site's address.
func siteModel(t *testing.T) sim.Model {
	t.Helper()
	m, err := replay.World()
	if err != nil {
		t.Fatal(err)
	}
	m.Hosts[0].Address, m.Hosts[0].TrustPassword = "https://10.99.1.5:8443", "sesame-open"
	m.Subnets[0].CIDR, m.Subnets[0].DynamicStart, m.Subnets[0].DynamicEnd = "10.99.0.0/24", "10.99.0.100", "10.99.0.199"
	return m
}

// TestRecordingReplays records a simulator and replays the recording. All answers must be
// reproduced, and the recording must not contain secrets of the site.
func TestRecordingReplays(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := sim.New(siteModel(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		proxy, err := record.New("http://maas.acme.test/MAAS", dir, s.RoundTripper(), func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		playSite(t, s, proxy)
	})
	checkNothingLeaks(t, dir)
	stories, err := recording.LoadStories(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(stories[0].Exchanges); n != 32 {
		t.Errorf("%d exchanges were recorded, want 32", n)
	}
	synctest.Test(t, func(t *testing.T) {
		o, err := replay.PlayStory(stories[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range o.Comparisons {
			for _, p := range c.Problems {
				t.Errorf("%s: %s", c.Exchange, p)
			}
		}
	})
}

// checkNothingLeaks searches each file for the site's secrets.
func checkNothingLeaks(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no files were written", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range siteSecrets {
			if strings.Contains(string(content), secret) || strings.Contains(path, secret) {
				at := max(0, strings.Index(string(content), secret)-60)
				t.Errorf("%s tells %q: …%s…", filepath.Base(path), secret, content[at:min(len(content), at+160)])
			}
		}
	}
}

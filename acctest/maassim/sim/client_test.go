package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// maasClient is a minimal client of MAAS for tests.
type maasClient struct {
	t    *testing.T
	sim  *sim.Sim
	key  string
	base string
	via  http.RoundTripper
}

// outcome is the answer to a call, or its error.
type outcome struct {
	status int
	text   string
	err    error
}

// nonces makes each request's nonce unique.
var nonces atomic.Int64

// newMAASClient builds a model and a client of it without sockets.
func newMAASClient(t *testing.T, m sim.Model) *maasClient {
	t.Helper()
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &maasClient{t: t, sim: s, key: s.APIKey(), base: "http://maas.test/MAAS", via: s.RoundTripper()}
}

// oneHost is a world with one VM host of 8 cores and 16 GiB.
func oneHost() sim.Model {
	return sim.Model{Hosts: []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384,
		StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 100}, {Name: "fast", SizeGB: 50}}}}}
}

// plaintext is the Authorization header of a key.
func plaintext(key string) string {
	k := strings.Split(key, ":")
	return fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="n%d", oauth_timestamp="%d"`,
		k[0], k[1], k[2], nonces.Add(1), time.Now().Unix())
}

func (c *maasClient) request(method, path string, form url.Values) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+"/api/2.0/"+path, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", plaintext(c.key))
	return r
}

func (c *maasClient) send(r *http.Request) outcome {
	resp, err := c.via.RoundTrip(r)
	if err != nil {
		return outcome{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return outcome{status: resp.StatusCode, text: string(body), err: err}
}

// call sends fields in the form "name=value".
func (c *maasClient) call(method, path string, fields ...string) outcome {
	c.t.Helper()
	return c.send(c.request(method, path, formOf(fields...)))
}

// mustCall is call for a 2xx with a JSON body.
func (c *maasClient) mustCall(method, path string, fields ...string) map[string]any {
	c.t.Helper()
	a := c.call(method, path, fields...)
	if a.err != nil || a.status < 200 || a.status > 299 {
		c.t.Fatalf("%s %s %v: %d %s %v", method, path, fields, a.status, a.text, a.err)
	}
	out := map[string]any{}
	if strings.HasPrefix(a.text, "{") {
		if err := json.Unmarshal([]byte(a.text), &out); err != nil {
			c.t.Fatal(err)
		}
	}
	return out
}

// compose makes a VM on the first host and returns its system id.
func (c *maasClient) compose(fields ...string) string {
	c.t.Helper()
	return c.mustCall("POST", "vm-hosts/1/?op=compose", fields...)["system_id"].(string)
}

// readMachine reads a machine once.
func (c *maasClient) readMachine(id string) map[string]any {
	c.t.Helper()
	return c.mustCall("GET", "machines/"+id+"/")
}

// composeReady composes a VM and waits until it is Ready.
func (c *maasClient) composeReady(hostname string) string {
	c.t.Helper()
	id := c.compose("hostname=" + hostname)
	c.sim.Settle()
	return id
}

// wantStatus fails the test unless the outcome has the status and the text.
func wantStatus(t *testing.T, a outcome, status int, text string) {
	t.Helper()
	if a.err != nil || a.status != status || !strings.Contains(a.text, text) {
		t.Errorf("want %d with %q, got %d %q %v", status, text, a.status, a.text, a.err)
	}
}

// instanceNames are the names of all instances in the LXDs.
func instanceNames(s *sim.Sim) []string {
	names := []string{}
	for _, i := range s.Instances() {
		names = append(names, i.Name)
	}
	return names
}

// leakedInstances are the instances that MAAS does not know.
func leakedInstances(s *sim.Sim) []string {
	names := []string{}
	for _, i := range s.Instances() {
		if i.MachineID == "" {
			names = append(names, i.Name)
		}
	}
	return names
}

// formOf reads fields in the form "name=value".
func formOf(fields ...string) url.Values {
	form := url.Values{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		form.Add(name, value)
	}
	return form
}

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

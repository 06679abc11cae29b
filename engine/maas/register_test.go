package maas

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// newPair makes a certificate and its key.
func newPair(t *testing.T) engine.Credentials {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return engine.Credentials{Certificate: write("CERTIFICATE", der), Key: write("PRIVATE KEY", keyDER)}
}

func registration(pair engine.Credentials) engine.Registration {
	return engine.Registration{
		Name:        "lxd1",
		Endpoint:    engine.Endpoint{Address: "https://10.0.0.5:8443", Project: "fleet"},
		Credentials: pair,
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	least := url.Values{
		"type": {"lxd"}, "power_address": {"https://10.0.0.5:8443"}, "project": {"fleet"}, "name": {"lxd1"},
		"certificate": {pair.Certificate}, "key": {pair.Key},
	}
	full := registration(pair)
	full.Zone, full.Pool, full.Tags, full.CPUOvercommit, full.MemoryOvercommit = "az1", "p", []string{"a", "b"}, 4, 1.25
	most := url.Values{"zone": {"az1"}, "pool": {"p"}, "tags": {"a,b"}, "cpu_over_commit_ratio": {"4"}, "memory_over_commit_ratio": {"1.25"}}
	for name, values := range least {
		most[name] = values
	}
	cases := map[string]struct {
		reason       string
		registration engine.Registration
		form         url.Values
	}{
		"Least": {"What is not given is MAAS's to fill in.", registration(pair), least},
		"Most":  {"Names, one list of tags, decimal ratios.", full, most},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", `{"id":8,"version":"","host":{"system_id":null,"__incomplete__":true}}`)
			id, err := testClient(t, f).Hosts.Register(t.Context(), tc.registration)
			if err != nil || id.ID != 8 {
				t.Fatalf("%s: got %d, %v", tc.reason, id.ID, err)
			}
			if diff := cmp.Diff([]string{"POST vm-hosts/"}, f.routes()); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.form, f.requests()[0].Form); diff != "" {
				t.Errorf("%s: form (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRegisterRefuses checks what is not even sent.
func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	pair, other := newPair(t), newPair(t)
	cases := map[string]struct {
		reason string
		change func(*engine.Registration)
		field  string
	}{
		"NoProject":   {"MAAS would take LXD's default one.", func(r *engine.Registration) { r.Project = "" }, "project"},
		"NoAddress":   {"There is nothing to reach.", func(r *engine.Registration) { r.Address = "" }, "power_address"},
		"NoPair":      {"MAAS would make one that nobody trusts.", func(r *engine.Registration) { r.Credentials = engine.Credentials{} }, "certificate"},
		"NoPEM":       {"MAAS answers 500.", func(r *engine.Registration) { r.Certificate = "garbage" }, "certificate"},
		"KeyForBoth":  {"The fields were swapped.", func(r *engine.Registration) { r.Certificate = r.Key }, "certificate"},
		"NoKey":       {"MAAS answers 500 for a certificate alone.", func(r *engine.Registration) { r.Key = "" }, "key"},
		"OthersKey":   {"Nor does it take a pair that does not match.", func(r *engine.Registration) { r.Key = other.Key }, "key"},
		"CutOffKey":   {"A part of a key is not a key.", func(r *engine.Registration) { r.Key = r.Key[:len(r.Key)/2] }, "key"},
		"GarbledPair": {"PEM around garbage.", func(r *engine.Registration) { r.Key = strings.Replace(r.Key, "MI", "AA", 1) }, "key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", `{"id":8}`)
			r := registration(pair)
			tc.change(&r)
			_, err := testClient(t, f).Hosts.Register(t.Context(), r)
			wantUnsent(t, tc.reason, f, err, tc.field)
		})
	}
}

// wantUnsent expects that one field is refused before anything is sent.
func wantUnsent(t *testing.T, reason string, f *fakeTransport, err error, field string) {
	t.Helper()
	refused, ok := errors.AsType[engine.FieldError](err)
	if errorKinds(err) != "ErrInvalid" || len(f.requests()) != 0 || !ok || len(refused.Fields()[field]) != 1 {
		t.Errorf("%s: got %v after %v, want a refused %s", reason, err, f.routes(), field)
	}
}

func TestRegisterErrors(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	cases := map[string]struct {
		reason string
		answer *fakeTransport
		want   string
	}{
		"Known":     {"A text, not a form: MAAS has this server.", newConstantFake(400, "text/plain; charset=utf-8", "Pod lxd1 with type and parameters already exist."), "ErrConflict"},
		"BadZone":   {"A form error names the field.", newConstantFake(400, "application/json; charset=utf-8", `{"zone":["Select a valid choice."]}`), "ErrInvalid"},
		"BadJSON":   {"No form and no text is nothing known.", newConstantFake(400, "application/json", "oops"), "ErrInvalid"},
		"NotAdmin":  {"Registering is an administrator's right.", newConstantFake(403, "text/plain; charset=utf-8", "This method is reserved for admin users."), "ErrForbidden"},
		"Gone":      {"This MAAS has no VM hosts.", newConstantFake(410, "text/plain", "gone"), "ErrGone"},
		"NoAPI":     {"A 404 speaks of the address.", newConstantFake(404, "text/plain", "Unknown API endpoint"), "ErrUnavailable"},
		"Failed":    {"MAAS's own error.", newConstantFake(500, "text/plain; charset=utf-8", "Invalid PEM material"), "ErrUnavailable"},
		"NotReady":  {"Never repeated.", newConstantFake(503, "text/plain", "x"), "ErrUnavailable"},
		"NoID":      {"An answer that says nothing.", newConstantFake(200, "application/json", "{}"), "ErrUnavailable ErrUnclear"},
		"Truncated": {"Half an answer says nothing.", newConstantFake(200, "application/json", `{"id":`), "ErrUnavailable ErrUnclear"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, err := testClient(t, tc.answer).Hosts.Register(t.Context(), registration(pair))
				if errorKinds(err) != tc.want || len(tc.answer.requests()) != 1 {
					t.Errorf("%s: got %v (%s) after %v", tc.reason, err, errorKinds(err), tc.answer.routes())
				}
			})
		})
	}
}

// TestRegisterIsNotRepeated checks that even a request that never left is not repeated.
func TestRegisterIsNotRepeated(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	synctest.Test(t, func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		f := &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) { return nil, refused }}
		_, err := testClient(t, f).Hosts.Register(t.Context(), registration(pair))
		if errorKinds(err) != "ErrUnavailable" || len(f.requests()) != 1 {
			t.Errorf("got %v (%s) after %v", err, errorKinds(err), f.routes())
		}
	})
}

// TestRegisterOutlivesMAAS: a register waits longer than MAAS waits for an LXD that hangs.
func TestRegisterOutlivesMAAS(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTransport{answer: func(r *http.Request, _ sentRequest) (*http.Response, error) {
			return reply(200, "application/json", `{"id":8}`), pauseRequest(r, 125*time.Second)
		}}
		if id, err := testClient(t, f).Hosts.Register(t.Context(), registration(pair)); err != nil || id.ID != 8 {
			t.Errorf("got %d, %v", id.ID, err)
		}
	})
}

func TestEndpointOfAVMHost(t *testing.T) {
	t.Parallel()
	f := newConstantFake(200, "application/json", `{"project":"fleet","power_address":"10.0.0.5","certificate":"C","key":"K","password":""}`)
	got, err := testClient(t, f).Hosts.Endpoint(t.Context(), engine.VMHost{ID: 8})
	if diff := cmp.Diff(engine.Endpoint{Address: "10.0.0.5", Project: "fleet"}, got); diff != "" || err != nil {
		t.Errorf("endpoint (-want +got), %v:\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"GET vm-hosts/8/?op=parameters"}, f.routes()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestHostVerbs(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	name, zero, ratio := "x", 0.0, 2.5
	update := func(u engine.HostUpdate) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error { return c.Hosts.UpdateHost(ctx, engine.VMHost{ID: 8}, u) }
	}
	cases := map[string]struct {
		reason string
		do     func(context.Context, *Client) error
		routes []string
		form   url.Values
	}{
		"Tag": {"One tag, the others stay.", func(ctx context.Context, c *Client) error { return c.Hosts.TagHost(ctx, engine.VMHost{ID: 8}, "blue") }, []string{"POST vm-hosts/8/?op=add_tag"}, url.Values{"tag": {"blue"}}},
		"Untag": {"One tag, the others stay.", func(ctx context.Context, c *Client) error {
			return c.Hosts.UntagHost(ctx, engine.VMHost{ID: 8}, "blue")
		}, []string{"POST vm-hosts/8/?op=remove_tag"}, url.Values{"tag": {"blue"}}},
		"Unregister": {"The VMs stay in LXD.", func(ctx context.Context, c *Client) error { return c.Hosts.Unregister(ctx, engine.VMHost{ID: 8}) }, []string{"DELETE vm-hosts/8/"}, url.Values{}},
		"Nothing":    {"An empty update would make MAAS list the instances anew.", update(engine.HostUpdate{}), nil, nil},
		"Names":      {"Names, not numbers.", update(engine.HostUpdate{Name: &name, Zone: &name, Pool: &name, DefaultStoragePool: &name}), []string{"PUT vm-hosts/8/"}, url.Values{"name": {"x"}, "zone": {"x"}, "pool": {"x"}, "default_storage_pool": {"x"}}},
		"Ratios":     {"Zero is a ratio.", update(engine.HostUpdate{CPUOvercommit: &zero, MemoryOvercommit: &ratio}), []string{"PUT vm-hosts/8/"}, url.Values{"cpu_over_commit_ratio": {"0"}, "memory_over_commit_ratio": {"2.5"}}},
		"Pair":       {"Without the project, which MAAS keeps.", update(engine.HostUpdate{Credentials: &pair}), []string{"PUT vm-hosts/8/"}, url.Values{"certificate": {pair.Certificate}, "key": {pair.Key}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newConstantFake(200, "application/json", "{}")
			if err := tc.do(t.Context(), testClient(t, f)); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.routes, f.routes()); diff != "" {
				t.Fatalf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
			for _, s := range f.requests() {
				if diff := cmp.Diff(tc.form, s.Form); diff != "" {
					t.Errorf("%s: form (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func TestHostUpdateRefusesAPair(t *testing.T) {
	t.Parallel()
	pair, other := newPair(t), newPair(t)
	pair.Key = other.Key
	f := newConstantFake(200, "application/json", "{}")
	if err := testClient(t, f).Hosts.UpdateHost(t.Context(), engine.VMHost{ID: 8}, engine.HostUpdate{Credentials: &pair}); errorKinds(err) != "ErrInvalid" || len(f.requests()) != 0 {
		t.Errorf("got %v after %v", err, f.routes())
	}
}

// hostCalls are the calls for one VM host.
var hostCalls = map[string]func(context.Context, *Client) error{
	"Endpoint": func(ctx context.Context, c *Client) error {
		_, err := c.Hosts.Endpoint(ctx, engine.VMHost{ID: 8})
		return err
	},
	"UpdateHost": func(ctx context.Context, c *Client) error {
		return c.Hosts.UpdateHost(ctx, engine.VMHost{ID: 8}, engine.HostUpdate{Zone: new("z")})
	},
	"TagHost": func(ctx context.Context, c *Client) error { return c.Hosts.TagHost(ctx, engine.VMHost{ID: 8}, "blue") },
	"UntagHost": func(ctx context.Context, c *Client) error {
		return c.Hosts.UntagHost(ctx, engine.VMHost{ID: 8}, "blue")
	},
	"Unregister": func(ctx context.Context, c *Client) error { return c.Hosts.Unregister(ctx, engine.VMHost{ID: 8}) },
}

func TestHostErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		answer     func() *http.Response
		want       string
		unregister string // where it differs
	}{
		"Gone":   {"This MAAS has no VM hosts.", statusReply(410, "text/plain; charset=utf-8", "VM host (KVM) support has been removed from MAAS."), "ErrGone", "ErrGone"},
		"Absent": {"To be gone is what Unregister wants.", statusReply(404, "text/plain", "No Pod matches the given query."), "ErrNotFound", ""},
		"Proxy":  {"A proxy's 404 says nothing about the VM host.", statusReply(404, "text/html", "x"), "ErrUnavailable", "ErrUnavailable"},
		"Denied": {"All of it is an administrator's right.", statusReply(403, "text/plain", "This method is reserved for admin users."), "ErrForbidden", "ErrForbidden"},
	}
	for name, tc := range cases {
		for call, do := range hostCalls {
			t.Run(name+" "+call, func(t *testing.T) {
				t.Parallel()
				want := tc.want
				if call == "Unregister" {
					want = tc.unregister
				}
				f := &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) { return tc.answer(), nil }}
				if err := do(t.Context(), testClient(t, f)); errorKinds(err) != want || (err == nil) != (want == "") {
					t.Errorf("%s: got %v, want %q", tc.reason, err, want)
				}
			})
		}
	}
}

// TestChangedHostsAreReadAnew checks that every change drops the cached list.
func TestChangedHostsAreReadAnew(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	calls := map[string]func(context.Context, *Client) error{
		"Register": func(ctx context.Context, c *Client) error {
			_, err := c.Hosts.Register(ctx, registration(pair))
			return err
		},
	}
	for name, do := range hostCalls {
		calls[name] = do
	}
	for name, do := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := 0
			f := &fakeTransport{answer: func(_ *http.Request, s sentRequest) (*http.Response, error) {
				if s.Method == http.MethodGet && strings.HasSuffix(s.Path, "/vm-hosts/") {
					lists++
					return reply(200, "application/json", "[]"), nil
				}
				return reply(200, "application/json", `{"id":8}`), nil
			}}
			c := testClient(t, f)
			_, before := c.Hosts.Hosts(t.Context())
			done := do(t.Context(), c)
			_, after := c.Hosts.Hosts(t.Context())
			want := 2
			if name == "Endpoint" {
				want = 1 // which changes nothing
			}
			if err := errors.Join(before, done, after); err != nil || lists != want {
				t.Errorf("%d listings, want %d; %v", lists, want, err)
			}
		})
	}
}

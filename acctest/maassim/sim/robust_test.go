package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/surface"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// signedRequest is a request by the administrator.
func signedRequest(method, path string, form url.Values, nonce int) *http.Request {
	r := httptest.NewRequest(method, "http://maas.test"+rest.APIRoot+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	key := strings.Split(DefaultAdminKey, ":")
	r.Header.Set("Authorization", fmt.Sprintf(`OAuth oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="%d", oauth_timestamp="%d"`,
		key[0], key[1], key[2], nonce, time.Now().Unix()))
	return r
}

// TestReadWorkIsPartOfLatency counts the simulator's own work for a read into the call's latency,
// and that for a write beside it.
func TestReadWorkIsPartOfLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Sim{region: &region{model: Model{Latency: Latency{Call: 20 * time.Millisecond}}}}
		began := time.Now()
		time.Sleep(4 * time.Millisecond)
		for method, want := range map[string]time.Duration{http.MethodGet: 6 * time.Millisecond, http.MethodPost: 10 * time.Millisecond} {
			if got := s.answerDelay(&request.Call{Method: method}, began); got != want {
				t.Errorf("after 4 ms of work, the answer to a %s waits %v, not %v", method, got, want)
			}
		}
	})
}

// TestBugCostsOneCall calls a handler that panics. That call answers 500, and the next one
// is served.
func TestBugCostsOneCall(t *testing.T) {
	t.Parallel()
	s, err := New(Model{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.router = surface.NewRouter(append(allRoutes(), request.Route{Method: http.MethodGet, Path: "bug/", Handle: func(*request.Call) rest.Reply { panic("boom") }}))
	rep, err := s.exchangeCall(signedRequest("GET", "bug/", nil, 1))
	if err != nil || rep.Status != 500 || string(rep.Body) != world.BugText+"boom" {
		t.Errorf("got %d %s, %v", rep.Status, rep.Body, err)
	}
	if rep, err = s.exchangeCall(signedRequest("GET", "zones/", nil, 2)); err != nil || rep.Status != 200 {
		t.Errorf("after the bug: %d %s, %v", rep.Status, rep.Body, err)
	}
}

// TestNotANumber tests a request that once ended the whole simulator.
func TestNotANumber(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, method, path, field string
		status                      int
		body                        string
	}{
		"Ratio":       {"An answer cannot show it.", "PUT", "vm-hosts/1/", "cpu_over_commit_ratio=NaN", 400, `{"cpu_over_commit_ratio":["Enter a number."]}`},
		"Infinity":    {"Nor this.", "PUT", "vm-hosts/1/", "memory_over_commit_ratio=-inf", 400, `{"memory_over_commit_ratio":["Enter a number."]}`},
		"CPUs":        {"NaN compares with no number.", "POST", "machines/?op=allocate", "cpu_count=NaN", 400, `{"cpu_count":["Invalid CPU count: number required."]}`},
		"Memory":      {"A form refuses it.", "POST", "machines/?op=allocate", "mem=inf", 400, `{"mem":["Invalid memory: number of MiB required."]}`},
		"Negative":    {"No machine has so few cores.", "POST", "machines/?op=allocate", "cpu_count=-3", 409, ""},
		"Huge":        {"No machine has so many cores.", "POST", "machines/?op=allocate", "cpu_count=1e300", 409, ""},
		"Gateway":     {"The address and the network belong to different families.", "POST", "subnets/", "cidr=10.5.0.0/24&gateway_ip=fe80::1", 400, `{"gateway_ip":["Gateway IP must be within CIDR range."]}`},
		"LongZone":    {"The column has room for 256 characters.", "POST", "zones/", "name=" + strings.Repeat("z", 257), 400, `{"name":["Ensure this value has at most 256 characters (it has 257)."]}`},
		"GatewayWord": {"The text is not an address.", "POST", "subnets/", "cidr=10.5.0.0/24&gateway_ip=x", 400, `{"gateway_ip":["Enter a valid IPv4 or IPv6 address."]}`},
		"PointToPoint": {"Its statistics divide by zero.", "POST", "subnets/", "cidr=10.5.0.0/31", 400,
			`{"cidr":["Only networks of at least 4 addresses are simulated."]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Model{Hosts: []HostModel{{Name: "h1", Cores: 4, MemoryMiB: 8192}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			form, err := url.ParseQuery(tc.field)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := s.exchangeCall(signedRequest(tc.method, tc.path, form, 1))
			if err != nil || rep.Status != tc.status || tc.body != "" && string(rep.Body) != tc.body {
				t.Errorf("%s got %d %s, %v", tc.reason, rep.Status, rep.Body, err)
			}
		})
	}
}

// wildCaller calls every route with values that MAAS's forms do not expect.
type wildCaller struct {
	*rand.Rand
	s *Sim
}

var wildValues = []string{
	"", "0", "1", "2", "-1", "NaN", "inf", "1e300", "99999999999999999999", "x", "h1", "metal1", "default", "a.b", "é", "true", "false",
	"10.77.0.9", "10.77.0.0/24", "10.9.0.0/31", "0.0.0.0/0", "fe80::1", "::/0", "255.255.255.255", "{}", "[]", "null", `{"instance_name":null}`,
	"https://10.200.0.2:8443", "https://[::1", "root:8", "root:0", "root:1e9(default)", "eth0:subnet=1", "eth0:ip=10.77.0.9", "a=b", "static", "AUTO",
	"dynamic", "reserved", "lxd", "manual", "amd64/generic", "00:16:3e:00:00:01", "jammy", "ubuntu/jammy", "MX", "10 mail.maas", "www.maas",
}

// wildFields are the fields of the forms below a path, with valid values. Without these
// most calls would fail early.
var wildFields = map[string]map[string]string{
	"zones":         {"name": "z1", "description": ""},
	"resourcepools": {"name": "p1", "description": ""},
	"domains":       {"name": "d.test", "authoritative": "true", "ttl": "30"},
	"tags":          {"name": "t1", "add": "", "remove": "", "definition": "", "comment": ""},
	"subnets":       {"cidr": "10.9.0.0/31", "gateway_ip": "", "name": "n1"},
	"ipranges":      {"type": "reserved", "start_ip": "10.77.0.20", "end_ip": "10.77.0.30", "comment": ""},
	"ipaddresses":   {"subnet": "1", "ip": "10.77.0.21", "force": "true", "all": "true"},
	"dnsresources":  {"fqdn": "www.maas", "ip_addresses": "10.77.0.40", "address_ttl": "", "name": "", "domain": "0", "all": "true"},
	"dnsresourcerecords": {
		"fqdn": "www.maas", "rrtype": "MX", "rrdata": "10 mail.maas", "ttl": "30"},
	"nodes": {"name": "br0", "parent": "1", "bridge_fd": "15", "bridge_type": "", "mode": "AUTO", "subnet": "1", "ip_address": "", "id": "1", "force": "true"},
	"vm-hosts": {
		"type": "lxd", "power_address": "https://10.200.0.2:8443", "name": "h9", "project": "p1", "zone": "", "pool": "", "tag": "t", "tags": "", "password": "",
		"cpu_over_commit_ratio": "10", "memory_over_commit_ratio": "10", "default_storage_pool": "", "hostname": "", "cores": "1", "memory": "2048", "storage": "root:8",
		"interfaces": "", "pinned_cores": "0", "skip_commissioning": "true", "decompose": "true"},
	"machines": {
		"architecture": "amd64/generic", "mac_addresses": "00:16:3e:00:00:01", "hostname": "", "power_type": "lxd", "power_parameters": "",
		"power_parameters_power_address": "https://10.200.0.2:8443", "power_parameters_instance_name": "x", "commission": "false", "deployed": "true",
		"zone": "", "pool": "", "domain": "", "cpu_count": "1", "mem": "2048", "storage": "", "pod": "", "not_pod": "", "dry_run": "true", "system_id": "",
		"distro_series": "", "hwe_kernel": "", "user_data": "", "erase": "true", "bridge_all": "true", "ephemeral_deploy": "true", "force": "", "id": "", "status": ""},
	"events": {"limit": "5", "after": "1", "level": "INFO", "hostname": ""},
}

func pickOne[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (w wildCaller) value() string {
	if machines := w.s.Machines(); w.IntN(3) == 0 && len(machines) > 0 {
		return pickOne(w.Rand, machines).SystemID
	}
	return pickOne(w.Rand, wildValues)
}

// fields are some fields of a path's forms. Two in three have a valid value.
func (w wildCaller) fields(path string) url.Values {
	kind, _, _ := strings.Cut(path, "/")
	usual := wildFields[kind]
	form := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(usual)) {
		switch w.IntN(6) {
		case 0, 1:
			form.Add(name, usual[name])
		case 2:
			form.Add(name, w.value())
		}
	}
	return form
}

func (w wildCaller) request(nonce int) *http.Request {
	r := pickOne(w.Rand, w.s.router.Routes())
	path, query := r.Path, w.fields(r.Path)
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + url.PathEscape(w.value()) + after
	}
	if query.Del("op"); r.Op != "" {
		query.Set("op", r.Op)
	}
	return signedRequest(r.Method, path+"?"+query.Encode(), w.fields(r.Path), nonce)
}

// TestWildCalls sends thousands of calls with odd values, always the same ones. No handler
// may panic.
func TestWildCalls(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s, err := New(Model{Hosts: []HostModel{{Name: "h1", Cores: 64, MemoryMiB: 1 << 20}, {Name: "h2", Cores: 4, MemoryMiB: 8192}}, Machines: []MachineModel{{Hostname: "metal1"}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			w := wildCaller{rand.New(rand.NewPCG(seed, 3)), s}
			statuses := []int{}
			for n := range 1000 {
				r := w.request(n)
				rep, err := s.exchangeCall(r)
				if err != nil || strings.HasPrefix(string(rep.Body), world.BugText) {
					t.Errorf("%s %s: %s, %v", r.Method, r.URL.RequestURI(), rep.Body, err)
				}
				statuses = append(statuses, rep.Status)
			}
			for _, status := range []int{200, 204, 400, 404} {
				if !slices.Contains(statuses, status) {
					t.Errorf("no call was %d: the values are too odd", status)
				}
			}
		})
	}
}

// TestNoncesAreDropped makes calls for twenty minutes. The simulator keeps only the nonces
// of the last minutes, and none can be used again.
func TestNoncesAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Model{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		for n := range 1200 {
			if rep, err := s.exchangeCall(signedRequest("GET", "zones/", nil, n)); err != nil || rep.Status != 200 {
				t.Fatalf("%d %s, %v", rep.Status, rep.Body, err)
			}
			again := signedRequest("GET", "zones/", nil, n)
			for range 2 {
				if rep, _ := s.exchangeCall(again); rep.Status != 401 {
					t.Fatalf("a nonce was taken twice: %d", rep.Status)
				}
			}
			time.Sleep(time.Second)
		}
		if got := len(s.world.Nonces.Seen); got > 2*request.TimestampThreshold+2 {
			t.Errorf("%d nonces are remembered", got)
		}
	})
}

// TestResetStopsTimers: after a reset the old world does not change any more.
func TestResetStopsTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Model{Hosts: []HostModel{{Name: "h1", Cores: 4, MemoryMiB: 8192}}, Latency: Latency{Commission: time.Minute, PowerOn: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if rep, err := s.exchangeCall(signedRequest("POST", "vm-hosts/1/?op=compose", url.Values{"hostname": {"x"}}, 1)); err != nil || rep.Status != 200 {
			t.Fatalf("%d %s, %v", rep.Status, rep.Body, err)
		}
		old := s.world
		s.Reset()
		time.Sleep(time.Hour)
		if x := old.MachineNamed("x"); x.Status != world.StatusCommissioning || x.PowerState != "off" || len(old.Timers) != 0 {
			t.Errorf("%s went on: %v, power %s, %d timers", x.Hostname, x.Status, x.PowerState, len(old.Timers))
		}
	})
}

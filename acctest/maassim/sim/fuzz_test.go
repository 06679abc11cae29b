package sim

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// FuzzHTTP: the simulator answers any request in time, to MAAS's API and to its own, and
// no handler panics.
func FuzzHTTP(f *testing.F) {
	const form, text = "application/x-www-form-urlencoded", "application/json"
	for _, seed := range []struct{ method, path, kind, body string }{
		{"GET", rest.APIRoot + "machines/?id=x&zone=default&pod=host1&status=ready", "", ""},
		{"POST", rest.APIRoot + "vm-hosts/1/?op=compose", form, "hostname=a&cores=1&memory=1024&storage=root:8(default,t)&interfaces=eth0:subnet=1"},
		{"POST", rest.APIRoot + "vm-hosts/1/?op=compose", text, `{"hostname":"b","cores":-1,"memory":1e18,"storage":"root:-1(","interfaces":"eth0:"}`},
		{"POST", rest.APIRoot + "machines/?op=allocate", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"system_id\"\r\n\r\nabc\r\n--x--\r\n"},
		{"POST", rest.APIRoot + "machines/", form, "architecture=amd64&mac_addresses=00:16:3e:00:00:01&power_type=lxd&power_parameters_power_address=x"},
		{"POST", rest.APIRoot + "nodes/x/interfaces/1/?op=link_subnet", form, "mode=STATIC&subnet=1&ip_address=::1"},
		{"POST", rest.APIRoot + "ipranges/", form, "type=reserved&start_ip=10.0.0.1&end_ip=255.255.255.255&subnet=1"},
		{"POST", rest.APIRoot + "subnets/", form, "cidr=0.0.0.0/0"},
		{"POST", "/_sim/faults", text, `{"op":"compose","kind":"status","status":9999,"nth":-1}`},
		{"PUT", "/_sim/nasty", text, `{"lost_reply":1e300,"sync_every":"1ns"}`},
		{"POST", "/_sim/instances", text, `{"host":"host1","name":"x","cores":-5,"memory_mib":-1,"macs":["zz"]}`},
		{"PATCH", "/_sim/machines/metal1", text, `{"status_name":"Deploying","tags":[""],"zone":null}`},
		{"GET", "/_sim/journal?calls=-1", "", ""},
		{"POST", "/MAAS/metadata/status/x", text, `{"event_type":1}`},
		{"GET", "/MAAS/metadata/2012-03-01/meta-data/instance-id", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.kind, []byte(seed.body))
	}
	s, err := New(DefaultModel())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	nonce := 1 << 20
	f.Fuzz(func(t *testing.T, method, path, kind string, body []byte) {
		// A call with a delay must wait.
		if text := strings.ToLower(path + string(body)); strings.Contains(text, "hang") || strings.Contains(text, "delay") || strings.Contains(text, "latency") {
			return
		}
		target, err := url.ParseRequestURI(path)
		if err != nil || target.Path == "" {
			return
		}
		nonce++
		req, err := http.NewRequest(method, "http://maas.test", strings.NewReader(string(body)))
		if err != nil {
			return
		}
		req.URL, req.Header = target, signedRequest(http.MethodGet, "", nil, nonce).Header
		req.Header.Set("Content-Type", kind)
		answer := httptest.NewRecorder()
		ended := make(chan any, 1)
		go func() {
			defer func() { ended <- recover() }()
			s.ServeHTTP(answer, req)
		}()
		select {
		case bug := <-ended:
			if bug != nil && bug != http.ErrAbortHandler {
				t.Fatalf("%s %s %q: %v", method, path, body, bug)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s %s %q is not answered", method, path, body)
		}
		if strings.HasPrefix(answer.Body.String(), world.BugText) {
			t.Fatalf("%s %s %q: %s", method, path, body, answer.Body)
		}
		if len(s.Instances()) > 200 {
			s.Reset()
		}
	})
}

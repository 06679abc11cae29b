package maas

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// newAnsweringClient returns a client of a server that always gives the same answer.
func newAnsweringClient(t *testing.T, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("op") == "whoami" {
			_, _ = io.WriteString(w, `{"username":"admin","is_superuser":true}`)
			return
		}
		if len(body) < 1<<20 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			_, _ = io.WriteString(w, body)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, body)
		_ = packed.Close()
	}))
	t.Cleanup(server.Close)
	c, err := New(Config{URL: server.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestNamesAreLines answers with names that MAAS would not accept. Errors and conditions
// show them, and terminals too.
func TestNamesAreLines(t *testing.T) {
	t.Parallel()
	const odd, want = `"a\u0000\n\u001b[31mb"`, "a [31mb"
	c := newAnsweringClient(t, `[{"id":1,"system_id":"abc","type":"lxd","hostname":`+odd+`,"fqdn":`+odd+`,"name":`+odd+`,"owner":`+odd+
		`,"zone":{"name":`+odd+`},"pool":{"name":`+odd+`},"domain":{"name":`+odd+`},"pod":{"id":1,"name":`+odd+`}}]`)
	m, err := c.Machines.Machine(t.Context(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := c.Hosts.Hosts(t.Context())
	if err != nil || len(hosts) != 1 {
		t.Fatalf("got %d VM hosts, %v", len(hosts), err)
	}
	have := map[string]string{
		"hostname": m.Hostname, "fqdn": m.FQDN, "owner": m.Owner, "zone": m.Zone, "pool": m.Pool, "domain": m.Domain, "VM host of a machine": m.HostName,
		"VM host": hosts[0].Name, "zone of a VM host": hosts[0].Zone, "pool of a VM host": hosts[0].Pool,
	}
	for what, list := range map[string]func(context.Context) ([]string, error){"zones": c.Names.Zones, "pools": c.Names.Pools, "domains": c.Names.Domains} {
		names, err := list(t.Context())
		if err != nil || len(names) != 1 {
			t.Fatalf("%s: got %q, %v", what, names, err)
		}
		have[what] = names[0]
	}
	for what, name := range have {
		if name != want {
			t.Errorf("%s: got %q, want %q", what, name, want)
		}
	}
	if hosts[0].Err == nil || strings.ContainsFunc(hosts[0].Err.Error(), unicode.IsControl) {
		t.Errorf("the VM host's error is %q, want a line", hosts[0].Err)
	}
}

// TestHugeAnswersAreRefused answers with few bytes that become many in memory. It is not parallel, because
// it reads what the process allocated.
func TestHugeAnswersAreRefused(t *testing.T) {
	const plain = 14 << 20
	const most = 400 << 20
	cases := map[string]struct{ reason, element string }{
		"Elements": {"A list of empty machines.", "{}"},
		"Nested":   {"Machines with lists of empty interfaces.", `{"system_id":"abc","hostname":"a","interface_set":[{},{},{},{},{},{},{},{}]}`},
		"Values":   {"Machines with lists of empty tags.", `{"system_id":"abc","hostname":"a","tag_names":["","","","","","","","","","","","","","","","","",""]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			body := bytes.Repeat([]byte(tc.element+","), plain/(len(tc.element)+1))
			c := newAnsweringClient(t, "["+string(body)+tc.element+"]")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.Machines.Machine(t.Context(), "abc")
			runtime.ReadMemStats(&after)
			if !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("%s got %v, want a refusal", tc.reason, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%s took %d MiB, want at most %d", tc.reason, took>>20, most>>20)
			}
		})
	}
}

// TestOddElements has one unreadable element among others.
func TestOddElements(t *testing.T) {
	t.Parallel()
	const good, odd = `{"system_id":"aaa","hostname":"a","status":4}`, `{"system_id":"bbb","hostname":"b","status":"four"}`
	cases := map[string]struct {
		reason, body string
		ask          string
		want         error // nil: the machine is found
	}{
		"Other":    {"The others are as they were.", "[" + good + "," + odd + "]", "aaa", nil},
		"Itself":   {"It is neither found nor gone.", "[" + good + "," + odd + "]", "bbb", engine.ErrUnavailable},
		"Nameless": {"It may be any, so that nothing is said to be gone.", `[{"system_id":7},` + good + `]`, "bbb", engine.ErrUnavailable},
		"Null":     {"No list at all says nothing of the machine.", "null", "aaa", engine.ErrUnavailable},
		"Object":   {"Nor does something else.", "{}", "aaa", engine.ErrUnavailable},
		"Empty":    {"An empty list does.", "[]", "aaa", engine.ErrNotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := newAnsweringClient(t, tc.body).Machines.Machine(t.Context(), tc.ask)
			if !errors.Is(err, tc.want) || (tc.want == nil && m.SystemID != tc.ask) {
				t.Errorf("%s got %q, %v, want %v", tc.reason, m.SystemID, err, tc.want)
			}
			if tc.want != engine.ErrNotFound && errors.Is(err, engine.ErrNotFound) {
				t.Errorf("%s got %v, which says that it is gone", tc.reason, err)
			}
		})
	}
}

// TestOddHost has one unreadable VM host among others.
func TestOddHost(t *testing.T) {
	t.Parallel()
	c := newAnsweringClient(t, `[{"id":1,"name":"h1","type":"lxd","version":"5.21","host":{"system_id":"mmm"}},{"id":2,"name":"h2","type":"lxd","version":"5.21","total":"many"}]`)
	hosts, err := c.Hosts.Hosts(t.Context())
	if err != nil || len(hosts) != 2 {
		t.Fatalf("got %v, %v", hosts, err)
	}
	if hosts[0].Err != nil || hosts[1].Err == nil {
		t.Errorf("got %v and %v, want h2 alone to be unusable", hosts[0].Err, hosts[1].Err)
	}
}

// TestOddSubnetAndImage has one unreadable subnet and one unreadable image among others.
// Nobody can ask for them, and the others do not change.
func TestOddSubnetAndImage(t *testing.T) {
	t.Parallel()
	subnets, err := newAnsweringClient(t, `[{"id":1,"cidr":"10.0.0.0/24","vlan":{"id":5}},{"id":2,"cidr":"10.1.0.0/24","vlan":"five"}]`).Names.Subnets(t.Context())
	if err != nil || len(subnets) != 1 || subnets[0].ID != 1 {
		t.Errorf("got %v, %v, want the first subnet", subnets, err)
	}
	images, err := newAnsweringClient(t, `[{"name":7,"architecture":"amd64/ga-24.04"},{"name":"ubuntu/noble","architecture":"amd64/ga-24.04"}]`).Catalog.Images(t.Context())
	if err != nil || len(images) != 1 || images[0].Name != "ubuntu/noble" {
		t.Errorf("got %v, %v, want the second image", images, err)
	}
}

// TestHostileMessage sends a machine's message with terminal escapes.
func TestHostileMessage(t *testing.T) {
	t.Parallel()
	c := newAnsweringClient(t, `[{"system_id":"abc","hostname":"a","status":11,"status_name":"Failed\u001b[2J deployment",`+
		`"status_message":"\u001b]0;pwned\u0007\u001b[32mApply complete!\n`+strings.Repeat("x", 40_000)+`"}]`)
	m, err := c.Machines.Machine(t.Context(), "abc")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{m.StatusName, m.StatusMessage} {
		if len(text) > api.MaxLine+len("…") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("got %d bytes, %.60q: want one short line that can be printed", len(text), text)
		}
	}
}

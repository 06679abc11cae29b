package maas

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// FuzzAnswer: whatever MAAS answers, each list is read or is an error. People see only
// short, printable lines of it.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[null]`, `[{}]`, `[{"system_id":7}]`, `[[]]`, `"`, `[{"id":9223372036854775807}]`,
		`[{"system_id":"abc","hostname":"a\u001b[2J","status":6,"status_name":"x\ny","owner_data":{"maaslxd-cpu-overcommit":"NaN","maaslxd-address":"x"},"tag_names":["maaslxd-host"]}]`,
		`[{"system_id":"abc","status":-1,"interface_set":[{"id":1,"vlan":null,"links":[{"id":1,"subnet":null}]}],"physicalblockdevice_set":[{"id":1,"size":-1}],"pod":null,"boot_interface":null}]`,
		`[{"id":1,"name":"h","type":"lxd","total":{"cores":1000000000000000000,"memory":-1},"used":null,"storage_pools":[{"total":-5,"available":9223372036854775807}],"host":null}]`,
		`[{"id":1,"cidr":"10.0.0.0/99","vlan":{"dhcp_on":"perhaps"},"name":"\u2028"}]`,
	} {
		f.Add(200, "application/json", []byte(seed))
	}
	f.Add(400, "application/json", []byte(`{"hostname":["a\nb"],"__all__":[{}]}`))
	f.Add(503, "text/plain", []byte("\x1b]0;title\a"+strings.Repeat("long ", 200)))
	f.Add(200, "text/html", []byte("<html>"))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		if status < 200 || status > 599 || strings.ContainsFunc(kind, unicode.IsControl) {
			return
		}
		answer := func(*http.Request, sentRequest) (*http.Response, error) {
			return reply(status, kind, string(body)), nil
		}
		c, err := New(Config{URL: "http://maas.test/MAAS", APIKey: testKey, Transport: &fakeTransport{answer: answer}, Backoff: func(int) time.Duration { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		machines, err := c.Machines.MachinesWhere(t.Context(), engine.MachineFilter{})
		wantLine(t, err)
		for _, m := range machines {
			m.HostRecord()
			m.MarkedBy()
			if got := m.Status.Phase(); got == "" {
				t.Errorf("status %d has no phase", m.Status)
			}
			wantShortLine(t, m.StatusName)
			wantShortLine(t, m.StatusMessage)
		}
		_, err = c.Hosts.Hosts(t.Context())
		wantLine(t, err)
		_, err = c.Names.Zones(t.Context())
		wantLine(t, err)
		_, err = c.Names.Subnets(t.Context())
		wantLine(t, err)
		_, err = c.Catalog.Images(t.Context())
		wantLine(t, err)
	})
}

func wantLine(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Fatalf("the error %q is no line", err)
	}
}

func wantShortLine(t *testing.T, text string) {
	t.Helper()
	if len(text) > api.MaxLine+len("…") || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		t.Fatalf("%q is no short line", text)
	}
}

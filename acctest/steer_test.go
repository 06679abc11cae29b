package acctest_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// patience bounds waiting for the simulator to show something.
const patience = time.Minute

// when waits until the machine of a name has a status and then acts on it.
func (x *target) when(t *testing.T, name, status string, act func(sim.Machine)) {
	t.Helper()
	x.until(t, name+" is "+status, func() bool {
		all, err := x.look(t.Context())
		if err != nil {
			return false // it is looked again
		}
		for _, m := range all {
			if m.Hostname == name && m.StatusName == status {
				act(m)
				return true
			}
		}
		return false
	})
}

// whenCalled waits until the simulator was asked for a route.
func (x *target) whenCalled(t *testing.T, route string) {
	t.Helper()
	if x.sim == nil {
		t.Skip("it acts while a call is under way, and a real MAAS keeps no journal of calls")
	}
	x.until(t, route+" is called", func() bool { return x.sim.Journal().Count(route) > 0 })
}

func (x *target) until(t *testing.T, what string, seen func() bool) {
	t.Helper()
	long, pause := patience, 5*time.Millisecond
	if x.sim == nil {
		long, pause = 20*patience, min(theSite.Interval, time.Second)
	}
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(pause) {
		if t.Context().Err() != nil {
			return // the test has ended, and may not be failed any more
		}
		if seen() {
			return
		}
	}
	t.Errorf("it was never so that %s", what)
}

// composeRoute is the call by which a VM comes into MAAS.
func composeRoute() string {
	if onLXD() {
		return "POST machines/"
	}
	return "POST vm-hosts/{id}/ compose"
}

// composeFault is a fault of that call.
func composeFault(f sim.Fault) sim.Fault {
	f.Method, f.Path, f.Op = http.MethodPost, "vm-hosts/*/", "compose"
	if onLXD() {
		f.Path, f.Op = "machines/", ""
	}
	return f
}

// machine finds MAAS's machine of a name.
func (x *target) machine(t *testing.T, name string) sim.Machine {
	t.Helper()
	for _, m := range x.machines() {
		if m.Hostname == name {
			return m
		}
	}
	t.Fatalf("MAAS has no machine %s", name)
	return sim.Machine{}
}

// edit changes a machine as an operator would.
func (x *target) edit(t *testing.T, name string, e sim.MachineEdit) {
	t.Helper()
	if x.sim == nil {
		x.change(t, name, e)
		return
	}
	if err := x.sim.EditMachine(x.machine(t, name).SystemID, e); err != nil {
		t.Fatal(err)
	}
}

// post calls MAAS as an operator's script would.
func (x *target) post(t *testing.T, path string, form url.Values) {
	t.Helper()
	x.call(t, http.MethodPost, path, form.Encode())
}

// call asks MAAS as an operator's script would, and returns what it answers.
func (x *target) call(t *testing.T, method, path, form string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, x.url+"/api/2.0/"+path, strings.NewReader(x.named(form)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	x.sign(req)
	res, err := x.httpClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %s %v", method, path, res.Status, body, err)
	}
	return body
}

// httpClient is one that trusts the MAAS.
func (x *target) httpClient() *http.Client {
	if x.sim == nil {
		return theSite.client.HTTP
	}
	return http.DefaultClient
}

// sign puts the API key into a request.
func (x *target) sign(req *http.Request) {
	key := strings.Split(x.key, ":")
	req.Header.Set("Authorization", fmt.Sprintf(
		`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="%x", oauth_timestamp="%d"`,
		key[0], key[1], key[2], rand.Uint64(), time.Now().Unix()))
}

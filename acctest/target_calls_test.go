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

// waitTimeout is how long a test waits for the simulator to show something.
const waitTimeout = time.Minute

// actAtStatus waits until the machine of a name has a status, and then acts on
// it.
func (x *target) actAtStatus(t *testing.T, name, status string, act func(sim.Machine)) {
	t.Helper()
	x.waitUntil(t, name+" is "+status, func() bool {
		all, err := x.listMachines(t.Context())
		if err != nil {
			return false // the test looks again
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

// awaitCall waits until the simulator has received a call of a route.
func (x *target) awaitCall(t *testing.T, route string) {
	t.Helper()
	if x.sim == nil {
		t.Skip("it acts during a call, and a real MAAS has no journal of calls")
	}
	x.waitUntil(t, route+" is called", func() bool { return x.sim.Journal().Count(route) > 0 })
}

func (x *target) waitUntil(t *testing.T, what string, seen func() bool) {
	t.Helper()
	long, pause := waitTimeout, 5*time.Millisecond
	if x.sim == nil {
		long, pause = 20*waitTimeout, min(theSite.Interval, time.Second)
	}
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(pause) {
		if t.Context().Err() != nil {
			return // the test has ended and can no longer fail
		}
		if seen() {
			return
		}
	}
	t.Errorf("it was never so that %s", what)
}

// composeRoute is the call that brings a VM into MAAS.
func composeRoute() string {
	if isLXDColumn() {
		return "POST machines/"
	}
	return "POST vm-hosts/{id}/ compose"
}

// composeFault is a fault of that call.
func composeFault(f sim.Fault) sim.Fault {
	f.Method, f.Path, f.Op = http.MethodPost, "vm-hosts/*/", "compose"
	if isLXDColumn() {
		f.Path, f.Op = "machines/", ""
	}
	return f
}

// findMachine finds MAAS's machine by its name.
func (x *target) findMachine(t *testing.T, name string) sim.Machine {
	t.Helper()
	for _, m := range x.machines() {
		if m.Hostname == name {
			return m
		}
	}
	t.Fatalf("MAAS has no machine %s", name)
	return sim.Machine{}
}

// editMachine changes a machine as an operator would.
func (x *target) editMachine(t *testing.T, name string, e sim.MachineEdit) {
	t.Helper()
	if x.sim == nil {
		x.editMachineOnSite(t, name, e)
		return
	}
	if err := x.sim.EditMachine(x.findMachine(t, name).SystemID, e); err != nil {
		t.Fatal(err)
	}
}

// postForm calls MAAS as an operator's script would.
func (x *target) postForm(t *testing.T, path string, form url.Values) {
	t.Helper()
	x.callMAAS(t, http.MethodPost, path, form.Encode())
}

// callMAAS calls MAAS as an operator's script would, and returns the answer.
func (x *target) callMAAS(t *testing.T, method, path, form string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, x.url+"/api/2.0/"+path, strings.NewReader(x.translateForm(form)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	x.signRequest(req)
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

// httpClient is a client that trusts the MAAS's certificate.
func (x *target) httpClient() *http.Client {
	if x.sim == nil {
		return theSite.client.HTTP
	}
	return http.DefaultClient
}

// signRequest adds the API key to a request.
func (x *target) signRequest(req *http.Request) {
	key := strings.Split(x.key, ":")
	req.Header.Set("Authorization", fmt.Sprintf(
		`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="%x", oauth_timestamp="%d"`,
		key[0], key[1], key[2], rand.Uint64(), time.Now().Unix()))
}

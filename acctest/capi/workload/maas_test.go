package workload

import (
	"encoding/base64"
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

// operator does to a simulated MAAS what an infrastructure provider would do.
type operator struct {
	t   *testing.T
	sim *sim.Sim
}

// newOperator makes the operator of a MAAS with machines m1 to mN, which have
// loopback addresses.
func newOperator(t *testing.T, machines int) operator {
	t.Helper()
	m := sim.Model{
		LXDListen: sim.LXDListenAuto, Domains: []string{"example.com"},
		Images:  []string{"ubuntu/noble", "custom/ubuntu-v1.36.2", "custom/ubuntu-v1.36.3"},
		Latency: sim.Latency{Deploy: 500 * time.Millisecond, Release: 200 * time.Millisecond},
	}
	for i := range machines {
		m.Machines = append(m.Machines, sim.MachineModel{Hostname: fmt.Sprintf("m%d", i+1)})
	}
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return operator{t, s}
}

var nonceCount atomic.Int64

// callAPI calls MAAS's API in this process, and returns the reply's body.
func (o operator) callAPI(method, path string, form url.Values) ([]byte, error) {
	request, err := http.NewRequestWithContext(o.t.Context(), method, "http://maas/MAAS/api/2.0/"+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	key := strings.Split(o.sim.APIKey(), ":")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="n%d", oauth_timestamp="%d"`,
		key[0], key[1], key[2], nonceCount.Add(1), time.Now().Unix()))
	reply, err := o.sim.RoundTripper().RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if reply.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, reply.Status, text)
	}
	return text, err
}

func (o operator) mustCall(method, path string, form url.Values) {
	o.t.Helper()
	if _, err := o.callAPI(method, path, form); err != nil {
		o.t.Fatal(err)
	}
}

// deployWithoutSwap deploys a machine without swap and waits for it.
func (o operator) deployWithoutSwap(hostname string, data []byte) {
	o.t.Helper()
	o.mustCall(http.MethodPut, "machines/"+o.findMachine(hostname).SystemID+"/", url.Values{"swap_size": {"0"}})
	o.deployWithSwap(hostname, data)
}

// deployWithSwap deploys a machine and lets curtin make swap.
func (o operator) deployWithSwap(hostname string, data []byte) {
	o.t.Helper()
	o.mustCall(http.MethodPost, "machines/"+o.findMachine(hostname).SystemID+"/?op=deploy", userDataForm(data))
	o.sim.Settle()
}

// userDataForm is the form of a deployment with this user-data.
func userDataForm(data []byte) url.Values {
	return url.Values{"user_data": {base64.StdEncoding.EncodeToString(data)}}
}

// release releases a machine.
func (o operator) release(hostname string) {
	o.t.Helper()
	o.mustCall(http.MethodPost, "machines/"+o.findMachine(hostname).SystemID+"/?op=release", nil)
	o.sim.Settle()
}

// publishDNS makes a name in MAAS's DNS.
func (o operator) publishDNS(name string, addresses ...string) {
	o.t.Helper()
	o.mustCall(http.MethodPost, "dnsresources/", url.Values{"fqdn": {name}, "ip_addresses": {strings.Join(addresses, " ")}})
}

// setPower turns a machine on or off.
func (o operator) setPower(hostname, state string) {
	o.t.Helper()
	if err := o.sim.EditMachine(hostname, sim.MachineEdit{PowerState: &state}); err != nil {
		o.t.Fatal(err)
	}
}

// findMachine finds a machine by its host name.
func (o operator) findMachine(hostname string) sim.Machine {
	o.t.Helper()
	for _, m := range o.sim.Machines() {
		if m.Hostname == hostname {
			return m
		}
	}
	o.t.Fatalf("no machine %s", hostname)
	return sim.Machine{}
}

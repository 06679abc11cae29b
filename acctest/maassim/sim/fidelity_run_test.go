package sim_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// The LXD of the world in which the recordings were made.
const (
	lxdURL = "https://127.0.0.1:18444"
	// trustPassword is the recordings' own placeholder.
	trustPassword = "<LXD TRUST PASSWORD>"
)

// replay sends the recorded requests to a simulator.
type replay struct {
	t         *testing.T
	world     *sim.Sim
	exchanges []exchange
	match     *matcher
	problems  map[int][]string
	underway  map[int]chan served // exchanges that were sent ahead of their turn
	nonce     string              // the header of the nonce exchanges
	trusted   pair
	stranger  pair
}

// pair is a certificate with its key, both PEM.
type pair struct{ certificate, key string }

func newReplay(t *testing.T, exchanges []exchange) *replay {
	t.Helper()
	file, err := os.Open("testdata/recordings-world.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	model, err := sim.ReadModel(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &replay{
		t: t, exchanges: exchanges, match: newMatcher(spokenNames(exchanges)), problems: map[int][]string{},
		underway: map[int]chan served{}, trusted: newPair(t), stranger: newPair(t),
	}
	model.Hosts[0].TrustedCertificates = []string{p.trusted.certificate}
	if p.world, err = sim.New(model); err != nil {
		t.Fatal(err)
	}
	return p
}

func newPair(t *testing.T) pair {
	t.Helper()
	made, err := makePair()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func makePair() (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "replay"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}, nil
}

// spokenNames are the names and addresses that some request chose.
func spokenNames(exchanges []exchange) map[string]bool {
	spoken := map[string]bool{}
	for _, e := range exchanges {
		var form map[string]any
		if json.Unmarshal(e.Request.Form, &form) != nil {
			continue
		}
		for _, name := range []string{"name", "hostname", "ip", "ip_addresses"} {
			for _, value := range values(form)[name] {
				for word := range strings.FieldsSeq(value) {
					spoken[word] = true
				}
			}
		}
	}
	return spoken
}

func (p *replay) run() {
	for i, e := range p.exchanges {
		if before, ok := story[e.Number]; ok {
			p.t.Logf("before %s: %s", e, before.reason)
			before.play(p)
		}
		if partner, ok := together[e.Number]; ok {
			p.sendAhead(p.exchanges[i+1:], partner)
		}
		var got served
		if done := p.underway[e.Number]; done != nil {
			got = <-done
		} else {
			got = serve(p.world, p.request(e))
		}
		p.problems[e.Number] = p.match.compare(e, got)
		p.learn(e, got)
	}
}

// sendAhead starts an exchange that was under way when the next one was
// answered.
func (p *replay) sendAhead(later []exchange, number int) {
	for _, e := range later {
		if e.Number != number {
			continue
		}
		request, done := p.request(e), make(chan served, 1)
		p.underway[number] = done
		go func() { done <- serve(p.world, request) }()
		time.Sleep(time.Millisecond)
	}
}

func (p *replay) request(e exchange) *http.Request {
	request, err := p.match.rebuild(e, p.secrets(e))
	if err != nil {
		p.t.Fatalf("%s: cannot rebuild the request: %v", e, err)
	}
	p.authorize(e, request)
	if accept := accepts[e.Name]; accept != "" {
		request.Header.Set("Accept", accept)
	}
	return request
}

// accepts are headers that the recordings name and do not keep.
var accepts = map[string]string{"accept-xml": "application/xml", "accept-any": "*/*"}

// secrets are what stands for the placeholders of a request.
func (p *replay) secrets(e exchange) pair {
	switch e.Name {
	case "vmhost-create-cert-key-mismatch":
		return pair{certificate: p.trusted.certificate, key: p.stranger.key}
	case "vmhost-create-untrusted-cert":
		return p.stranger
	}
	return p.trusted
}

// authorize makes the Authorization header of an exchange: a fresh one, none,
// or the broken one that its name announces.
func (p *replay) authorize(e exchange, request *http.Request) {
	header := ""
	if broken, ok := p.broken(e.Name); ok {
		header = broken
	} else if e.Request.Authenticated {
		key := sim.DefaultAdminKey
		if nonAdmin(e) {
			key = sim.DefaultUserKey
		}
		header = apiKey(key).header(time.Now())
	}
	if header != "" {
		request.Header.Set("Authorization", header)
	}
}

// nonAdmin tells by the name which exchanges a user without admin rights sent.
// One was meant to and was sent by the admin: it succeeded.
func nonAdmin(e exchange) bool {
	return strings.Contains(e.Name, "user1") || strings.Contains(e.Name, "nonadmin") && e.Response.Status != http.StatusOK ||
		strings.HasSuffix(e.Name, "-nonadmin") && e.Request.Method == http.MethodGet || e.Name == "nonadmin-vmhost-list"
}

// broken are the headers of the exchanges about OAuth itself.
func (p *replay) broken(name string) (header string, ok bool) {
	parts := strings.Split(sim.DefaultAdminKey, ":")
	consumer, token, secret := parts[0], parts[1], parts[2]
	now := time.Now()
	plain := func(consumer, token, secret, nonce string, at time.Time) (string, bool) {
		return oauthHeader(consumer, token, secret, nonce, at, "PLAINTEXT"), true
	}
	switch name {
	case "oauth-invalid-consumer", "oauth-version-without-auth-needed-but-bad-creds":
		return plain("badconsumer", token, secret, "n1", now)
	case "oauth-invalid-token":
		return plain(consumer, "badtoken0000000000", secret, "n2", now)
	case "oauth-invalid-secret":
		return plain(consumer, token, "badsecret", "n3", now)
	case "oauth-expired-timestamp":
		return plain(consumer, token, secret, "n4", now.Add(-time.Hour))
	case "oauth-future-timestamp":
		return plain(consumer, token, secret, "n5", now.Add(time.Hour))
	case "oauth-nonce-first-use":
		p.nonce, _ = plain(consumer, token, secret, "n6", now)
		return p.nonce, true
	case "oauth-nonce-reused":
		return p.nonce, true
	case "oauth-garbage-header":
		return "OAuth garbage", true
	case "oauth-bearer-header":
		return "Bearer " + token, true
	case "oauth-bad-signature-method":
		return oauthHeader(consumer, token, secret, "n7", now, "HMAC-SHA256"), true
	}
	return "", false
}

// learn binds what a compose made to the recorded id even where the answers
// differ otherwise, so that one difference does not make many.
func (p *replay) learn(e exchange, got served) {
	if e.op() != "compose" || e.Response.Status != http.StatusOK || got.Status != http.StatusOK {
		return
	}
	var recorded, simulated struct {
		SystemID string `json:"system_id"`
	}
	if json.Unmarshal(e.Response.Body, &recorded) == nil && json.Unmarshal(got.Body, &simulated) == nil {
		p.bindNode(recorded.SystemID, simulated.SystemID)
	}
}

// call is a call that was not recorded; it must succeed.
func (p *replay) call(method, path string, form url.Values) []byte {
	p.t.Helper()
	request := httptest.NewRequest(method, "http://maas.test/MAAS/api/2.0/"+path, strings.NewReader(form.Encode()))
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	request.Header.Set("Authorization", apiKey(sim.DefaultAdminKey).header(time.Now()))
	got := serve(p.world, request)
	if got.Status >= 300 {
		p.t.Errorf("unrecorded %s %s: %d %s", method, path, got.Status, got.Body)
	}
	return got.Body
}

// steer checks that a change behind the client's back was possible.
func (p *replay) steer(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Errorf("steering: %v", err)
	}
}

func (p *replay) updateHost(recordedID string, form url.Values) {
	p.call("PUT", "vm-hosts/"+p.match.translate("VM host", recordedID)+"/", form)
}

// compose makes a VM on a recorded host and returns its system id.
func (p *replay) compose(recordedHost, hostname string, form url.Values) string {
	form.Set("hostname", hostname)
	body := p.call("POST", "vm-hosts/"+p.match.translate("VM host", recordedHost)+"/?op=compose", form)
	var made struct {
		SystemID string `json:"system_id"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		p.t.Errorf("compose %s: %v", hostname, err)
	}
	return made.SystemID
}

// register makes a VM host for the LXD and returns its id.
func (p *replay) register(name string) string {
	body := p.call("POST", "vm-hosts/", url.Values{
		"type": {"lxd"}, "power_address": {lxdURL}, "password": {trustPassword}, "name": {name},
	})
	var made struct {
		ID int `json:"id"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		p.t.Errorf("register %s: %v", name, err)
	}
	return fmt.Sprint(made.ID)
}

func (p *replay) deleteMachine(recordedID string) {
	p.call("DELETE", "machines/"+p.match.translate("node", recordedID)+"/", nil)
}

func (p *replay) deleteNamed(hostname string) {
	var found []struct {
		SystemID string `json:"system_id"`
	}
	if err := json.Unmarshal(p.call("GET", "machines/?hostname="+hostname, nil), &found); err != nil || len(found) != 1 {
		p.t.Errorf("want one machine %s, got %v %v", hostname, found, err)
		return
	}
	p.call("DELETE", "machines/"+found[0].SystemID+"/", nil)
}

func (p *replay) bindNode(recorded, simulated string) { p.match.bind("node", "", recorded, simulated) }
func (p *replay) bindHost(recorded, simulated string) {
	p.match.bind("VM host", "", recorded, simulated)
}

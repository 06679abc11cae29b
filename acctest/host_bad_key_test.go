package acctest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// TestAccHostBadKey: key pairs with which no host could be managed. The error
// names the attribute, or the file where no attribute gives the pair.
func TestAccHostBadKey(t *testing.T) {
	t.Parallel()
	old, early := newKeyPair(t, newYear(2010), newYear(2020)), newKeyPair(t, newYear(2090), newYear(2100))
	testRefusedHosts(t, map[string]badHost{
		"TrustedNonsense": {reason: "Only a certificate can be trusted.", body: withLXD(`trusted_certificates = ["abc"]`), want: `The certificate holds no certificate in PEM`},
		"TrustedExpired":  {reason: "Nobody could use an expired certificate.", body: withLXD(fmt.Sprintf("trusted_certificates = [%q]", old.certificate)), want: `expired on 2020-01-01`},
		"HalfAPair":       {reason: "The certificate comes without its key.", body: hostOnNode1(), settings: withPairFiles("a", ""), want: `key pair is incomplete lxd_client_key (MAASLXD_LXD_CLIENT_KEY) is not set Set both`},
		"OtherKey":        {reason: "Certificate and key belong to two pairs.", body: hostOnNode1(), settings: withPairFiles("a", "b"), at: "lxd_client_key", want: `lxd_client_key is not the private key of the certificate Give both halves`},
		"Expired":         {reason: "LXD no longer accepts the certificate.", body: hostOnNode1(), settings: old.asSettings, at: "lxd_client_cert", want: `lxd_client_cert: expired on 2020-01-01: LXD does not accept it any more Make a new pair lxc config trust add`},
		"NotYetValid":     {reason: "The certificate begins in the future, so a clock is wrong.", body: hostOnNode1(), settings: early.asSettings, at: "lxd_client_cert", want: `lxd_client_cert: is not valid before 2090-01-01 clock`},
		"FileExpired":     {reason: "The pair beside the ledger has expired.", body: hostOnNode1(), before: old.putBesideLedger, want: `client key pair lxd-client.pem cannot be used expired on 2020-01-01 Make a new pair, and let the hosts trust it lxd_client_cert`},
		"NoLastingKey":    {reason: "A key that ends with the run would lock everybody out.", body: hostOnNode1(), settings: withSetting(`ledger = "memory"`), want: `Cannot create VM host the ledger is a service or in memory so the provider has no folder for the fleet's key pair`},
		"KeyFileMissing":  {reason: "The value is neither PEM nor the path of a file.", body: hostOnNode1(), settings: withSetting(`lxd_client_cert = "/nowhere"`), at: "lxd_client_cert", want: `lxd_client_cert neither PEM text nor the path of a file`},
		"KeyReadByOthers": {
			reason: "Other users may have read the key.", body: hostOnNode1(),
			before: func(t *testing.T, x *metalTarget) {
				x.makeLXDTrustNewKey(t, "stray")
				if err := os.Chmod(x.keyFile(), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			want: `can be read or written by other users chmod 600`,
		},
	})
}

func newYear(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }

// keyPair is a client key pair, in PEM.
type keyPair struct{ certificate, key string }

func newKeyPair(t *testing.T, from, until time.Time) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
}

// asSettings makes the pair settings of the provider.
func (p keyPair) asSettings(*testing.T, *metalTarget) []string {
	return []string{fmt.Sprintf("lxd_client_cert = %q", p.certificate), fmt.Sprintf("lxd_client_key = %q", p.key)}
}

// putBesideLedger puts the pair beside the ledger.
func (p keyPair) putBesideLedger(t *testing.T, x *metalTarget) {
	t.Helper()
	if err := os.WriteFile(x.keyFile(), []byte(p.certificate+p.key), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAccHostKeyExpires: a host whose key has expired is not lost. It is not
// changed, and the plan and the error say why. A destroy needs no key.
func TestAccHostKeyExpires(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	newKeyPair(t, newYear(2010), newYear(2020)).putBesideLedger(t, x)
	w.configure(t, x.config(hostOnNode1(`zone = "az2"`)))
	if out := w.run(t, "plan", "-no-color"); !wordsPattern("0 to destroy Warning: VM host kvm1 cannot be made or changed expired on 2020-01-01").MatchString(unwrapMessage(out)) {
		t.Errorf("want the plan to warn, got:\n%s", out)
	}
	before := x.observeState()
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("lxd-client.pem cannot be used expired on 2020-01-01 lxd_client_cert and lxd_client_key").MatchString(unwrapMessage(out.String())) {
		t.Errorf("want the change refused, got %v:\n%s", err, out)
	}
	if diff := cmp.Diff(before, x.observeState(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("it changed something (-before +after):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccGoneKeyExpires: without a valid key nobody sees what is on a host. So
// the host stays until its owner allows the loss of everything on it.
func TestAccGoneKeyExpires(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	newKeyPair(t, newYear(2010), newYear(2020)).putBesideLedger(t, x)
	w.configure(t, x.configReachingLXD(""))
	w.wantRefusedChange(t, x, "", `Cannot delete VM host kvm1 cannot tell which VMs are on it expired on 2020-01-01 Give a valid client key pair or set force_destroy`)
	w.configure(t, x.configReachingLXD(hostOnNode1(`force_destroy = true`)))
	before := x.observeState()
	w.run(t, "apply", "-auto-approve", "-no-color")
	if diff := cmp.Diff(before, x.observeState(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("a note for the destroy changed something (-before +after):\n%s", diff)
	}
	w.configure(t, x.configReachingLXD(hostOnNode1(`force_destroy = true`, `zone = "az2"`)))
	w.wantRefusedChange(t, x, "", `lxd-client.pem cannot be used expired on 2020-01-01`)
	w.configure(t, x.configReachingLXD(""))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccHostKeyInClear: over plain http the private key is sent only where the
// user allows it. Nothing is made before that, not even a key.
func TestAccHostKeyInClear(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	root, err := url.Parse(strings.TrimSuffix(x.url, "/MAAS"))
	if err != nil {
		t.Fatal(err)
	}
	// A proxy leads to the simulator under a name other than this machine's.
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(root) }})
	t.Cleanup(proxy.Close)
	config := strings.ReplaceAll(x.config(hostOnNode1()), x.url, "http://maas.example:5240/MAAS")
	w := newWorkspace(t, config)
	w.env = append(w.env, "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")

	if out := w.run(t, "plan", "-no-color"); !wordsPattern("Warning: VM host kvm1 cannot be made or changed plain http at maas.example:5240 allow_insecure_key = true").MatchString(unwrapMessage(out)) {
		t.Errorf("want the plan to warn, got:\n%s", out)
	}
	w.wantRefusedCreate(t, x, "", "MAAS is reached over plain http at maas.example:5240 private LXD client key https address of MAAS as api_url allow_insecure_key = true in the provider block")
	if _, err := os.Stat(x.keyFile()); !os.IsNotExist(err) {
		t.Errorf("a key was made all the same: %v", err)
	}
	w.configure(t, strings.Replace(config, `owner =`, "allow_insecure_key = true\n  owner =", 1))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if m := x.findMachine(t, "node1"); len(x.listVMHosts(t)) != 1 {
		t.Errorf("want the host registered, got %+v", m)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// configOnly is config with settings that replace its own.
func (x *metalTarget) configOnly(body string, settings ...string) string {
	all := append([]string{`poll_interval = "50ms"`, `probe = "maas"`}, settings...)
	if len(settings) == 0 || settings[0] != `ledger = "memory"` {
		all = append(all, fmt.Sprintf("ledger = %q", filepath.Join(x.folder, "ledger.db")))
	}
	return x.configWith(strings.Join(all, "\n  "), body)
}

func withSetting(line string) func(*testing.T, *metalTarget) []string {
	return func(*testing.T, *metalTarget) []string { return []string{line} }
}

// withPairFiles sets the certificate of one key pair and the key of another, by
// path. An empty path is left out.
func withPairFiles(certificate, key string) func(*testing.T, *metalTarget) []string {
	return func(t *testing.T, x *metalTarget) (lines []string) {
		for attribute, name := range map[string]string{"lxd_client_cert": certificate, "lxd_client_key": key} {
			if name == "" {
				continue
			}
			made, err := fleetkey.LoadOrCreate(filepath.Join(x.folder, name+".pem"), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			text := map[string]string{"lxd_client_cert": made.Certificate, "lxd_client_key": made.Key}[attribute]
			lines = append(lines, fmt.Sprintf("%s = %q", attribute, text))
		}
		return lines
	}
}

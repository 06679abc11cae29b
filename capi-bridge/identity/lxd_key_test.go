package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/capi-bridge/identity"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// newKeyPairUntil is a key pair whose certificate expires at a time.
func newKeyPairUntil(t *testing.T, end time.Time) (certificate, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(-1, 0, 0), NotAfter: end}
	public, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// TestUnusableFleetKey: a pair that cannot be used is missed where an LXD is to be
// asked or set up, and nowhere else. A pair in its place is used.
func TestUnusableFleetKey(t *testing.T) {
	t.Parallel()
	certificate, private := newKeyPairUntil(t, time.Now().AddDate(1, 0, 0))
	_, others := newKeyPairUntil(t, time.Now().AddDate(1, 0, 0))
	expired, itsKey := newKeyPairUntil(t, time.Date(2020, 2, 3, 0, 0, 0, 0, time.UTC))
	cases := map[string]struct {
		reason string
		secret []string // nil: there is none
		file   string   // beside the ledger; empty: there is none
		says   []string
	}{
		"Half":    {reason: "A half pair is a mistake.", secret: []string{"tls.crt", certificate}, says: []string{"Secret capmaas-system/lxd", "tls.key"}},
		"Garbage": {reason: "So is what is no PEM.", secret: []string{"tls.crt", "typed by hand", "tls.key", private}, says: []string{"Secret capmaas-system/lxd", "tls.crt"}},
		"Others":  {reason: "And a key of another certificate.", secret: []string{"tls.crt", certificate, "tls.key", others}, says: []string{"Secret capmaas-system/lxd"}},
		"Expired": {reason: "No LXD takes it any more.", secret: []string{"tls.crt", expired, "tls.key", itsKey}, says: []string{"Secret capmaas-system/lxd", "tls.crt: expired on 2020-02-03"}},
		"File":    {reason: "The one beside the ledger may be broken.", file: "cut off", says: []string{fleetkey.KeyFile}},
		"None":    {reason: "There is no place for one.", says: []string{"no key pair"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sim.StartServer(t, sim.Model{})
			objects := []client.Object{newSecret(managerNamespace, "maas-credentials", "apiKey", s.APIKey()), newEndpointConfigMap("maasEndpoint", s.URL)}
			if tc.secret != nil {
				objects = append(objects, newSecret(managerNamespace, "lxd", tc.secret...))
			}
			w := newTestSites(t, func(c *identity.Config) {
				if tc.file == "" {
					return
				}
				c.Folder = t.TempDir()
				if err := os.WriteFile(filepath.Join(c.Folder, fleetkey.KeyFile), []byte(tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}, objects...)
			if got, err := w.listZones(t, ""); got != "default" || err != nil {
				t.Fatalf("%s But MAAS takes the key: zones %q, %v", tc.reason, got, err)
			}
			lacking, _ := w.Site(t.Context(), newCluster(""))
			missing, ok := errors.AsType[*engine.SpecError](lacking.CredentialsErr)
			if !ok || missing.Hint == "" || !engine.IsTerminal(missing) || lacking.Credentials.Certificate != "" {
				t.Fatalf("%s The site has %q, and says %#v", tc.reason, lacking.Credentials.Certificate, lacking.CredentialsErr)
			}
			for _, want := range tc.says {
				if !strings.Contains(missing.Message, want) || strings.Contains(missing.Message, "PRIVATE") {
					t.Errorf("%s It says %q, want %q", tc.reason, missing.Message, want)
				}
			}
			right := newSecret(managerNamespace, "lxd", "tls.crt", certificate, "tls.key", private)
			if err := errors.Join(client.IgnoreNotFound(w.Delete(t.Context(), right.DeepCopy())), w.Create(t.Context(), right)); err != nil {
				t.Fatal(err)
			}
			w.now = w.now.Add(2 * time.Minute)
			if mended, err := w.Site(t.Context(), newCluster("")); err != nil || mended.Credentials.Key != private || mended.CredentialsErr != nil {
				t.Errorf("%s The pair that came is not used: %v, %v", tc.reason, err, mended)
			}
		})
	}
}

package fleetkey

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// selfSigned is a certificate of the key, valid for the day after from, and
// the key as OpenSSL writes it by now.
func selfSigned(t *testing.T, key crypto.Signer, from time.Time) (certificate, private string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "given"}, NotBefore: from, NotAfter: from.Add(24 * time.Hour),
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return block(certificateBlock, public), block("PRIVATE KEY", secret)
}

func block(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

func ed25519Key(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestParseKeyPair(t *testing.T) {
	t.Parallel()
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	made := makeKey(t)
	now := time.Now()
	rsaCertificate, rsaKey := selfSigned(t, big, now)
	edCertificate, edKey := selfSigned(t, ed25519Key(t), now)
	cases := map[string]struct{ reason, certificate, key string }{
		"Made":    {"What is made can be given.", made.Certificate, made.Key},
		"RSA":     {"Old clients of LXD have such.", rsaCertificate, rsaKey},
		"Ed25519": {"OpenSSL makes such.", edCertificate, edKey},
		"Words":   {"OpenSSL writes words around PEM.", "subject=CN = given\n" + edCertificate + "\n", "Key:\n" + edKey},
		"Both":    {"A file with both halves given as the key.", edCertificate, edCertificate + edKey},
		"OneFile": {"A file with both halves given twice.", edCertificate + edKey, edCertificate + edKey},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tc.certificate, tc.key, now)
			if err != nil {
				t.Fatalf("%s: %s", tc.reason, errorWithHint(err))
			}
			again, err := Parse(got.Certificate, got.Key, now)
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("%s: not the same when given again: %v\n%s", tc.reason, err, diff)
			}
			public, _ := splitPEM([]byte(tc.certificate))
			if got.Fingerprint != fingerprintOf(t, public) || strings.Contains(got.Certificate, "PRIVATE") || len(got.Fingerprint) != 64 {
				t.Errorf("fingerprint %s", got.Fingerprint)
			}
		})
	}
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key, other := makeKey(t), makeKey(t)
	oldCertificate, oldKey := selfSigned(t, ed25519Key(t), now.Add(-48*time.Hour))
	earlyCertificate, earlyKey := selfSigned(t, ed25519Key(t), now.Add(time.Hour))
	old := string(pem.EncodeToMemory(&pem.Block{
		Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("secret"),
	}))
	cases := map[string]struct{ reason, certificate, key, field, message string }{
		"NoCertificate":    {"Half a pair.", "", key.Key, certField, "holds no certificate"},
		"NoKey":            {"Half a pair.", key.Certificate, "", keyField, "holds no private key"},
		"Path":             {"A path is not PEM.", "client.crt", key.Key, certField, "holds no certificate"},
		"Swapped":          {"A key in public text must be noticed.", key.Key, key.Certificate, certField, "holds a private key"},
		"TwoCertificates":  {"A chain: LXD trusts the first alone.", key.Certificate + other.Certificate, key.Key, certField, "holds 2 certificates"},
		"DamagedCert":      {"Copied badly.", block(certificateBlock, []byte("noise")), key.Key, certField, "damaged"},
		"DamagedKey":       {"Copied badly.", key.Certificate, block("EC PRIVATE KEY", []byte("noise")), keyField, "not the private key"},
		"OtherKey":         {"Halves of two pairs.", key.Certificate, other.Key, keyField, "not the private key"},
		"Encrypted":        {"A passphrase cannot be asked for.", key.Certificate, block("ENCRYPTED PRIVATE KEY", []byte("x")), keyField, "passphrase"},
		"EncryptedOldWay":  {"A passphrase cannot be asked for.", key.Certificate, old, keyField, "passphrase"},
		"Expired":          {"LXD refuses it, without saying why.", oldCertificate, oldKey, certField, "expired on " + now.Add(-24*time.Hour).UTC().Format(time.DateOnly)},
		"NotYet":           {"A clock is wrong.", earlyCertificate, earlyKey, certField, "not valid before"},
		"WholeFileAlone":   {"One variable has the whole file, and the other is empty.", key.Certificate + key.Key, "", keyField, "is not set"},
		"OneLine":          {"The secret lost its line breaks.", oneLine(key.Certificate), key.Key, certField, "without its line breaks"},
		"OneLineKey":       {"The secret lost its line breaks.", key.Certificate, oneLine(key.Key), keyField, "without its line breaks"},
		"OneLineFile":      {"Both variables have the whole file.", oneLine(key.Certificate + key.Key), oneLine(key.Certificate + key.Key), certField, "without its line breaks"},
		"CertificateAsKey": {"The public half twice.", key.Certificate, key.Certificate, keyField, "holds no private key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tc.certificate, tc.key, now)
			e, ok := errors.AsType[*engine.SpecError](err)
			if !ok || e.Field.String() != tc.field || !strings.Contains(e.Message, tc.message) || e.Hint == "" {
				t.Fatalf("%s: got %v, want %s: …%s…", tc.reason, err, tc.field, tc.message)
			}
			if diff := cmp.Diff(Key{}, got); diff != "" {
				t.Errorf("a key beside an error: %s", diff)
			}
			noSecret(t, errorWithHint(err), key)
			noSecret(t, errorWithHint(err), other)
		})
	}
}

func TestSameKey(t *testing.T) {
	t.Parallel()
	a, b, c := strings.Repeat("aa", 32), strings.Repeat("bb", 32), strings.Repeat("cc", 32)
	cases := map[string]struct {
		reason string
		noted  []string
		same   bool
	}{
		"Same":      {"The host was made with it.", []string{a}, true},
		"Next":      {"The host trusts the pair that follows, too.", []string{b, a}, true},
		"Spelling":  {"OpenSSL's way to write it.", []string{strings.ToUpper(pairs(a))}, true},
		"NoneNoted": {"A host that runs already notes nothing.", nil, true},
		"EmptyNote": {"A note that was never written.", []string{""}, true},
		"Other":     {"The key was lost, or it is another ledger's.", []string{b}, false},
		"Others":    {"Neither is at hand.", []string{b, c}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckSameKey(a, tc.noted...)
			if (err == nil) != tc.same {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if err == nil {
				return
			}
			for _, want := range append(tc.noted, a, certField, keyField) {
				if !strings.Contains(errorWithHint(err), want) {
					t.Errorf("the error does not name %s: %s", want, errorWithHint(err))
				}
			}
			if !errors.Is(err, engine.ErrForbidden) || !engine.IsTerminal(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTrustedCertificates(t *testing.T) {
	t.Parallel()
	a, b := makeKey(t), makeKey(t)
	got, err := TrustedCertificates(time.Now(), a.Certificate, "", b.Certificate+"\n", a.Certificate)
	if diff := cmp.Diff([]string{a.Certificate, b.Certificate}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	if _, err := TrustedCertificates(time.Now(), a.Certificate, b.Key); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("a private key goes to the hosts: %v", err)
	}
	if _, err := TrustedCertificates(b.NotAfter.Add(time.Hour), a.Certificate); err == nil {
		t.Error("an expired certificate goes to the hosts")
	}
	if _, err := Fingerprint("no certificate"); err == nil {
		t.Error("a fingerprint of nothing")
	}
}

package realmaas_test

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// TestReadSettings reads the variables, and names the wrong one.
func TestReadSettings(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		env    map[string]string
		err    string
	}{
		"Named":       {"It is enough for a client.", nil, ""},
		"NoKey":       {"One without the other is a mistake.", map[string]string{"MAAS_API_KEY": ""}, "set both"},
		"NoInterval":  {"A number without a unit says nothing.", map[string]string{"MAASLXD_ACC_POLL_INTERVAL": "5"}, "MAASLXD_ACC_POLL_INTERVAL"},
		"NoDeadline":  {"No story could begin.", map[string]string{"MAASLXD_ACC_DEADLINE": "0s"}, "MAASLXD_ACC_DEADLINE"},
		"NoParallel":  {"No story could begin.", map[string]string{"MAASLXD_ACC_PARALLEL": "0"}, "MAASLXD_ACC_PARALLEL"},
		"NoCA":        {"The file is not there.", map[string]string{"MAAS_API_CACERT": "/nowhere.pem"}, "MAAS_API_CACERT"},
		"NoLXDCert":   {"An LXD is looked into with one.", map[string]string{"MAASLXD_ACC_LXD": "a"}, "MAASLXD_ACC_LXD_CERT"},
		"Fingerprint": {"Each LXD has one.", map[string]string{"MAASLXD_ACC_LXD": "a,b", "MAASLXD_ACC_LXD_CERT": "-----BEGIN", "MAASLXD_ACC_LXD_KEY": "-----BEGIN", "MAASLXD_ACC_LXD_FINGERPRINT": "AB:CD"}, "MAASLXD_ACC_LXD_FINGERPRINT"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"MAAS_API_URL": "http://127.0.0.1:1/MAAS", "MAAS_API_KEY": "a:b:c"}
			for name, value := range tc.env {
				env[name] = value
			}
			_, err := realmaas.ReadSettings(func(name string) string { return env[name] })
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\ngot %v, want an error with %q", tc.reason, err, tc.err)
			}
		})
	}
	env := map[string]string{
		"MAAS_API_URL": "http://127.0.0.1:1/MAAS", "MAAS_API_KEY": "a:b:c", "MAASLXD_ACC_DEADLINE": "90m", "MAASLXD_ACC_LXD": "a, https://b:1",
		"MAASLXD_ACC_LXD_CERT": "-----BEGIN", "MAASLXD_ACC_LXD_KEY": "-----BEGIN", "MAASLXD_ACC_LXD_FINGERPRINT": "AB:CD,ef",
	}
	s, err := realmaas.ReadSettings(func(name string) string { return env[name] })
	if err != nil || s.Deadline != 90*time.Minute || len(s.LXDs) != 2 || s.LXDs[0].Fingerprint != "abcd" || s.LXDs[1].Address != "https://b:1" {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestOpenTrusts reaches a MAAS over https whose certificate the site's own CA
// has signed. It works only where the variable names that CA.
func TestOpenTrusts(t *testing.T) {
	t.Parallel()
	_, s := openMAAS(t, lentModel())
	to, err := url.Parse(strings.TrimSuffix(s.URL, "/MAAS"))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(to))
	t.Cleanup(front.Close)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}))
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for title, tc := range map[string]struct {
		ca string
		ok bool
	}{"Text": {text, true}, "File": {file, true}, "None": {"", false}} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"MAAS_API_URL": front.URL + "/MAAS", "MAAS_API_KEY": s.APIKey(), "MAAS_API_CACERT": tc.ca}
			settings, err := realmaas.ReadSettings(func(name string) string { return env[name] })
			if err != nil {
				t.Fatal(err)
			}
			c, err := settings.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.Pause = time.Millisecond
			if machines, err := c.Machines(t.Context()); (err == nil) != tc.ok || tc.ok && len(machines) == 0 {
				t.Errorf("it lists %d machines, %v", len(machines), err)
			}
		})
	}
	c, err := realmaas.NewClient(front.URL, s.APIKey())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Trust("no certificate"); err == nil {
		t.Error("a text without a certificate is no error")
	}
}

package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestLedgerSettings reads the access to a ledger service from the block and from the
// environment. Errors are at their attributes.
func TestLedgerSettings(t *testing.T) {
	folder := t.TempDir()
	authority, err := access.OpenAuthority(folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := authority.IssueClient("ci", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "ci.key")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "https://ledger.example:7443"
	set := types.StringValue
	good := map[string]string{"MAASLXD_LEDGER_CA": authority.Certificate, "MAASLXD_LEDGER_CERT": string(certificate), "MAASLXD_LEDGER_KEY": file}
	cases := map[string]struct {
		reason string
		env    map[string]string
		model  providerModel
		at     string // the attribute of the error; empty: none
		says   string
	}{
		"Environment": {"The key comes from the environment, as text or as a file.", good, providerModel{Ledger: set(address)}, "", ""},
		"Block":       {"The settings come from the block.", nil, providerModel{Ledger: set(address), LedgerCert: set(string(certificate)), LedgerKey: set(file)}, "", ""},
		"BesideFile":  {"Beside a file, the variables of a job are ignored.", good, providerModel{Ledger: set("/var/lib/ledger.db")}, "", ""},
		"Unknown":     {"A value of the same run is not known yet.", nil, providerModel{Ledger: set(address), LedgerCert: types.StringUnknown()}, "", ""},
		"NoService":   {"An attribute without an effect is a mistake.", nil, providerModel{LedgerCert: set("x")}, "ledger_cert", "is for a ledger on another machine"},
		"NoKey":       {"The certificate alone proves nothing.", nil, providerModel{Ledger: set(address), LedgerCert: set(string(certificate))}, "ledger_key", "is missing"},
		"NoFile":      {"The message does not repeat the text.", nil, providerModel{Ledger: set(address), LedgerKey: set("s3cret")}, "ledger_key", "is neither PEM text nor the path of a file"},
		"PlainNode":   {"Each node of a cluster is checked.", good, providerModel{Ledger: set("https://a.example,http://b.example")}, "ledger", "has an entry 2, http://b.example, that begins with http://"},
		"Plain":       {"Keys and rows need TLS.", good, providerModel{Ledger: set("http://ledger.example")}, "ledger", "begins with http://"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"MAASLXD_LEDGER", "MAASLXD_LEDGER_CA", "MAASLXD_LEDGER_CERT", "MAASLXD_LEDGER_KEY"} {
				t.Setenv(v, tc.env[v])
			}
			got, diags := tc.model.settings()
			if tc.at == "" {
				if diags.HasError() || name == "Environment" && (got.LedgerAccess.Key != string(key) || got.LedgerAccess.CA != authority.Certificate) {
					t.Errorf("%s\ngot %s", tc.reason, providertest.DescribeDiagnostics(diags))
				}
				return
			}
			if len(diags) != 1 || diags[0].(diag.DiagnosticWithPath).Path().String() != tc.at || !strings.Contains(diags[0].Detail(), tc.says) ||
				strings.Contains(diags[0].Detail(), "s3cret") {
				t.Errorf("%s\ngot %s", tc.reason, providertest.DescribeDiagnostics(diags))
			}
		})
	}
}

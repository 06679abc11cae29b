package provider

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/vm"
)

// TestSchemaIsServed asks the server for its schemas as Terraform does: the framework then
// checks them.
func TestSchemaIsServed(t *testing.T) {
	t.Parallel()
	server := providerserver.NewProtocol6(New("test")())()
	resp, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	vm, ok := resp.ResourceSchemas["maaslxd_vm"]
	if !ok || vm.Version != 0 {
		t.Fatalf("maaslxd_vm has schema %+v, want one of version 0", vm)
	}
	for _, a := range vm.Block.Attributes {
		if a.Description == "" && a.Name != "timeouts" {
			t.Errorf("attribute %s has no description", a.Name)
		}
	}
	if n := len(resp.DataSourceSchemas); n != 12 {
		t.Errorf("there are %d data sources, want 12", n)
	}
	for source, schema := range resp.DataSourceSchemas {
		for _, a := range schema.Block.Attributes {
			if a.Description == "" {
				t.Errorf("attribute %s of %s has no description", a.Name, source)
			}
		}
	}
}

func TestSchemaImplementation(t *testing.T) {
	t.Parallel()
	var resp provider.SchemaResponse
	New("test")().Schema(t.Context(), provider.SchemaRequest{}, &resp)
	if diags := resp.Schema.ValidateImplementation(t.Context()); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
}

const anyKey = "consumer:token:secret"

func TestSettings(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		model  providerModel
		want   client.Settings
	}{
		"Environment": {
			reason: "Missing values come from the environment, and others from the defaults.",
			env:    map[string]string{"MAAS_API_URL": "http://env/MAAS", "MAAS_API_KEY": anyKey, "MAAS_API_CACERT": "-----BEGIN x", "MAASLXD_LEDGER": "/env/ledger.db"},
			want: client.Settings{
				APIURL: "http://env/MAAS", APIKey: anyKey, CACert: []byte("-----BEGIN x"), Ledger: "/env/ledger.db",
				Owner: "", RequestTimeout: defaultRequestTimeout, PollInterval: defaultPollInterval, Probe: client.ProbeAuto, OnUnfinished: client.UnfinishedWarns,
			},
		},
		"BlockWins": {
			reason: "A configured value wins over that of the environment.",
			env:    map[string]string{"MAAS_API_URL": "http://env/MAAS", "MAASLXD_LEDGER": "/env/ledger.db"},
			model: providerModel{
				APIURL: types.StringValue("http://block/MAAS"), Owner: types.StringValue("team"), Ledger: types.StringValue(client.MemoryLedger),
				Probe: types.StringValue(client.ProbeMAAS), OnUnfinished: types.StringValue(client.UnfinishedFails), AllowInsecure: types.BoolValue(true),
				PollInterval: types.StringValue("100ms"), RequestTimeout: types.StringValue("2m"),
			},
			want: client.Settings{
				APIURL: "http://block/MAAS", Owner: "team", Ledger: client.MemoryLedger, CACert: []byte(""),
				RequestTimeout: 2 * 60e9, PollInterval: 100e6, Probe: client.ProbeMAAS, OnUnfinished: client.UnfinishedFails, Key: client.KeySettings{AllowInsecure: true},
			},
		},
		"Unknown": {
			reason: "The environment must not replace a value that is not known yet.",
			env:    map[string]string{"MAAS_API_URL": "http://env/MAAS"},
			model:  providerModel{APIURL: types.StringUnknown()},
			want: client.Settings{
				Owner: "", CACert: []byte(""), IsUnknown: true,
				RequestTimeout: defaultRequestTimeout, PollInterval: defaultPollInterval, Probe: client.ProbeAuto, OnUnfinished: client.UnfinishedWarns,
			},
		},
		"UnknownLedger": {
			reason: "A ledger that is not known yet is like an unknown address.",
			env:    map[string]string{"MAASLXD_LEDGER": "/env/ledger.db"},
			model:  providerModel{Ledger: types.StringUnknown()},
			want: client.Settings{
				Owner: "", CACert: []byte(""), IsUnknown: true,
				RequestTimeout: defaultRequestTimeout, PollInterval: defaultPollInterval, Probe: client.ProbeAuto, OnUnfinished: client.UnfinishedWarns,
			},
		},
		"UnknownKey": {
			reason: "A key that is not known yet is like an unknown address.",
			model:  providerModel{LXDClientCert: types.StringUnknown()},
			want: client.Settings{
				Owner: "", CACert: []byte(""), IsUnknown: true,
				RequestTimeout: defaultRequestTimeout, PollInterval: defaultPollInterval, Probe: client.ProbeAuto, OnUnfinished: client.UnfinishedWarns,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"MAASLXD_LXD_CLIENT_CERT", "MAASLXD_LXD_CLIENT_KEY", "MAAS_API_URL", "MAAS_API_KEY", "MAAS_API_CACERT", "MAASLXD_LEDGER"} {
				t.Setenv(v, tc.env[v])
			}
			got, diags := tc.model.settings()
			if diags.HasError() {
				t.Fatal(providertest.DescribeDiagnostics(diags))
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(client.Settings{}, client.KeySettings{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettingsNameTheCAFileThatIsMissing(t *testing.T) {
	t.Parallel()
	_, diags := providerModel{CACert: types.StringValue("no/such.pem")}.settings()
	if !diags.HasError() || !diags[0].(diag.DiagnosticWithPath).Path().Equal(path.Root("ca_cert")) {
		t.Errorf("got %v, want an error at ca_cert", providertest.DescribeDiagnostics(diags))
	}
}

func TestReportSetting(t *testing.T) {
	t.Parallel()
	_, err := client.New(client.Settings{APIURL: "maas.example.com", APIKey: "a:b", CACert: []byte("no PEM")}, new(client.Ledgers))
	var diags diag.Diagnostics
	providerModel{APIURL: types.StringValue("maas.example.com"), APIKey: types.StringValue("a:b"), CACert: types.StringValue("no PEM")}.reportSettingError(&diags, err)
	var at []string
	for _, d := range diags {
		at = append(at, d.(diag.DiagnosticWithPath).Path().String())
	}
	if diff := cmp.Diff([]string{"api_url", "api_key", "ca_cert"}, at); diff != "" {
		t.Errorf("one error for each bad attribute (-want +got):\n%s", diff)
	}
	for _, line := range providertest.DescribeDiagnostics(diags) {
		if strings.Contains(line, "a:b") {
			t.Errorf("the key is in the error: %s", line)
		}
	}
}

// TestReportVariable: an error of a value of the environment names the variable, and points at no
// attribute, which the configuration may not have.
func TestReportVariable(t *testing.T) {
	for _, s := range (providerModel{}).settingsWithVariables() {
		t.Setenv(s.variable, "")
	}
	const service = "https://ledger.example.com:8443"
	cases := map[string]struct{ reason, variable, value, ledger string }{
		"Address":     {"It has no scheme.", "MAAS_API_URL", "maas.example.com", ""},
		"Key":         {"It has two parts, not three.", "MAAS_API_KEY", "a:b", ""},
		"CA":          {"There is no such file.", "MAAS_API_CACERT", "no/such.pem", ""},
		"Ledger":      {"Only a shell knows what ~ is.", "MAASLXD_LEDGER", "~/ledger.db", ""},
		"LXDCert":     {"There is no such file.", "MAASLXD_LXD_CLIENT_CERT", "no/such.pem", ""},
		"LXDKey":      {"There is no such file.", "MAASLXD_LXD_CLIENT_KEY", "no/such.pem", ""},
		"LXDCertOnly": {"A certificate has no PEM block of this kind.", "MAASLXD_LXD_CLIENT_CERT", "-----BEGIN NOTHING-----", ""},
		"ServiceCA":   {"There is no such file.", "MAASLXD_LEDGER_CA", "no/such.pem", service},
		"ServiceCert": {"There is no such file.", "MAASLXD_LEDGER_CERT", "no/such.pem", service},
		"ServiceKey":  {"There is no such file.", "MAASLXD_LEDGER_KEY", "no/such.pem", service},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MAAS_API_URL", "http://maas.example.com:5240/MAAS")
			t.Setenv("MAAS_API_KEY", "a:b:c")
			t.Setenv(tc.variable, tc.value)
			m := providerModel{}
			if tc.ledger != "" {
				m.Ledger = types.StringValue(tc.ledger)
			}
			s, diags := m.settings()
			if !diags.HasError() {
				if _, err := client.New(s, new(client.Ledgers)); err != nil {
					m.reportSettingError(&diags, err)
				}
			}
			if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return strings.Contains(d.Summary(), tc.variable) }) {
				t.Errorf("%s: got %v", tc.reason, providertest.DescribeDiagnostics(diags))
			}
			for _, d := range diags {
				if at, ok := d.(diag.DiagnosticWithPath); ok {
					t.Errorf("%s: it points at %s", tc.reason, at.Path())
				}
			}
		})
	}
}

// TestHalfAKeyPair: a half that is not set is told apart from one that cannot be used.
func TestHalfAKeyPair(t *testing.T) {
	key, err := fleetkey.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		model  providerModel
		env    map[string]string
		want   string
	}{
		"NoKey":      {"A CI job has no such variable.", providerModel{}, map[string]string{"MAASLXD_LXD_CLIENT_CERT": key.Certificate}, "lxd_client_key (MAASLXD_LXD_CLIENT_KEY) is not set"},
		"NoCert":     {"The other half alone is a mistake as well.", providerModel{}, map[string]string{"MAASLXD_LXD_CLIENT_KEY": key.Key}, "lxd_client_cert (MAASLXD_LXD_CLIENT_CERT) is not set"},
		"EmptyKey":   {"An input variable without a value is empty.", providerModel{LXDClientCert: types.StringValue(key.Certificate), LXDClientKey: types.StringValue("")}, nil, "lxd_client_key (MAASLXD_LXD_CLIENT_KEY) is not set"},
		"KeyIsCert":  {"The key is set, but to the certificate.", providerModel{}, map[string]string{"MAASLXD_LXD_CLIENT_CERT": key.Certificate, "MAASLXD_LXD_CLIENT_KEY": key.Certificate + "\n"}, "holds no private key in PEM"},
		"UnknownKey": {"An ephemeral resource gives the key later.", providerModel{LXDClientCert: types.StringValue(key.Certificate), LXDClientKey: types.StringUnknown()}, nil, ""},
		"Both":       {"The pair is whole.", providerModel{}, map[string]string{"MAASLXD_LXD_CLIENT_CERT": key.Certificate, "MAASLXD_LXD_CLIENT_KEY": key.Key}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"MAASLXD_LXD_CLIENT_CERT", "MAASLXD_LXD_CLIENT_KEY"} {
				t.Setenv(v, tc.env[v])
			}
			_, diags := tc.model.settings()
			if got := strings.Join(providertest.DescribeDiagnostics(diags), "\n"); diags.HasError() != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	if got, want := userAgent("1.2.3", "1.11.4"), "terraform-provider-maaslxd/1.2.3 terraform/1.11.4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPlanWithoutMAAS refreshes a VM while the provider block is not known yet, or missing.
func TestPlanWithoutMAAS(t *testing.T) {
	for _, v := range []string{"MAAS_API_URL", "MAAS_API_KEY", "MAAS_API_CACERT", "MAASLXD_LEDGER"} {
		t.Setenv(v, "")
	}
	cases := map[string]struct {
		reason   string
		apiURL   any
		severity tfprotov6.DiagnosticSeverity
	}{
		"Unknown": {"A MAAS that the same apply makes is no error, but needs a warning.", tftypes.UnknownValue, tfprotov6.DiagnosticSeverityWarning},
		"Missing": {"Without a MAAS, existing objects cannot be read.", nil, tfprotov6.DiagnosticSeverityError},
	}
	before := providertest.Object{"id": "4y3h7n", "name": "web-1", "vm_host": "lxd-a", "cores": 2, "status": "Deployed"}
	typ := providertest.ServeResource(t, vm.NewResource).Type
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := providerserver.NewProtocol6(New("test")())()
			configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: providerBlock(t, tc.apiURL)})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range configured.Diagnostics {
				t.Errorf("Configure: %s: %s", d.Summary, d.Detail)
			}
			resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
				TypeName: "maaslxd_vm", CurrentState: before.DynamicValue(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Severity != tc.severity {
				t.Fatalf("%s\ngot %+v", tc.reason, resp.Diagnostics)
			}
			had, err := before.DynamicValue(t).Unmarshal(typ)
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := resp.NewState.Unmarshal(typ); err != nil || !kept.Equal(had) {
				t.Errorf("%s\nthe state was %s, and is %s (%v)", tc.reason, had, kept, err)
			}
		})
	}
}

// providerBlock is a block in which only api_url is set.
func providerBlock(t *testing.T, apiURL any) *tfprotov6.DynamicValue {
	t.Helper()
	var resp provider.SchemaResponse
	New("test")().Schema(t.Context(), provider.SchemaRequest{}, &resp)
	values := map[string]tftypes.Value{}
	for name, a := range resp.Schema.Attributes {
		values[name] = tftypes.NewValue(a.GetType().TerraformType(t.Context()), nil)
	}
	values["api_url"] = tftypes.NewValue(tftypes.String, apiURL)
	typ := resp.Schema.Type().TerraformType(t.Context())
	block, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, values))
	if err != nil {
		t.Fatal(err)
	}
	return &block
}

func TestSettingsRefuseATilde(t *testing.T) {
	t.Parallel()
	_, diags := providerModel{Ledger: types.StringValue("~/ledger.db")}.settings()
	if len(diags) != 1 || diags[0].(diag.DiagnosticWithPath).Path().String() != "ledger" ||
		!strings.Contains(diags[0].Detail(), `pathexpand("~/ledger.db")`) {
		t.Errorf("got %v", providertest.DescribeDiagnostics(diags))
	}
}

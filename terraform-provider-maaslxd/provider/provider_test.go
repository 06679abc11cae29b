package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// describe writes diagnostics down as tests compare them.
func describe(diags diag.Diagnostics) []string {
	var lines []string
	for _, d := range diags {
		at := ""
		if p, ok := d.(diag.DiagnosticWithPath); ok {
			at = p.Path().String() + ": "
		}
		lines = append(lines, d.Severity().String()+" "+at+d.Summary()+": "+d.Detail())
	}
	return lines
}

// TestSchemaIsServed asks the server for its schemas the way Terraform does:
// the framework then checks them.
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
	if n := len(resp.DataSourceSchemas); n != 4 {
		t.Errorf("there are %d data sources, want 4", n)
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
	ctx := t.Context()
	if diags := vmSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Error(describe(diags))
	}
	if diags := vmIdentitySchema().ValidateImplementation(ctx); diags.HasError() {
		t.Error(describe(diags))
	}
	if diags := hostSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Error(describe(diags))
	}
	var resp provider.SchemaResponse
	New("test")().Schema(ctx, provider.SchemaRequest{}, &resp)
	if diags := resp.Schema.ValidateImplementation(ctx); diags.HasError() {
		t.Error(describe(diags))
	}
}

// TestModelTypes holds the Go types of nested attributes to the schema's.
func TestModelTypes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	attributes := vmSchema(ctx).Attributes
	for name, want := range map[string]interface{ String() string }{
		"disks":      types.MapType{ElemType: diskType},
		"interfaces": types.MapType{ElemType: interfaceType},
		"deploy":     deployType,
		"placement":  placementType,
	} {
		if diff := cmp.Diff(attributes[name].GetType().String(), want.String()); diff != "" {
			t.Errorf("%s (-schema +model):\n%s", name, diff)
		}
	}
	attributes = hostSchema(ctx).Attributes
	for name, want := range map[string]interface{ String() string }{
		"lxd": lxdType, "deploy": hostDeployType, "cores": amountType, "memory_mib": amountType,
		"storage_pools": types.MapType{ElemType: hostPoolSeenType},
	} {
		if diff := cmp.Diff(attributes[name].GetType().String(), want.String()); diff != "" {
			t.Errorf("%s of a VM host (-schema +model):\n%s", name, diff)
		}
	}
}

const anyKey = "consumer:token:secret"

func TestSettings(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		model  providerModel
		want   settings
	}{
		"Environment": {
			reason: "What the block leaves out comes from the environment, the rest from the defaults.",
			env:    map[string]string{"MAAS_API_URL": "http://env/MAAS", "MAAS_API_KEY": anyKey, "MAAS_API_CACERT": "-----BEGIN x", "MAASLXD_LEDGER": "/env/ledger.db"},
			want: settings{
				apiURL: "http://env/MAAS", apiKey: anyKey, caCert: []byte("-----BEGIN x"), ledger: "/env/ledger.db",
				owner: "", requestTimeout: defaultRequestTimeout, pollInterval: defaultPollInterval, probe: probeAuto,
			},
		},
		"BlockWins": {
			reason: "A configured value goes before the environment's.",
			env:    map[string]string{"MAAS_API_URL": "http://env/MAAS", "MAASLXD_LEDGER": "/env/ledger.db"},
			model: providerModel{
				APIURL: types.StringValue("http://block/MAAS"), Owner: types.StringValue("team"), Ledger: types.StringValue(memoryLedger),
				Probe: types.StringValue(probeMAAS), AllowInsecure: types.BoolValue(true),
				PollInterval: types.StringValue("100ms"), RequestTimeout: types.StringValue("2m"),
			},
			want: settings{
				apiURL: "http://block/MAAS", owner: "team", ledger: memoryLedger, caCert: []byte(""),
				requestTimeout: 2 * 60e9, pollInterval: 100e6, probe: probeMAAS, key: keySettings{insecure: true},
			},
		},
		"Unknown": {
			reason: "A value that is not known yet must not be replaced by the environment's.",
			env:    map[string]string{"MAAS_API_URL": "http://env/MAAS"},
			model:  providerModel{APIURL: types.StringUnknown()},
			want: settings{
				owner: "", caCert: []byte(""), unknown: true,
				requestTimeout: defaultRequestTimeout, pollInterval: defaultPollInterval, probe: probeAuto,
			},
		},
		"UnknownLedger": {
			reason: "A ledger that is named by something else is as unknown as an address.",
			env:    map[string]string{"MAASLXD_LEDGER": "/env/ledger.db"},
			model:  providerModel{Ledger: types.StringUnknown()},
			want: settings{
				owner: "", caCert: []byte(""), unknown: true,
				requestTimeout: defaultRequestTimeout, pollInterval: defaultPollInterval, probe: probeAuto,
			},
		},
		"UnknownKey": {
			reason: "So is a key that comes from elsewhere.",
			model:  providerModel{LXDClientCert: types.StringUnknown()},
			want: settings{
				owner: "", caCert: []byte(""), unknown: true,
				requestTimeout: defaultRequestTimeout, pollInterval: defaultPollInterval, probe: probeAuto,
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
				t.Fatal(describe(diags))
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settings{}, keySettings{})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettingsNameTheCAFileThatIsMissing(t *testing.T) {
	t.Parallel()
	_, diags := providerModel{CACert: types.StringValue("no/such.pem")}.settings()
	if !diags.HasError() || !diags[0].(diag.DiagnosticWithPath).Path().Equal(path.Root("ca_cert")) {
		t.Errorf("got %v, want an error at ca_cert", describe(diags))
	}
}

func TestClientNeedsMAASOnlyWhenUsed(t *testing.T) {
	t.Parallel()
	good := settings{apiURL: "http://127.0.0.1:1/MAAS", apiKey: anyKey}
	cases := map[string]struct {
		reason  string
		set     settings
		newErr  string
		useErr  string
		useless bool
	}{
		"Good":       {reason: "Making a client calls nothing, so an address where nobody listens does.", set: good},
		"Unknown":    {reason: "A plan may be made before MAAS is.", set: settings{unknown: true}, useErr: errUnknownConfig.Error()},
		"Missing":    {reason: "The error names what to set.", set: settings{}, useErr: "lacks api_url (MAAS_API_URL) and api_key (MAAS_API_KEY)"},
		"NoKey":      {reason: "Only the key is missing.", set: settings{apiURL: good.apiURL}, useErr: "lacks api_key (MAAS_API_KEY)"},
		"Malformed":  {reason: "A key that cannot be one is told at once.", set: settings{apiURL: good.apiURL, apiKey: "a:b"}, newErr: "api_key"},
		"BadAddress": {reason: "And so is an address.", set: settings{apiURL: "maas.example.com", apiKey: anyKey}, newErr: "api_url"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := newClient(tc.set, new(ledgers))
			if !mentions(err, tc.newErr) {
				t.Fatalf("%s\nnewClient: got error %v, want %q in it", tc.reason, err, tc.newErr)
			}
			if err != nil {
				return
			}
			if _, err = c.use(); !mentions(err, tc.useErr) {
				t.Errorf("%s\nuse: got error %v, want %q in it", tc.reason, err, tc.useErr)
			}
		})
	}
}

// mentions tells whether err has the text, or is nil where no text is wanted.
func mentions(err error, text string) bool {
	if text == "" || err == nil {
		return text == "" && err == nil
	}
	return strings.Contains(err.Error(), text)
}

func TestReportSetting(t *testing.T) {
	t.Parallel()
	_, err := newClient(settings{apiURL: "maas.example.com", apiKey: "a:b", caCert: []byte("no PEM")}, new(ledgers))
	var diags diag.Diagnostics
	reportSetting(&diags, err)
	var at []string
	for _, d := range diags {
		at = append(at, d.(diag.DiagnosticWithPath).Path().String())
	}
	if diff := cmp.Diff([]string{"api_url", "api_key", "ca_cert"}, at); diff != "" {
		t.Errorf("one error for each bad attribute (-want +got):\n%s", diff)
	}
	for _, line := range describe(diags) {
		if strings.Contains(line, "a:b") {
			t.Errorf("the key is in the error: %s", line)
		}
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	if got, want := userAgent("1.2.3", "1.11.4"), "terraform-provider-maaslxd/1.2.3 terraform/1.11.4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPlanWithoutMAAS refreshes a VM while the provider block is not known, or
// not there.
func TestPlanWithoutMAAS(t *testing.T) {
	for _, v := range []string{"MAAS_API_URL", "MAAS_API_KEY", "MAAS_API_CACERT", "MAASLXD_LEDGER"} {
		t.Setenv(v, "")
	}
	cases := map[string]struct {
		reason   string
		apiURL   any
		severity tfprotov6.DiagnosticSeverity
	}{
		"Unknown": {"A MAAS that is made in the same apply is no error, but worth a word.", tftypes.UnknownValue, tfprotov6.DiagnosticSeverityWarning},
		"Missing": {"What is there cannot be read without a MAAS.", nil, tfprotov6.DiagnosticSeverityError},
	}
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
				TypeName: "maaslxd_vm", CurrentState: deployedState.dynamic(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Severity != tc.severity {
				t.Fatalf("%s\ngot %+v", tc.reason, resp.Diagnostics)
			}
			kept := planned{t: t, ty: vmType(t)}
			if kept.value, err = resp.NewState.Unmarshal(vmType(t)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string(nil), kept.changed(deployedState)); diff != "" {
				t.Errorf("%s\nthe state changed (-want +got):\n%s", tc.reason, diff)
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

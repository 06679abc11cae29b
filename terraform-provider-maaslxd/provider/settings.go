package provider

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/site"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// Defaults and bounds of the provider block. MAAS's own proxy ends a call after 900 s, so a
// longer request_timeout would never be reached.
const (
	defaultRequestTimeout = 60 * time.Second
	minRequestTimeout     = time.Second
	maxRequestTimeout     = 15 * time.Minute
	defaultPollInterval   = 5 * time.Second
	minPollInterval       = 10 * time.Millisecond
	maxPollInterval       = 5 * time.Minute
)

type providerModel struct {
	APIURL         types.String `tfsdk:"api_url"`
	APIKey         types.String `tfsdk:"api_key"`
	CACert         types.String `tfsdk:"ca_cert"`
	Owner          types.String `tfsdk:"owner"`
	Ledger         types.String `tfsdk:"ledger"`
	LedgerCA       types.String `tfsdk:"ledger_ca"`
	LedgerCert     types.String `tfsdk:"ledger_cert"`
	LedgerKey      types.String `tfsdk:"ledger_key"`
	RequestTimeout types.String `tfsdk:"request_timeout"`
	PollInterval   types.String `tfsdk:"poll_interval"`
	Composer       types.String `tfsdk:"composer"`
	Probe          types.String `tfsdk:"probe"`
	OnUnfinished   types.String `tfsdk:"on_unfinished"`
	LXDClientCert  types.String `tfsdk:"lxd_client_cert"`
	LXDClientKey   types.String `tfsdk:"lxd_client_key"`
	AllowInsecure  types.Bool   `tfsdk:"allow_insecure_key"`
}

// settings reads the block. A value that is not known yet is no error.
func (m providerModel) settings() (client.Settings, diag.Diagnostics) {
	var diags diag.Diagnostics
	s := client.Settings{
		APIURL: valueOrEnv(m.APIURL, "MAAS_API_URL"),
		APIKey: valueOrEnv(m.APIKey, "MAAS_API_KEY"),
		Owner:  m.Owner.ValueString(),
		Ledger: valueOrEnv(m.Ledger, "MAASLXD_LEDGER"),
	}
	for _, v := range []types.String{
		m.APIURL, m.APIKey, m.CACert, m.Owner, m.Ledger, m.LedgerCA, m.LedgerCert, m.LedgerKey, m.RequestTimeout, m.PollInterval, m.Composer, m.Probe, m.OnUnfinished, m.LXDClientCert, m.LXDClientKey,
	} {
		s.IsUnknown = s.IsUnknown || v.IsUnknown()
	}
	s.IsUnknown = s.IsUnknown || m.AllowInsecure.IsUnknown()
	s.RequestTimeout = durationOr(m.RequestTimeout, defaultRequestTimeout)
	s.PollInterval = durationOr(m.PollInterval, defaultPollInterval)
	s.Probe = cmp.Or(m.Probe.ValueString(), client.ProbeAuto)
	s.OnUnfinished = cmp.Or(m.OnUnfinished.ValueString(), client.UnfinishedWarns)
	s.Composer = site.Choice(m.Composer.ValueString())
	s.Key = m.keySettings(&diags)
	s.LedgerAccess = m.ledgerAccess(s.Ledger, &diags)
	pem, err := readPEM(valueOrEnv(m.CACert, "MAAS_API_CACERT"))
	if err != nil {
		m.addSettingError(&diags, "ca_cert", "Cannot read the CA certificates",
			err.Error()+"\n\nca_cert (MAAS_API_CACERT) is PEM text, or the path of a file with PEM text in it.")
	}
	s.CACert = pem
	if strings.HasPrefix(s.Ledger, "~") {
		m.addSettingError(&diags, "ledger", "Only a shell can expand the path of the ledger", fmt.Sprintf(
			"%q begins with ~, which only shells replace by a home directory. Write ledger = pathexpand(%q), or the whole path.", s.Ledger, s.Ledger))
	}
	return s, diags
}

// valueOrEnv is the configured value, or that of the environment if none is configured.
func valueOrEnv(v types.String, name string) string {
	if v.IsUnknown() {
		return ""
	}
	if s := v.ValueString(); s != "" {
		return s
	}
	return os.Getenv(name)
}

// durationOr parses a duration that a validator has passed. It is the fallback if none is set.
func durationOr(v types.String, fallback time.Duration) time.Duration {
	d, err := time.ParseDuration(v.ValueString())
	if err != nil {
		return fallback
	}
	return d
}

// readPEM returns PEM text as it is, and reads the file of any other text.
func readPEM(s string) ([]byte, error) {
	if s == "" || strings.Contains(s, "-----BEGIN") {
		return []byte(s), nil
	}
	return os.ReadFile(s)
}

// reportSettingError turns errors of the settings into diagnostics.
func (m providerModel) reportSettingError(diags *diag.Diagnostics, err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			m.reportSettingError(diags, e)
		}
		return
	}
	const summary = "The provider block cannot be used"
	e, ok := errors.AsType[*api.ConfigError](err)
	if !ok {
		diags.AddError(summary, diagnostics.Sentence(err.Error()))
		return
	}
	m.addSettingError(diags, e.Field, summary, diagnostics.Sentence(e.Error())+diagnostics.Paragraph(e.Hint))
}

// settingWithVariable is an attribute whose value may be from the environment.
type settingWithVariable struct {
	attribute, variable string
	configured          types.String
}

// settingsWithVariables are all attributes whose value may be from the environment.
func (m providerModel) settingsWithVariables() []settingWithVariable {
	return append(m.ledgerServiceSettings(), []settingWithVariable{
		{"api_url", "MAAS_API_URL", m.APIURL},
		{"api_key", "MAAS_API_KEY", m.APIKey},
		{"ca_cert", "MAAS_API_CACERT", m.CACert},
		{"ledger", "MAASLXD_LEDGER", m.Ledger},
		{"lxd_client_cert", "MAASLXD_LXD_CLIENT_CERT", m.LXDClientCert},
		{"lxd_client_key", "MAASLXD_LXD_CLIENT_KEY", m.LXDClientKey},
	}...)
}

// addSettingError adds an error at an attribute of the provider block. If its value is from the
// environment, the error names the variable, and points at no attribute.
func (m providerModel) addSettingError(diags *diag.Diagnostics, attribute, summary, detail string) {
	for _, s := range m.settingsWithVariables() {
		if s.attribute == attribute && s.configured.ValueString() == "" && os.Getenv(s.variable) != "" {
			diags.AddError("The variable "+s.variable+" cannot be used", detail)
			return
		}
	}
	diags.AddAttributeError(path.Root(attribute), summary, detail)
}

// keySettings reads the attributes and the environment.
func (m providerModel) keySettings(diags *diag.Diagnostics) client.KeySettings {
	read := func(v types.String, attribute, env string) string {
		pem, err := readPEM(valueOrEnv(v, env))
		if err != nil {
			// The path is not in the message: it may be a part of a key.
			m.addSettingError(diags, attribute, "Cannot read the fleet's key pair", fmt.Sprintf(
				"%s (%s) is neither PEM text nor the path of a file that can be read.", attribute, env))
		}
		return string(pem)
	}
	k := client.KeySettings{
		Certificate:   read(m.LXDClientCert, "lxd_client_cert", "MAASLXD_LXD_CLIENT_CERT"),
		PrivateKey:    read(m.LXDClientKey, "lxd_client_key", "MAASLXD_LXD_CLIENT_KEY"),
		AllowInsecure: m.AllowInsecure.ValueBool(),
	}
	if diags.HasError() || k.Certificate == "" && k.PrivateKey == "" || m.LXDClientCert.IsUnknown() || m.LXDClientKey.IsUnknown() {
		return k
	}
	if _, err := fleetkey.Parse(k.Certificate, k.PrivateKey, time.Now()); err != nil {
		for _, spec := range diagnostics.SpecErrors(err) {
			m.reportKeyPairError(diags, spec)
		}
	}
	return k
}

// reportKeyPairError reports a half of the key pair that cannot be used. In a CI job the usual
// mistake is a variable that is empty, so a half that is not set has a text of its own.
func (m providerModel) reportKeyPairError(diags *diag.Diagnostics, unusable *engine.SpecError) {
	attribute := unusable.Field.RootName()
	for _, s := range m.settingsWithVariables() {
		if s.attribute == attribute && valueOrEnv(s.configured, s.variable) == "" {
			diags.AddError("The fleet's key pair is incomplete", fmt.Sprintf(
				"%s (%s) is not set, but the other half of the pair is. Set both. If a CI job sets the variable, check that it is not empty there.", attribute, s.variable))
			return
		}
	}
	m.addSettingError(diags, attribute, "The fleet's key pair cannot be used", diagnostics.ExplainError(unusable))
}

package provider

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/site"
)

// Defaults and bounds of the provider block. MAAS's own proxy cuts a call off
// after 900 s, so a longer request_timeout would never be reached.
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
	RequestTimeout types.String `tfsdk:"request_timeout"`
	PollInterval   types.String `tfsdk:"poll_interval"`
	Composer       types.String `tfsdk:"composer"`
	Probe          types.String `tfsdk:"probe"`
	LXDClientCert  types.String `tfsdk:"lxd_client_cert"`
	LXDClientKey   types.String `tfsdk:"lxd_client_key"`
	AllowInsecure  types.Bool   `tfsdk:"allow_insecure_key"`
}

// settings are the provider block and the environment, read and put together.
type settings struct {
	apiURL         string
	apiKey         string
	caCert         []byte // PEM
	owner          string // empty: the one that is kept beside the ledger
	ledger         string // path, memoryLedger, or empty for the default
	requestTimeout time.Duration
	pollInterval   time.Duration
	probe          string      // one of the probe constants
	composer       site.Choice // empty: the default
	key            keySettings
	userAgent      string
	unknown        bool // a value depends on something that is not made yet
}

// settings reads the block. A value that is not known yet is no error.
func (m providerModel) settings() (settings, diag.Diagnostics) {
	var diags diag.Diagnostics
	s := settings{
		apiURL: fromEnv(m.APIURL, "MAAS_API_URL"),
		apiKey: fromEnv(m.APIKey, "MAAS_API_KEY"),
		owner:  m.Owner.ValueString(),
		ledger: fromEnv(m.Ledger, "MAASLXD_LEDGER"),
	}
	for _, v := range []types.String{
		m.APIURL, m.APIKey, m.CACert, m.Owner, m.Ledger, m.RequestTimeout, m.PollInterval, m.Composer, m.Probe, m.LXDClientCert, m.LXDClientKey,
	} {
		s.unknown = s.unknown || v.IsUnknown()
	}
	s.unknown = s.unknown || m.AllowInsecure.IsUnknown()
	s.requestTimeout = durationOr(m.RequestTimeout, defaultRequestTimeout)
	s.pollInterval = durationOr(m.PollInterval, defaultPollInterval)
	s.probe = cmp.Or(m.Probe.ValueString(), probeAuto)
	s.composer = site.Choice(m.Composer.ValueString())
	s.key = m.keySettings(&diags)
	pem, err := readPEM(fromEnv(m.CACert, "MAAS_API_CACERT"))
	if err != nil {
		diags.AddAttributeError(path.Root("ca_cert"), "Cannot read the CA certificates",
			err.Error()+"\n\nca_cert (MAAS_API_CACERT) is PEM text, or the path of a file with PEM text in it.")
	}
	s.caCert = pem
	if strings.HasPrefix(s.ledger, "~") {
		diags.AddAttributeError(path.Root("ledger"), "A ledger that only a shell can find", fmt.Sprintf(
			"%q begins with ~, which only shells replace by a home directory. Write ledger = pathexpand(%q), or the whole path.", s.ledger, s.ledger))
	}
	return s, diags
}

// missing names what is needed to call MAAS and is not there.
func (s settings) missing() []string {
	var names []string
	if s.apiURL == "" {
		names = append(names, "api_url (MAAS_API_URL)")
	}
	if s.apiKey == "" {
		names = append(names, "api_key (MAAS_API_KEY)")
	}
	return names
}

// fromEnv is the configured value, or that of the environment if none is
// configured.
func fromEnv(v types.String, name string) string {
	if v.IsUnknown() {
		return ""
	}
	if s := v.ValueString(); s != "" {
		return s
	}
	return os.Getenv(name)
}

// durationOr reads a duration that a validator has passed.
func durationOr(v types.String, fallback time.Duration) time.Duration {
	d, err := time.ParseDuration(v.ValueString())
	if err != nil {
		return fallback
	}
	return d
}

// readPEM takes PEM text as it is and anything else as the path of a file.
func readPEM(s string) ([]byte, error) {
	if s == "" || strings.Contains(s, "-----BEGIN") {
		return []byte(s), nil
	}
	return os.ReadFile(s)
}

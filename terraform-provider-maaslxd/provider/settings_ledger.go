package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// ledgerAccess reads the access to a ledger service. A value that is not known yet is no
// error. If the ledger is a file, the service's settings in the environment are ignored.
func (m providerModel) ledgerAccess(address string, diags *diag.Diagnostics) client.LedgerAccess {
	if !remote.IsAddress(address) {
		for _, a := range m.ledgerServiceSettings() {
			if a.configured.ValueString() != "" && !m.Ledger.IsUnknown() {
				diags.AddAttributeError(path.Root(a.attribute), "The ledger is not a service",
					fmt.Sprintf("%s is for a ledger on another machine: ledger = \"https://HOST:PORT\".", a.attribute))
			}
		}
		return client.LedgerAccess{}
	}
	texts, files, unknown := map[string]string{}, map[string]string{}, false
	for _, a := range m.ledgerServiceSettings() {
		given := valueOrEnv(a.configured, a.variable)
		pem, err := readPEM(given)
		if string(pem) != given {
			files[a.attribute] = given
		}
		if err != nil {
			// The path is not in the message: it may be a part of a key.
			m.addSettingError(diags, a.attribute, "Cannot read the access to the ledger service",
				fmt.Sprintf("%s (%s) is neither PEM text nor the path of a file that can be read.", a.attribute, a.variable))
			unknown = true
		}
		texts[a.attribute], unknown = string(pem), unknown || a.configured.IsUnknown()
	}
	access := client.LedgerAccess{CA: texts["ledger_ca"], Certificate: texts["ledger_cert"], Key: texts["ledger_key"]}
	access.Files = remote.Files{CA: files["ledger_ca"], Certificate: files["ledger_cert"], Key: files["ledger_key"]}
	if unknown {
		return access
	}
	_, err := remote.New(remote.Config{Address: address, CA: access.CA, Certificate: access.Certificate, Key: access.Key})
	for _, spec := range diagnostics.SpecErrors(err) {
		m.addSettingError(diags, spec.Field.RootName(), "The access to the ledger service cannot be used", diagnostics.ExplainError(spec))
	}
	return access
}

// ledgerServiceSettings are all attributes for a ledger service.
func (m providerModel) ledgerServiceSettings() []settingWithVariable {
	return []settingWithVariable{
		{"ledger_ca", "MAASLXD_LEDGER_CA", m.LedgerCA},
		{"ledger_cert", "MAASLXD_LEDGER_CERT", m.LedgerCert},
		{"ledger_key", "MAASLXD_LEDGER_KEY", m.LedgerKey},
	}
}

package provider

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// ledgerAccess reads the access to a ledger service. A value that is not known yet is no
// error. If the ledger is a file, the service's settings in the environment are ignored.
func (m providerModel) ledgerAccess(address string, diags *diag.Diagnostics) client.LedgerAccess {
	if !remote.IsAddress(address) {
		for _, a := range m.ledgerAttributes() {
			if a.value.ValueString() != "" && !m.Ledger.IsUnknown() {
				diags.AddAttributeError(path.Root(a.name), "The ledger is not a service",
					fmt.Sprintf("%s is for a ledger on another machine: ledger = \"https://HOST:PORT\".", a.name))
			}
		}
		return client.LedgerAccess{}
	}
	texts, files, unknown := map[string]string{}, map[string]string{}, false
	for _, a := range m.ledgerAttributes() {
		given := valueOrEnv(a.value, a.env)
		pem, err := readPEM(given)
		if string(pem) != given {
			files[a.name] = given
		}
		if err != nil {
			// The path is not in the message: it may be a part of a key.
			diags.AddAttributeError(path.Root(a.name), "Cannot read the access to the ledger service",
				fmt.Sprintf("%s (%s) is neither PEM text nor the path of a file that can be read.", a.name, a.env))
			unknown = true
		}
		texts[a.name], unknown = string(pem), unknown || a.value.IsUnknown()
	}
	access := client.LedgerAccess{CA: texts["ledger_ca"], Certificate: texts["ledger_cert"], Key: texts["ledger_key"]}
	access.Files = remote.Files{CA: files["ledger_ca"], Certificate: files["ledger_cert"], Key: files["ledger_key"]}
	if unknown {
		return access
	}
	_, err := remote.New(remote.Config{Address: address, CA: access.CA, Certificate: access.Certificate, Key: access.Key})
	for _, spec := range diagnostics.SpecErrors(err) {
		diags.AddAttributeError(path.Root(spec.Field.RootName()), "The access to the ledger service cannot be used", diagnostics.ExplainError(spec))
	}
	return access
}

// ledgerAttribute is an attribute for a ledger service.
type ledgerAttribute struct {
	name, env string
	value     types.String
}

// ledgerAttributes are all attributes for a ledger service.
func (m providerModel) ledgerAttributes() []ledgerAttribute {
	return []ledgerAttribute{
		{"ledger_ca", "MAASLXD_LEDGER_CA", m.LedgerCA},
		{"ledger_cert", "MAASLXD_LEDGER_CERT", m.LedgerCert},
		{"ledger_key", "MAASLXD_LEDGER_KEY", m.LedgerKey},
	}
}

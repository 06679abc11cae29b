package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func TestDefaultPoolOfANewHost(t *testing.T) {
	t.Parallel()
	pools := object{"storage_pools": object{"fast": object{"size_gb": 20}}}
	cases := map[string]struct {
		reason string
		config object
		says   string
	}{
		"Default":    {reason: "LXD is set up with it.", config: object{"default_storage_pool": "default"}},
		"Described":  {reason: "It is made.", config: object{"default_storage_pool": "fast", "lxd": pools}},
		"Misspelled": {reason: "It would be found out an hour later.", config: object{"default_storage_pool": "fats", "lxd": pools}, says: "it has: fast"},
		"Nowhere":    {reason: "Only the default one is made.", config: object{"default_storage_pool": "fast"}, says: "it has: default"},
		"Adopted":    {reason: "Nobody knows what it has.", config: object{"default_storage_pool": "fast", "adopt": true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hostPlanOf(t, hostConfig.with(tc.config), nil, hostNotes{})
			checkDiagnostics(t, tc.reason, p.resp.Diagnostics, "default_storage_pool", tc.says)
		})
	}
}

func TestUserDataReplacesVendorData(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, data, says string }{
		"Own":     {reason: "MAAS has none of it.", data: "#cloud-config\ntimezone: UTC\n"},
		"Script":  {reason: "It replaces nothing.", data: "#!/bin/sh\ntrue\n"},
		"RunCmd":  {reason: "MAAS's own is dropped.", data: "#cloud-config\nsnap: {commands: [a]}\n", says: "snapd's proxy"},
		"Include": {reason: "Nobody has seen it.", data: "#include\nhttps://example.com/a\n", says: "cannot be checked"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := hostConfig.with(object{"deploy": object{"user_data_wo": tc.data, "user_data_wo_version": 1}})
			resp, err := providerserver.NewProtocol6(New("test")())().ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
				TypeName: "maaslxd_vm_host", Config: config.dynamic(t),
				ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			checkDiagnostics(t, tc.reason, resp.Diagnostics, "deploy.user_data_wo", tc.says)
		})
	}
}

// checkDiagnostics wants one diagnostic, or none if it says nothing.
func checkDiagnostics(t *testing.T, reason string, got []*tfprotov6.Diagnostic, at, says string) {
	t.Helper()
	if says == "" && len(got) == 0 {
		return
	}
	if says == "" || len(got) != 1 || dotted(got[0]) != at || !strings.Contains(got[0].Detail, says) {
		t.Errorf("%s\nwant %q at %s, got %+v", reason, says, at, got)
	}
}

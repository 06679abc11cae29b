package host

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
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
			p := planOf(t, hostConfig.WithChanges(tc.config), nil, privateState{})
			checkDiagnostics(t, tc.reason, p.Diagnostics, "default_storage_pool", tc.says)
		})
	}
}

func TestBadLXDIsSaidOnce(t *testing.T) {
	t.Parallel()
	pool := func(o object) object { return object{"storage_pools": object{"default": o}} }
	network := func(o object) object { return object{"networks": object{"lan": o}} }
	cases := map[string]struct {
		reason   string
		lxd      object
		at, says string
	}{
		"Good":      {reason: "All in bounds.", lxd: object{"listen_port": 65535, "storage_pools": object{"default": object{"driver": "lvm", "size_gb": 5}}}},
		"Driver":    {"LXD has no such one.", pool(object{"driver": "ntfs"}), "lxd.storage_pools.default.driver", `"zfs"`},
		"Size":      {"No VM fits in.", pool(object{"size_gb": 4}), "lxd.storage_pools.default.size_gb", "at least 5"},
		"SizeZero":  {"Zero is not the same as absent.", pool(object{"size_gb": 0}), "lxd.storage_pools.default.size_gb", "at least 5"},
		"Kind":      {"There are three.", network(object{"kind": "ovn"}), "lxd.networks.lan.kind", `"macvlan"`},
		"Port":      {"TCP has fewer.", object{"listen_port": 65536}, "lxd.listen_port", "between 1 and 65535"},
		"PortZero":  {"Zero is not the same as absent.", object{"listen_port": 0}, "lxd.listen_port", "between 1 and 65535"},
		"NoAddress": {"The first boot is judged as a whole.", network(object{"kind": "managed"}), "lxd.networks.lan.ipv4_address", "no address of a bridge"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDiagnostics(t, tc.reason, validateHost(t, object{"lxd": tc.lxd}), tc.at, tc.says)
		})
	}
}

// validateHost is what is said of the configuration of a host.
func validateHost(t *testing.T, o object) []*tfprotov6.Diagnostic {
	t.Helper()
	return providertest.ServeResource(t, NewResource).Validate(hostConfig.WithChanges(o))
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
			got := validateHost(t, object{"deploy": object{"user_data_wo": tc.data, "user_data_wo_version": 1}})
			checkDiagnostics(t, tc.reason, got, "deploy.user_data_wo", tc.says)
		})
	}
}

// checkDiagnostics wants one diagnostic, or none if it says nothing.
func checkDiagnostics(t *testing.T, reason string, got []*tfprotov6.Diagnostic, at, says string) {
	t.Helper()
	if says == "" && len(got) == 0 {
		return
	}
	if says == "" || len(got) != 1 || providertest.AttributePath(got[0]) != at || !strings.Contains(got[0].Detail, says) {
		t.Errorf("%s\nwant %q at %s, got %+v", reason, says, at, got)
	}
}

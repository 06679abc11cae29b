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
		"Default":    {reason: "LXD is set up with this pool.", config: object{"default_storage_pool": "default"}},
		"Described":  {reason: "The configuration makes this pool.", config: object{"default_storage_pool": "fast", "lxd": pools}},
		"Misspelled": {reason: "Otherwise the error comes an hour later.", config: object{"default_storage_pool": "fats", "lxd": pools}, says: "it has: fast"},
		"Nowhere":    {reason: "Only the default pool is made.", config: object{"default_storage_pool": "fast"}, says: "it has: default"},
		"Adopted":    {reason: "The pools of a running LXD are not known.", config: object{"default_storage_pool": "fast", "adopt": true}},
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
		"Good":      {reason: "All values are in their bounds.", lxd: object{"listen_port": 65535, "storage_pools": object{"default": object{"driver": "lvm", "size_gb": 5}}}},
		"Driver":    {"LXD has no such driver.", pool(object{"driver": "ntfs"}), "lxd.storage_pools.default.driver", `"zfs"`},
		"Size":      {"The pool is too small for a VM.", pool(object{"size_gb": 4}), "lxd.storage_pools.default.size_gb", "at least 5"},
		"SizeZero":  {"Zero is not the same as null.", pool(object{"size_gb": 0}), "lxd.storage_pools.default.size_gb", "at least 5"},
		"Kind":      {"There are three kinds.", network(object{"kind": "ovn"}), "lxd.networks.lan.kind", `"macvlan"`},
		"Port":      {"TCP has no such port.", object{"listen_port": 65536}, "lxd.listen_port", "between 1 and 65535"},
		"PortZero":  {"Zero is not the same as null.", object{"listen_port": 0}, "lxd.listen_port", "between 1 and 65535"},
		"NoAddress": {"The check of the whole first boot finds it.", network(object{"kind": "managed"}), "lxd.networks.lan.ipv4_address", "not an address with a prefix"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDiagnostics(t, tc.reason, validateHost(t, object{"lxd": tc.lxd}), tc.at, tc.says)
		})
	}
}

// validateHost returns the diagnostics for the configuration of a host.
func validateHost(t *testing.T, o object) []*tfprotov6.Diagnostic {
	t.Helper()
	return providertest.ServeResource(t, NewResource).Validate(hostConfig.WithChanges(o))
}

func TestUserDataReplacesVendorData(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, data, says string }{
		"Own":     {reason: "MAAS sets nothing of this.", data: "#cloud-config\ntimezone: UTC\n"},
		"Script":  {reason: "It replaces no setting of MAAS.", data: "#!/bin/sh\ntrue\n"},
		"RunCmd":  {reason: "It drops MAAS's own setting.", data: "#cloud-config\nsnap: {commands: [a]}\n", says: "snapd's proxy"},
		"Include": {reason: "The text is not known, so it cannot be checked.", data: "#include\nhttps://example.com/a\n", says: "cannot be checked"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := validateHost(t, object{"deploy": object{"user_data_wo": tc.data, "user_data_wo_version": 1}})
			checkDiagnostics(t, tc.reason, got, "deploy.user_data_wo", tc.says)
		})
	}
}

// checkDiagnostics wants one diagnostic with the text, or none if the text is empty.
func checkDiagnostics(t *testing.T, reason string, got []*tfprotov6.Diagnostic, at, says string) {
	t.Helper()
	if says == "" && len(got) == 0 {
		return
	}
	if says == "" || len(got) != 1 || providertest.AttributePath(got[0]) != at || !strings.Contains(got[0].Detail, says) {
		t.Errorf("%s\nwant %q at %s, got %+v", reason, says, at, got)
	}
}

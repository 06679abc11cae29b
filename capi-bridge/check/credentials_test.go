package check

import "testing"

// TestInFlags: settings are called by their flags, and what only looks like one of
// them stays.
func TestInFlags(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Check that api_key is whole.":           "Check that --maas-api-key is whole.",
		"MAAS takes an API key: set api_key.":    "MAAS takes an API key: set --maas-api-key.",
		"Check host and port in api_url (5240).": "Check host and port in --maas-endpoint (5240).",
		"lxd_client_cert: holds a private key":   "--lxd-client-cert: holds a private key",
		`accept it: server_fingerprint = "ab".`:  `accept it: server_fingerprint = "ab".`,
		"cannot read /etc/maas/ca_cert.pem":      "cannot read /etc/maas/ca_cert.pem",
		"open api_key.txt: no such file":         "open api_key.txt: no such file",
		"the pool my-api_url, and my_api_url":    "the pool my-api_url, and my_api_url",
		"no project \"lxd_client_key2\"":         "no project \"lxd_client_key2\"",
	} {
		if got := replaceSettingNames(said); got != want {
			t.Errorf("of %q: %q, want %q", said, got, want)
		}
	}
}

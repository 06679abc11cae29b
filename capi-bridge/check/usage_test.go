package check_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/setting"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// TestBadFlags: what cannot be meant is said by the flag, before anybody is asked.
func TestBadFlags(t *testing.T) {
	t.Parallel()
	pair, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	swapped := []string{"--lxd-client-cert", pair.Key, "--lxd-client-key", pair.Certificate}
	cases := map[string]struct {
		reason string
		args   []string
		says   []string
	}{
		"Missing":      {"All that is missing is said at once.", []string{"maas"}, []string{"--maas-endpoint: it is missing", "--maas-api-key: it is missing", "MAAS_API_KEY"}},
		"Wrong":        {"All that is wrong, too.", []string{"maas", "--maas-endpoint", "htp:/x", "--maas-api-key", "abc"}, []string{"--maas-endpoint: the URL must begin", "--maas-api-key: an API key has three parts"}},
		"NoTime":       {"It would end before it begins.", []string{"lxd", "--timeout", "0"}, []string{"--timeout: it must be more than 0"}},
		"Fingerprint":  {"LXD would be blamed for it.", []string{"lxd", "--address", "127.0.0.1:1", "--server-fingerprint", "xyz"}, []string{`--server-fingerprint: "xyz" is not a fingerprint`, "64 hex digits"}},
		"NoAddress":    {"With an unset variable of a shell, the local LXD would be checked.", []string{"lxd", "--address="}, []string{"--address: it is empty", "address of a remote LXD"}},
		"OfASocket":    {"A socket has no certificate to compare it with.", []string{"lxd", "--server-fingerprint", strings.Repeat("ab", 32)}, []string{"--server-fingerprint: a socket shows no certificate", "--address"}},
		"Swapped":      {"The flags are named, and not other programs' settings.", append([]string{"lxd", "--address", "127.0.0.1:1"}, swapped...), []string{"--lxd-client-cert: holds a private key", "the key as --lxd-client-key"}},
		"Backend":      {"Only what can be taken is offered.", []string{"lxd", "--storage-backend", "ZFS"}, []string{`--storage-backend: there is no storage driver "ZFS"`, "Give zfs, btrfs, lvm or dir."}},
		"Unknown":      {"There is no such flag.", []string{"vm-host", "--bogus"}, []string{"bogus", "capi-bridge check vm-host -h lists the flags"}},
		"NothingElse":  {"A word would be lost.", []string{"lxd", "node1"}, []string{`"node1" is not a flag`}},
		"NoFlagOfThis": {"It is one of another check.", []string{"vm-host", "--image", "x"}, []string{"image"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, status := runCheck(t.Context(), nil, tc.args...)
			wantOutput(t, said, status, setting.CodeUsage, tc.says...)
			if strings.Contains(said, "PRIVATE") {
				t.Errorf("%s\nit says a secret: %s", tc.reason, said)
			}
		})
	}
}

// TestHelpOf: help is had by either end.
func TestHelpOf(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help", "lxd"}, {"lxd", "-h"}, {"lxd", "--help"}} {
		said, status := runCheck(t.Context(), nil, args...)
		wantOutput(t, said, status, 0, "Checks whether an LXD is set up for VMs", "--storage-pool")
	}
}

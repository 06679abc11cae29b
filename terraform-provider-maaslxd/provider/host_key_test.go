package provider

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// newKey makes a key pair.
func newKey(t *testing.T) lxd.Key {
	t.Helper()
	key, err := lxd.LoadOrCreate(filepath.Join(t.TempDir(), lxd.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestTrustedIsWhatWasDeployed(t *testing.T) {
	t.Parallel()
	key, next := newKey(t), newKey(t)
	spec := engine.HostSpec{Credentials: key.Credentials}
	spec.LXD.TrustedCertificates = []string{key.Certificate, next.Certificate}
	noted := func(status engine.Status, fingerprint string) engine.Host {
		h := on(status)
		h.Fingerprint = fingerprint
		return h
	}
	both := []string{key.Fingerprint, next.Fingerprint}
	cases := map[string]struct {
		reason string
		host   engine.Host
		want   []string
	}{
		"Allocated": {reason: "No certificate went anywhere yet.", host: noted(engine.StatusAllocated, key.Fingerprint)},
		"Deploying": {reason: "Both go with the deployment.", host: noted(engine.StatusDeploying, key.Fingerprint), want: both},
		"Deployed":  {reason: "Both went with it.", host: noted(engine.StatusDeployed, key.Fingerprint), want: both},
		"OtherKey":  {reason: "Another run deployed it.", host: noted(engine.StatusDeployed, "aa"), want: []string{"aa"}},
		"Adopted":   {reason: "Nothing is noted on it.", host: noted(engine.StatusDeployed, ""), want: both},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := slices.Sorted(slices.Values(tc.want))
			var diags diag.Diagnostics
			made := hostState{TrustedFingerprints: types.SetUnknown(types.StringType), LXD: types.ObjectNull(lxdType.AttrTypes)}
			made.trusting(t.Context(), hostState{}, spec, tc.host, &diags)
			resumed := hostState{TrustedFingerprints: fingerprintSet(nil)}
			resumed.trustingNow(hostNotes{Pending: true}, spec, tc.host)
			for how, m := range map[string]hostState{"create": made, "update": resumed} {
				if diff := cmp.Diff(want, sortedStrings(m.TrustedFingerprints), cmpopts.EquateEmpty()); diff != "" || diags.HasError() {
					t.Errorf("%s\n%s (-want +got):\n%s%v", tc.reason, how, diff, diags)
				}
			}
		})
	}
}

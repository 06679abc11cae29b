package host

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
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// newKey makes a key pair.
func newKey(t *testing.T) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), fleetkey.KeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestTrustsKey: a pair manages a host that trusts it, by the state or by the list of its
// operator.
func TestTrustsKey(t *testing.T) {
	t.Parallel()
	key, other := newKey(t), newKey(t)
	state := func(fingerprint string, trusted ...string) hostModel {
		return hostModel{Fingerprint: types.StringValue(fingerprint), TrustedFingerprints: fingerprintSet(trusted)}
	}
	cases := map[string]struct {
		reason  string
		state   hostModel
		listed  []string
		refused bool
	}{
		"Same":      {reason: "The host was made with it.", state: state(key.Fingerprint)},
		"Next":      {reason: "The host was made to trust both.", state: state(other.Fingerprint, key.Fingerprint, other.Fingerprint)},
		"Listed":    {reason: "The operator has added it on the host.", state: state(other.Fingerprint), listed: []string{key.Certificate}},
		"Other":     {reason: "The LXD refuses it.", state: state(other.Fingerprint), refused: true},
		"OtherList": {reason: "The operator has added another one.", state: state(other.Fingerprint), listed: []string{other.Certificate}, refused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.state.checkTrustsKey(key, tc.listed...); (err != nil) != tc.refused {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}

// TestKeyExpiry warns while there is still time to change the pair.
func TestKeyExpiry(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for left, warned := range map[time.Duration]bool{10 * 365 * day: false, 61 * day: false, 59 * day: true, time.Hour: true} {
		var diags diag.Diagnostics
		key := newKey(t)
		key.NotAfter = time.Now().Add(left)
		warnExpiry(key, &diags)
		if (diags.WarningsCount() == 1) != warned || diags.HasError() {
			t.Errorf("%s before its end: %v", left, diags)
		}
	}
	var diags diag.Diagnostics
	if warnExpiry(fleetkey.Key{}, &diags); len(diags) > 0 {
		t.Errorf("a pair that does not exist yet: %v", diags)
	}
}

// TestHostRemembersItsServer: an unfinished host may be deployed anew, so the certificate in
// its state does not count.
func TestHostRemembersItsServer(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Settings{Owner: "default", IsUnknown: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &hostResource{client: c}
	state := hostModel{Name: types.StringValue("kvm1"), ID: types.StringValue("4y3h7n"), ServerFingerprint: types.StringValue("aa")}
	for pending, want := range map[bool]string{false: "aa", true: ""} {
		if got := r.ref(state, privateState{Pending: pending}).ServerFingerprint; got != want {
			t.Errorf("pending %t: it remembers %q, want %q", pending, got, want)
		}
	}
}

func TestTrustedIsWhatWasDeployed(t *testing.T) {
	t.Parallel()
	key, next := newKey(t), newKey(t)
	spec := engine.HostSpec{Credentials: key.Credentials}
	spec.LXD.TrustedCertificates = []string{key.Certificate, next.Certificate}
	noted := func(status engine.Status, fingerprint string) engine.Host {
		h := hostInStatus(status)
		h.Fingerprint = fingerprint
		return h
	}
	both := []string{key.Fingerprint, next.Fingerprint}
	cases := map[string]struct {
		reason string
		host   engine.Host
		want   []string
	}{
		"Allocated": {reason: "No host has a certificate yet.", host: noted(engine.StatusAllocated, key.Fingerprint)},
		"Deploying": {reason: "The deployment brings both.", host: noted(engine.StatusDeploying, key.Fingerprint), want: both},
		"Deployed":  {reason: "The deployment brought both.", host: noted(engine.StatusDeployed, key.Fingerprint), want: both},
		"OtherKey":  {reason: "Another run deployed it.", host: noted(engine.StatusDeployed, "aa"), want: []string{"aa"}},
		"Adopted":   {reason: "The machine notes none.", host: noted(engine.StatusDeployed, ""), want: both},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := slices.Sorted(slices.Values(tc.want))
			var diags diag.Diagnostics
			made := hostModel{TrustedFingerprints: types.SetUnknown(types.StringType), LXD: types.ObjectNull(lxdType.AttrTypes)}
			made.fillTrustedFingerprints(t.Context(), hostModel{}, spec, tc.host, &diags)
			resumed := hostModel{TrustedFingerprints: fingerprintSet(nil)}
			resumed.fillDeployedFingerprints(privateState{Pending: true}, spec, tc.host)
			for how, m := range map[string]hostModel{"create": made, "update": resumed} {
				if diff := cmp.Diff(want, values.SortedStrings(m.TrustedFingerprints), cmpopts.EquateEmpty()); diff != "" || diags.HasError() {
					t.Errorf("%s\n%s (-want +got):\n%s%v", tc.reason, how, diff, diags)
				}
			}
		})
	}
}

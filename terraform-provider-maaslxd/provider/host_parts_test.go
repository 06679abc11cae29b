package provider

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

func TestHostFieldsAreAttributes(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"machine":                         "machine",
		"selector.zone":                   "selector.zone",
		"project":                         "lxd.project",
		"bridge.name":                     "bridge.name",
		"deploy.user_data":                "deploy.user_data_wo",
		"lxd.channel":                     "lxd.channel",
		"lxd.storage_pools":               "lxd.storage_pools",
		"lxd.storage_pools.fast.driver":   `lxd.storage_pools["fast"].driver`,
		"lxd.storage_pools.a.b.ceph.pool": `lxd.storage_pools["a.b"].ceph.pool`,
		"lxd.networks.br0.1.ipv4_address": `lxd.networks["br0.1"].ipv4_address`,
		"lxd.project.name":                "lxd.project",
		"lxd.project.features.images":     `lxd.project_features["images"]`,
		"lxd.project.features":            "lxd.project_features",
		"lxd.project.limits.cpu":          `lxd.project_limits["cpu"]`,
		"lxd.profile.pool":                "lxd.profile.pool",
		"lxd.trusted_certificates[1]":     "lxd.trusted_certificates",
		"lxd_client_cert":                 "",
	} {
		at := attributePath(field)
		if at.String() != want {
			t.Errorf("%s is at %s, want %s", field, at, want)
		}
		if _, diags := hostSchema(t.Context()).TypeAtPath(t.Context(), at); want != "" && diags.HasError() {
			t.Errorf("%s is said to be at %s, where nothing is", field, at)
		}
	}
}

// mute is a probe whose LXD answers with an error, or not.
type mute struct{ err error }

// Server implements engine.Probe.
func (m *mute) Server(context.Context, engine.Endpoint, engine.Credentials, string) (engine.LXDServer, error) {
	return engine.LXDServer{Version: "5.21.3"}, m.err
}

func TestPatientProbe(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		unseen  bool
		reached bool
		known   bool
		dropped bool
		after   time.Duration
		refused bool
		err     error
	}{
		"Soon":       {reason: "LXD is being installed.", unseen: true, after: time.Minute, err: engine.ErrUnavailable},
		"Ours":       {reason: "MAAS's word is taken: nobody else made VMs there.", unseen: true, after: 6 * time.Minute},
		"Theirs":     {reason: "VMs there would be power-cycled.", after: 6 * time.Minute, refused: true, err: engine.ErrConflict},
		"WasReached": {reason: "It can be reached, and will be again.", unseen: true, reached: true, after: time.Hour, err: engine.ErrUnavailable},
		"Known":      {reason: "It has to show its certificate.", unseen: true, known: true, after: time.Hour, err: engine.ErrUnavailable},
		"Swallowed":  {reason: "A firewall drops what goes there, and will go on to.", unseen: true, dropped: true, after: 10 * time.Second},
		"SwallowedTheirs": {
			reason: "VMs there would be power-cycled.", dropped: true, after: 10 * time.Second, refused: true, err: engine.ErrConflict,
		},
		"SwallowedLater": {reason: "It can be reached, and boots anew.", unseen: true, reached: true, dropped: true, after: time.Minute, err: engine.ErrUnavailable},
		"ReachedElse":    {reason: "That holds for theirs, too.", reached: true, after: time.Hour, err: engine.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.unseen {
					ctx = withUnseen(ctx)
				}
				lxd := &mute{}
				p := newPatientProbe(lxd)
				p.drops = func(context.Context, string) bool { return tc.dropped }
				e := engine.Endpoint{Address: "https://10.0.0.5:8443", Project: "maas"}
				pinned := ""
				if tc.known {
					pinned = "aa"
				}
				ask := func() error { _, err := p.Server(ctx, e, engine.Credentials{}, pinned); return err }
				if tc.reached {
					if err := ask(); err != nil {
						t.Fatal(err)
					}
				}
				lxd.err = fmt.Errorf("nothing listens: %w", engine.ErrUnavailable)
				for n := range swallowedTries - 1 {
					if err := ask(); !errors.Is(err, engine.ErrUnavailable) {
						t.Fatalf("want silence %d waited for, got %v", n+1, err)
					}
				}
				time.Sleep(tc.after)
				err := ask()
				var refusal *engine.Refusal
				if !errors.Is(err, tc.err) || errors.As(err, &refusal) != tc.refused {
					t.Errorf("%s\nwant %v, got %v", tc.reason, tc.err, err)
				}
			})
		})
	}
}

func TestKeyDoesNotTravelInClear(t *testing.T) {
	t.Parallel()
	for url, refused := range map[string]bool{
		"https://maas.example.com:5443/MAAS": false,
		"http://maas.example.com:5240/MAAS":  true,
		"HTTP://10.0.0.2/MAAS":               true,
		"http://127.0.0.1:5240/MAAS":         false,
		"http://localhost:5240/MAAS":         false,
		"http://[::1]:5240/MAAS":             false,
	} {
		for _, insecure := range []bool{false, true} {
			k := fleetKey{apiURL: url, settings: keySettings{insecure: insecure}}
			if err := k.mayTravel(); (err != nil) != (refused && !insecure) {
				t.Errorf("%s, allowed %v: %v", url, insecure, err)
			}
		}
	}
}

func TestFleetKeyBesideTheLedger(t *testing.T) {
	for _, name := range []string{"CI", "TF_IN_AUTOMATION"} {
		t.Setenv(name, "") // the tests may run where one of them is set
	}
	folder := t.TempDir()
	k := fleetKey{ledger: &lateLedger{path: filepath.Join(folder, "ledger.db")}}
	if _, err := k.load(); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("want none before one is made, got %v", err)
	}
	made, err := k.loadOrCreate(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.load(); err != nil || again.Fingerprint != made.Fingerprint {
		t.Errorf("want the same pair again, got %v, %v", again.Fingerprint, err)
	}
	if next, err := k.next(); err != nil || len(next) != 0 {
		t.Errorf("want none that follows, got %d, %v", len(next), err)
	}
	after, err := lxd.LoadOrCreate(filepath.Join(folder, lxd.NextFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if next, err := k.next(); err != nil || len(next) != 1 || next[0] != after.Certificate {
		t.Errorf("want the one that follows, got %v, %v", next, err)
	}
	given := fleetKey{ledger: &lateLedger{path: memoryLedger}, settings: keySettings{certificate: made.Certificate, private: made.Key}}
	if key, err := given.loadOrCreate(func() error { return nil }); err != nil || key.Fingerprint != made.Fingerprint {
		t.Errorf("want the given pair without a ledger, got %v", err)
	}
}

// TestMoveFromCanonical takes over the state of another provider's VM host by
// its id alone.
func TestMoveFromCanonical(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, source, kind, state string
		want                        string // of the diagnostics
	}{
		"VMHost":     {reason: "Whatever else is in it.", source: "registry.terraform.io/canonical/maas", kind: "maas_vm_host", state: `{"id":"7","type":"lxd","power_pass":"x"}`},
		"NoNumber":   {reason: "A state that nobody can read.", source: "registry.terraform.io/canonical/maas", kind: "maas_vm_host", state: `{"id":"seven"}`, want: "import it"},
		"OtherKind":  {reason: "No VM host.", source: "registry.terraform.io/canonical/maas", kind: "maas_tag", state: `{"id":"7"}`, want: "Unable to Move Resource State"},
		"OtherOwner": {reason: "No provider of MAAS.", source: "registry.terraform.io/else/where", kind: "maas_vm_host", state: `{"id":"7"}`, want: "Unable to Move Resource State"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := providerserver.NewProtocol6(New("test")())().MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
				SourceProviderAddress: tc.source, SourceTypeName: tc.kind, TargetTypeName: "maaslxd_vm_host",
				SourceState: &tfprotov6.RawState{JSON: []byte(tc.state)},
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for _, d := range resp.Diagnostics {
				said.WriteString(d.Summary + " " + d.Detail)
			}
			if (tc.want == "") != (said.Len() == 0) || !strings.Contains(said.String(), tc.want) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, said.String())
			}
			if tc.want == "" && resp.TargetState == nil {
				t.Errorf("%s\nthere is no state", tc.reason)
			}
		})
	}
}

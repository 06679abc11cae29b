package client

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

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
			k := FleetKey{apiURL: url, settings: KeySettings{AllowInsecure: insecure}}
			if err := k.CheckTransport(); (err != nil) != (refused && !insecure) {
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
	k := FleetKey{ledger: &lazyLedger{path: filepath.Join(folder, "ledger.db")}}
	if _, err := k.Load(); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("want none before one is made, got %v", err)
	}
	made, err := k.LoadOrCreate(func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.Load(); err != nil || again.Fingerprint != made.Fingerprint {
		t.Errorf("want the same pair again, got %v, %v", again.Fingerprint, err)
	}
	if next, err := k.NextCertificates(); err != nil || len(next) != 0 {
		t.Errorf("want none that follows, got %d, %v", len(next), err)
	}
	after, err := fleetkey.LoadOrCreate(filepath.Join(folder, fleetkey.NextKeyFile), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if next, err := k.NextCertificates(); err != nil || len(next) != 1 || next[0] != after.Certificate {
		t.Errorf("want the one that follows, got %v, %v", next, err)
	}
	given := FleetKey{ledger: &lazyLedger{path: MemoryLedger}, settings: KeySettings{Certificate: made.Certificate, PrivateKey: made.Key}}
	if key, err := given.LoadOrCreate(func() error { return nil }); err != nil || key.Fingerprint != made.Fingerprint {
		t.Errorf("want the given pair without a ledger, got %v", err)
	}
}

package setup

import (
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// makeKey makes a client's key pair.
func makeKey(t *testing.T) fleetkey.Key {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(t.TempDir()+"/"+fleetkey.KeyFile, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func fingerprintOf(t *testing.T, certificate string) string {
	t.Helper()
	f, err := fleetkey.Fingerprint(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

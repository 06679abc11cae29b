package fleetkey

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// makeKey makes a pair as LoadOrCreate does.
func makeKey(t *testing.T) Key {
	t.Helper()
	key, err := LoadOrCreate(t.TempDir()+"/"+KeyFile, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func fingerprintOf(t *testing.T, certificate string) string {
	t.Helper()
	f, err := Fingerprint(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pairs puts a colon behind every two digits.
func pairs(hex string) string {
	var b strings.Builder
	for n, digit := range hex {
		b.WriteRune(digit)
		if n%2 == 1 {
			b.WriteByte(':')
		}
	}
	return b.String()
}

// errorWithHint is all that an error shows to people.
func errorWithHint(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*engine.SpecError](err); ok {
		text += "\n" + e.Hint
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		text += "\n" + e.Hint
	}
	return text
}

// noSecret searches for each line of a private key.
func noSecret(t *testing.T, text string, key Key) {
	t.Helper()
	for line := range strings.Lines(key.Key) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && strings.Contains(text, line) {
			t.Errorf("a line of the private key is shown:\n%s", text)
		}
	}
}

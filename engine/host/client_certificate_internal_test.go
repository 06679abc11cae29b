package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestUntrustedError: the error keeps its cause, and says nothing twice.
func TestUntrustedError(t *testing.T) {
	t.Parallel()
	want, at := engine.HostSpec{Name: "kvm-1", Project: "maas"}, engine.Endpoint{Address: "https://10.0.0.5:8443"}
	same := engine.UntrustedText("10.0.0.5:8443", want.Credentials.Fingerprint()) // the client of LXD writes no scheme
	for name, tc := range map[string]struct {
		reason string
		cause  error
		also   string
	}{
		"Same":  {"The LXD client says the same.", &engine.Error{Type: engine.HostUnavailable, Message: same, Err: engine.ErrForbidden}, ""},
		"Other": {"What else the cause says is kept.", &engine.Error{Type: engine.HostUnavailable, Message: "LXD answered 403", Err: engine.ErrForbidden}, "LXD answered 403"},
	} {
		err := untrustedError(want, at, tc.cause)
		if text := err.Error(); strings.Count(text, "does not trust the client certificate") != 1 || !strings.Contains(text, "kvm-1") || !strings.Contains(text, tc.also) {
			t.Errorf("%s: %s\ngot %q", name, tc.reason, text)
		}
		if failure, ok := errors.AsType[*engine.Error](err); !ok || !strings.Contains(failure.Hint, "openssl x509 -in") {
			t.Errorf("%s: %v has no hint how to make the file", name, err)
		}
		if !errors.Is(err, engine.ErrForbidden) {
			t.Errorf("%s: %v does not wrap the cause", name, err)
		}
	}
}

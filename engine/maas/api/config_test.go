package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

func TestURL(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		url    string
		want   string // empty: refused
	}{
		"Whole":      {"As MAAS prints it.", "http://maas:5240/MAAS", "http://maas:5240/MAAS/api/2.0/"},
		"Slash":      {"Often pasted with a slash.", "http://maas:5240/MAAS/", "http://maas:5240/MAAS/api/2.0/"},
		"NoMAAS":     {"The path is always the same, so it may be left out.", "https://maas.example.com", "https://maas.example.com/MAAS/api/2.0/"},
		"RootSlash":  {"A bare slash is no path.", "http://maas:5240/", "http://maas:5240/MAAS/api/2.0/"},
		"API":        {"The CLI's login wants the API's address.", "http://maas:5240/MAAS/api/2.0/", "http://maas:5240/MAAS/api/2.0/"},
		"APIOnly":    {"As it stands behind some proxies.", "http://maas:5240/api/2.0", "http://maas:5240/MAAS/api/2.0/"},
		"Below":      {"A proxy may put MAAS below a path.", "https://example.com/infra/MAAS", "https://example.com/infra/MAAS/api/2.0/"},
		"IPv6":       {"Addresses of both families.", "http://[::1]:5240/MAAS", "http://[::1]:5240/MAAS/api/2.0/"},
		"Spaces":     {"A variable read from a file ends in a newline.", " http://maas:5240/MAAS\n", "http://maas:5240/MAAS/api/2.0/"},
		"Empty":      {"There is no default MAAS.", "", ""},
		"NoScheme":   {"host:port parses as scheme:opaque.", "maas:5240/MAAS", ""},
		"NumericIP":  {"A first path segment with a colon does not parse.", "192.0.2.1:5240/MAAS", ""},
		"OtherKind":  {"Only HTTP is spoken.", "ftp://maas/MAAS", ""},
		"NoHost":     {"A path alone is no address.", "http:///MAAS", ""},
		"Credential": {"A URL is printed in many places.", "http://admin:hunter2@maas:5240/MAAS", ""},
		"Query":      {"Routes are appended to it.", "http://maas:5240/MAAS?op=x", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := parseURL(tc.url)
			if tc.want == "" {
				wantConfigError(t, err, "api_url")
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if u.String() != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, u, tc.want)
			}
		})
	}
}

func TestParseAPIKey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		key    string
		want   apiKey
	}{
		"Whole":      {"Three parts.", "aaaa:bbbb:cccc", apiKey{"aaaa", "bbbb", "cccc"}},
		"Newline":    {"A key read from a file ends in a newline.", "aaaa:bbbb:cccc\n", apiKey{"aaaa", "bbbb", "cccc"}},
		"Empty":      {"A key is required.", " ", apiKey{}},
		"TwoParts":   {"Half of it was copied.", "topsecret1:topsecret2", apiKey{}},
		"FourParts":  {"More than a key was copied.", "topsecret1:b:c:d", apiKey{}},
		"EmptyPart":  {"An OAuth signature with a secret only is useless.", "::topsecret1", apiKey{}},
		"InnerSpace": {"It would break the header.", "topsecret1:b b:c", apiKey{}},
		"Control":    {"It would break the header.", "topsecret1:b\x00b:c", apiKey{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := parseKey(tc.key)
			if tc.want == (apiKey{}) {
				wantConfigError(t, err, "api_key")
				return
			}
			if err != nil || key != tc.want {
				t.Errorf("%s: got %v, %v", tc.reason, key, err)
			}
		})
	}
}

func wantConfigError(t *testing.T, err error, field string) {
	t.Helper()
	bad, ok := errors.AsType[*ConfigError](err)
	if !ok || bad.Field != field || bad.Message == "" || bad.Hint == "" {
		t.Fatalf("got %#v, want a ConfigError of %s with message and hint", err, field)
	}
	if !errors.Is(err, engine.ErrInvalid) {
		t.Error("it is not ErrInvalid")
	}
	for _, secret := range []string{"topsecret", "hunter2"} {
		if strings.Contains(err.Error()+bad.Hint, secret) {
			t.Errorf("it repeats a secret: %v", err)
		}
	}
}

func TestNewNamesAllBadFields(t *testing.T) {
	t.Parallel()
	_, err := New(Config{URL: "maas", APIKey: "x", CACert: []byte("-----BEGIN NONSENSE-----")})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("got %v, want joined errors", err)
	}
	var fields []string
	for _, err := range joined.Unwrap() {
		if bad, ok := errors.AsType[*ConfigError](err); ok {
			fields = append(fields, bad.Field)
		}
	}
	if diff := cmp.Diff([]string{"api_url", "api_key", "ca_cert"}, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

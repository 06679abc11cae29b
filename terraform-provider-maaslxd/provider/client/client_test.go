package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

func TestOwnerWithoutConfiguration(t *testing.T) {
	t.Parallel()
	c, err := New(Settings{IsUnknown: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key := c.Owner.VMKey("web"); !strings.HasSuffix(string(key), "/web") {
		t.Errorf("the key is %q", key)
	}
	if _, err := c.Backend(); !errors.Is(err, ErrUnknownConfig) {
		t.Errorf("want no client to use, got %v", err)
	}
}

const anyKey = "consumer:token:secret"

func TestClientNeedsMAASOnlyWhenUsed(t *testing.T) {
	t.Parallel()
	good := Settings{APIURL: "http://127.0.0.1:1/MAAS", APIKey: anyKey}
	cases := map[string]struct {
		reason  string
		set     Settings
		newErr  string
		useErr  string
		useless bool
	}{
		"Good":       {reason: "Making a client makes no call, so an address where nobody listens will do.", set: good},
		"Unknown":    {reason: "A plan may be made before MAAS is.", set: Settings{IsUnknown: true}, useErr: ErrUnknownConfig.Error()},
		"Missing":    {reason: "The error names what to set.", set: Settings{}, useErr: "lacks api_url (MAAS_API_URL) and api_key (MAAS_API_KEY)"},
		"NoKey":      {reason: "Only the key is missing.", set: Settings{APIURL: good.APIURL}, useErr: "lacks api_key (MAAS_API_KEY)"},
		"Malformed":  {reason: "A malformed key is reported at once.", set: Settings{APIURL: good.APIURL, APIKey: "a:b"}, newErr: "api_key"},
		"BadAddress": {reason: "An invalid address is reported at once, too.", set: Settings{APIURL: "maas.example.com", APIKey: anyKey}, newErr: "api_url"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := New(tc.set, new(Ledgers))
			if !matchesErrorText(err, tc.newErr) {
				t.Fatalf("%s\nNew: got error %v, want %q in it", tc.reason, err, tc.newErr)
			}
			if err != nil {
				return
			}
			_, err = c.Backend()
			if !matchesErrorText(err, tc.useErr) {
				t.Errorf("%s\nUse: got error %v, want %q in it", tc.reason, err, tc.useErr)
			}
			if err != nil && !strings.Contains(diagnostics.ExplainError(err), "provider block") {
				t.Errorf("%s\nUse: %q has no hint", tc.reason, diagnostics.ExplainError(err))
			}
		})
	}
}

// matchesErrorText tells whether err contains the text. It must be nil if the text is empty.
func matchesErrorText(err error, text string) bool {
	if text == "" || err == nil {
		return text == "" && err == nil
	}
	return strings.Contains(err.Error(), text)
}

// TestWarnUnconfigured: a shell without the variables of MAAS plans as if all were well, so a plan warns
// once. A provider block that depends on another resource is not known yet, which is no mistake.
func TestWarnUnconfigured(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		settings Settings
		want     int
	}{
		"Missing": {Settings{}, 1},
		"Unknown": {Settings{IsUnknown: true}, 0},
	} {
		c, err := New(tc.settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		var diags diag.Diagnostics
		c.NotePlanned("VM ", types.StringValue("web"), ActionChange, &diags)
		c.NotePlanned("VM ", types.StringValue("api"), ActionCreate, &diags)
		if diags.HasError() || diags.WarningsCount() != tc.want {
			t.Errorf("%s: %v", title, diags)
		}
	}
}

package cloudinit_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestOutrunsMAAS: a channel whose LXD is too new for MAAS is recognized, but valid.
func TestOutrunsMAAS(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		channel string
		want    bool
	}{
		"Default": {"The default is safe.", "", false},
		"LTS":     {"So is the one before.", "5.0/stable", false},
		"Old":     {"It still takes security.secureboot.", "6.6/stable", false},
		"Six":     {"It moves past 6.7.", "6/stable", true},
		"Latest":  {"So does this.", "latest/edge", true},
		"Gone":    {"The first without security.secureboot.", "6.7/stable", true},
		"Seven":   {"Newer still.", "7/stable", true},
		"Ten":     {"Compared as a number.", "10.0/edge", true},
		"Branch":  {"A branch changes nothing.", "5.21/stable/fix-7", false},
		"Named":   {"A track that is no number tells nothing.", "core/stable", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cloudinit.IsTooNewForMAAS(tc.channel); got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
			if err := withTestCertificate(t, cloudinit.Host{Channel: tc.channel, Now: testTime}).Validate(); err != nil {
				t.Errorf("%s\nit is refused: %v", tc.reason, err)
			}
		})
	}
}

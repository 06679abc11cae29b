package main

import "testing"

func TestShorten(t *testing.T) {
	t.Parallel()
	const want = `{"format_version":"1.0","provider_schemas":{"maaslxd":{"provider":{"version":0}}}}`
	cases := map[string]struct {
		reason string
		have   string
		fails  bool
	}{
		"Terraform": {
			reason: "Terraform's registry is cut off.",
			have:   `{"format_version":"1.0","provider_schemas":{"registry.terraform.io/maaslxd/maaslxd":{"provider":{"version":0}}}}`,
		},
		"OpenTofu": {
			reason: "OpenTofu's registry is cut off, and builtin providers with it.",
			have: `{"format_version":"1.0","provider_schemas":{"terraform.io/builtin/terraform":{},` +
				`"registry.opentofu.org/maaslxd/maaslxd":{"provider":{"version":0}}}}`,
		},
		"Missing": {
			reason: "Documentation without our provider would be empty.",
			have:   `{"format_version":"1.0","provider_schemas":{"terraform.io/builtin/terraform":{}}}`,
			fails:  true,
		},
		"NoJSON": {
			reason: "What is no JSON is not passed on.",
			have:   `Error: no`,
			fails:  true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := shorten([]byte(tc.have))
			if tc.fails != (err != nil) {
				t.Fatalf("%s\nerror is %v", tc.reason, err)
			}
			if !tc.fails && string(got) != want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, want)
			}
		})
	}
}

package client

import (
	"context"
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

func TestSameSubnet(t *testing.T) {
	t.Parallel()
	known := []engine.Subnet{
		{ID: 1, Name: "lan", CIDR: "10.0.0.0/24"}, {ID: 2, Name: "twice", CIDR: "10.1.0.0/24"},
		{ID: 3, Name: "twice", CIDR: "10.2.0.0/24"}, {ID: 4, Name: "10.0.0.0/24", CIDR: "10.3.0.0/24"},
	}
	cases := map[string]struct {
		reason    string
		want, had types.String
		err       error
		same      bool
	}{
		"Equal":     {"Nobody has to be asked.", types.StringValue("x"), types.StringValue("x"), errors.New("away"), true},
		"NameCIDR":  {"A name and its CIDR.", types.StringValue("10.0.0.0/24"), types.StringValue("lan"), nil, true},
		"Other":     {"Two subnets.", types.StringValue("10.1.0.0/24"), types.StringValue("lan"), nil, false},
		"Ambiguous": {"A name of two subnets is neither.", types.StringValue("twice"), types.StringValue("10.1.0.0/24"), nil, false},
		"CIDRFirst": {"A CIDR is a CIDR, whatever a subnet is called.", types.StringValue("10.0.0.0/24"), types.StringValue("10.3.0.0/24"), nil, false},
		"Gone":      {"Two that MAAS does not know are not the same.", types.StringValue("a"), types.StringValue("b"), nil, false},
		"Imported":  {"An unknown past is no past.", types.StringValue("lan"), types.StringNull(), nil, false},
		"Unknown":   {"Nor is an unknown future.", types.StringUnknown(), types.StringValue("lan"), nil, false},
		"NoMAAS":    {"Where MAAS cannot be asked, texts are compared.", types.StringValue("10.0.0.0/24"), types.StringValue("lan"), errors.New("away"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := func(context.Context) ([]engine.Subnet, error) { return known, tc.err }
			if got := SameSubnet(t.Context(), list, tc.want, tc.had); got != tc.same {
				t.Errorf("%s\ngot %v, want %v", tc.reason, got, tc.same)
			}
		})
	}
}

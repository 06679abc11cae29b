package host

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

// TestUpgradeOfState: in version 0, address was where the LXD of any host listens. A host with
// another source must lose that address, or each would be replaced.
func TestUpgradeOfState(t *testing.T) {
	t.Parallel()
	const listens = "https://10.0.0.5:8443"
	cases := map[string]struct{ reason, state, address string }{
		"Machine":  {"Its source is a machine.", `{"id":"4y3h7n","machine":"node1","address":"` + listens + `"}`, ""},
		"Selector": {"Its source is a selector.", `{"id":"4y3h7n","selector":{"zone":"az1"},"address":"` + listens + `"}`, ""},
		"Address":  {"Its source is an address.", `{"id":"4y3h7n","address":"` + listens + `"}`, listens},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := providertest.ServeResource(t, NewResource)
			resp, err := served.Server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
				TypeName: served.Name, Version: 0, RawState: &tfprotov6.RawState{JSON: []byte(tc.state)},
			})
			if err != nil || len(resp.Diagnostics) > 0 {
				t.Fatalf("%s\ngot %v, %v", tc.reason, err, resp.Diagnostics)
			}
			state, err := resp.UpgradedState.Unmarshal(served.Type)
			if err != nil {
				t.Fatal(err)
			}
			var attributes map[string]tftypes.Value
			if err := state.As(&attributes); err != nil {
				t.Fatal(err)
			}
			var address, lxd *string
			if err := attributes["address"].As(&address); err != nil {
				t.Fatal(err)
			}
			if err := attributes["lxd_address"].As(&lxd); err != nil {
				t.Fatal(err)
			}
			if (address != nil) != (tc.address != "") || lxd == nil || *lxd != listens {
				t.Errorf("%s\ngot the address %v and the LXD at %v", tc.reason, address, lxd)
			}
		})
	}
}

package sim_test

import (
	"encoding/base64"
	"testing"
)

// TestSwap: a deployed system has swap, unless swap_size is 0 and the image is Ubuntu's,
// or user-data switches swap off.
func TestSwap(t *testing.T) {
	t.Parallel()
	off := "user_data=" + base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\nswapoff -a\n"))
	cases := map[string]struct {
		reason string
		form   string // of the PUT
		deploy []string
		on     bool
	}{
		"Untold":    {"MAAS leaves it to curtin, which makes /swap.img.", "", []string{"distro_series=ubuntu/noble"}, true},
		"Zero":      {"swap_size=0 is kept.", "swap_size=0", []string{"distro_series=ubuntu/noble"}, false},
		"Some":      {"Any size but 0 makes swap.", "swap_size=1G", []string{"distro_series=ubuntu/noble"}, true},
		"Custom":    {"MAAS does not pass it on for other systems.", "swap_size=0", []string{"distro_series=custom/k8s"}, true},
		"CustomOff": {"The user-data can.", "", []string{"distro_series=custom/k8s", off}, false},
		"InMemory":  {"A system in memory has no disk for swap.", "", []string{"distro_series=ubuntu/noble", "ephemeral_deploy=true"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := oneHost()
			m.Images = []string{"ubuntu/noble", "custom/k8s"}
			c := newMAASClient(t, m)
			id := c.compose("hostname=x")
			c.readMachine(id)
			if tc.form != "" {
				c.mustCall("PUT", "machines/"+id+"/", tc.form)
			}
			c.mustCall("POST", "machines/"+id+"/?op=deploy", tc.deploy...)
			c.readMachine(id)
			if v := c.readMachine(id); v["status_name"] != "Deployed" {
				t.Fatalf("it is %v", v["status_name"])
			}
			if got, _ := c.sim.Machine(id); got.SwapOn != tc.on {
				t.Errorf("%s\nswap is %v", tc.reason, got.SwapOn)
			}
		})
	}
}

package gomaas

import (
	"strings"
	"testing"

	"github.com/canonical/gomaasclient/client"
	"github.com/canonical/gomaasclient/entity"
)

// refusal is a call and MAAS's error.
type refusal struct {
	reason string
	call   func(*client.Client) error
	status int
	says   string
}

// TestCallsThatMAASRefuses makes calls that the client sends in a way that MAAS itself refuses.
func TestCallsThatMAASRefuses(t *testing.T) {
	cases := map[string]refusal{
		"SSHKeys.Import": {
			"MAAS asks Launchpad, where nobody has this name.",
			func(c *client.Client) error { return errorOf(c.SSHKeys.Import("lp:nobody-at-all")) },
			400, "Unable to import SSH keys",
		},
		"Domains.SetSerial": {
			"The client forgets op=set_serial, and MAAS reads the call as one that makes a domain.",
			func(c *client.Client) error { return c.Domains.SetSerial(7) },
			400, "name",
		},
		"Machine.GetCurtinConfig": {
			"Nothing is installed on the machine.",
			func(c *client.Client) error {
				return errorOf(c.Machine.GetCurtinConfig(machineNamed(c, "metal1").SystemID))
			},
			400, "not in a deployment state",
		},
	}
	for method, call := range map[string]func(*client.Client) error{
		"LicenseKey.Get": func(c *client.Client) error { return errorOf(c.LicenseKey.Get("windows", "win2022")) },
		"LicenseKey.Update": func(c *client.Client) error {
			return errorOf(c.LicenseKey.Update("windows", "win2022", &entity.LicenseKeyParams{}))
		},
		"LicenseKey.Delete": func(c *client.Client) error { return c.LicenseKey.Delete("windows", "win2022") },
	} {
		cases[method] = refusal{"The client ends the path with a slash, and MAAS's has none (urls_api.py).", call, 404, "Unknown API endpoint"}
	}
	for method, reason := range map[string]string{
		"BootResources.Create": "not implemented", "RackController.Test": "expects struct", "RackControllers.GetPowerParameters": "expects struct",
	} {
		t.Run(method, func(t *testing.T) {
			startClient(t, func(c *client.Client) {
				if err := neverSent(c)[method]; err == nil || !strings.Contains(err.Error(), reason) {
					t.Errorf("%v, want the client to say %q without a call", err, reason)
				}
			})
		})
	}
	for method, tc := range cases {
		t.Run(method, func(t *testing.T) {
			startClient(t, func(c *client.Client) {
				err := tc.call(c)
				if statusOf(err) != tc.status || !strings.Contains(bodyOf(err), tc.says) {
					t.Errorf("%s: %v, want %d that says %q", tc.reason, err, tc.status, tc.says)
				}
			})
		})
	}
}

// neverSent are the errors of methods that fail in the client before they send a call.
func neverSent(c *client.Client) map[string]error {
	return map[string]error{
		"BootResources.Create":               errorOf(c.BootResources.Create(&entity.BootResourceParams{Name: "custom/one"})),
		"RackController.Test":                errorOf(c.RackController.Test("abcdef", nil)),
		"RackControllers.GetPowerParameters": errorOf(c.RackControllers.GetPowerParameters([]string{"abcdef"})),
	}
}

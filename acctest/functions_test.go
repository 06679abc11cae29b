package acctest_test

import (
	"regexp"
	"testing"
)

// TestAccFunctions applies the examples of the functions, without a MAAS.
func TestAccFunctions(t *testing.T) {
	t.Parallel()
	key, err := fleetKey()
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{
		"parse_id":         `system_ids = \[\s+"4y3h7n",\s+"8wbxqe",\s+\]`,
		"provider_id":      `provider_id = "maas-lxd://az1/4y3h7n"`,
		"lxd_cloud_config": `(?s)user_data = <<-?EOT.*MIME-Version: 1.0.*#cloud-config.*source: /dev/disk/by-id/nvme-1.*BEGIN CERTIFICATE`,
	}
	for _, name := range fileNames(t, "../examples/functions") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, "")
			w.writeFile(t, "fleet.crt", key.Certificate)
			w.copyRepositoryFiles(t, "examples/functions/"+name+"/function.tf")
			out := w.run(t, "apply", "-auto-approve", "-no-color")
			if wants[name] == "" || !regexp.MustCompile(wants[name]).MatchString(out) {
				t.Errorf("want %q in:\n%s", wants[name], out)
			}
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
		})
	}
}

// TestAccFunctionsBadInput wants one clear error for each case, which names the
// wrong argument.
func TestAccFunctionsBadInput(t *testing.T) {
	t.Parallel()
	config := func(lxd string) string { return `lxd_cloud_config(` + lxd + `)` }
	cases := map[string]struct{ reason, call, want string }{
		"Kind":         {"A providerID has only two kinds.", `provider_id("pod", "az1", "4y3h7n")`, `"kind" value must be one of "vm" "machine"`},
		"NoZone":       {"A providerID contains the zone.", `provider_id("vm", "", "4y3h7n")`, `"zone" the zone is empty`},
		"NoSystemID":   {"The text could not be parsed again.", `provider_id("vm", "az1", "web 1")`, `"system_id" is no system id of MAAS`},
		"NullZone":     {"A zone cannot be null.", `provider_id("vm", null, "4y3h7n")`, `argument must not be null`},
		"Empty":        {"An empty text names no machine.", `parse_id("")`, `"id" names no machine of MAAS web-1.example.com`},
		"Stranger":     {"The Node belongs to another provider.", `parse_id("aws:///us-east-1a/i-0123")`, `is not of MAAS`},
		"Blank":        {"No name has a space.", `parse_id("web 1")`, `names no machine of MAAS`},
		"NoObject":     {"The settings are an object with attribute names.", config(`"zfs"`), `lxd must be an object`},
		"Typo":         {"Without an error, a misspelled attribute would have no effect.", config(`{ storage_pool = {} }`), `lxd has no attribute "storage_pool". Known: channel`},
		"DeepTypo":     {"Without an error, a misspelled attribute of an element would have no effect.", config(`{ storage_pools = { fast = { drvier = "zfs" } } }`), `lxd.storage_pools["fast"] has no attribute "drvier"`},
		"NoNumber":     {"A port is a number.", config(`{ listen_port = "https" }`), `lxd.listen_port must be a whole number`},
		"NoCertified":  {"Without a trusted certificate, nobody could use the host.", config(`{}`), `trusted_certificates is empty`},
		"BadCertified": {"The text is the name of a file and not a certificate.", config(`{ trusted_certificates = ["fleet.crt"] }`), `trusted_certificates holds no certificate`},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, "output \"x\" {\n  value = provider::maaslxd::"+tc.call+"\n}\n")
			cmd, out := w.command(t.Context(), "plan", "-no-color")
			if err := cmd.Run(); err == nil || !wordsPattern(tc.want).MatchString(unwrapMessage(out.String())) {
				t.Errorf("%s\nwant an error with %q, got %v:\n%s", tc.reason, tc.want, err, out)
			}
		})
	}
}

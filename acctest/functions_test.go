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
		"Kind":         {"There are two.", `provider_id("pod", "az1", "4y3h7n")`, `"kind" value must be one of "vm" "machine"`},
		"NoZone":       {"It is a part of the text.", `provider_id("vm", "", "4y3h7n")`, `"zone" the zone is empty`},
		"NoSystemID":   {"It could not be read back.", `provider_id("vm", "az1", "web 1")`, `"system_id" is no system id of MAAS`},
		"NullZone":     {"Null is no zone.", `provider_id("vm", null, "4y3h7n")`, `argument must not be null`},
		"Empty":        {"Nothing names no machine.", `parse_id("")`, `"id" names no machine of MAAS web-1.example.com`},
		"Stranger":     {"Another provider's Node.", `parse_id("aws:///us-east-1a/i-0123")`, `is not of MAAS`},
		"Blank":        {"No name has blanks.", `parse_id("web 1")`, `names no machine of MAAS`},
		"NoObject":     {"Settings have names.", config(`"zfs"`), `lxd must be an object`},
		"Typo":         {"What is misspelt has no effect.", config(`{ storage_pool = {} }`), `lxd has no attribute "storage_pool". Known: channel`},
		"DeepTypo":     {"Nor has this.", config(`{ storage_pools = { fast = { drvier = "zfs" } } }`), `lxd.storage_pools["fast"] has no attribute "drvier"`},
		"NoNumber":     {"A port is one.", config(`{ listen_port = "https" }`), `lxd.listen_port must be a whole number`},
		"NoCertified":  {"Nobody could use the host.", config(`{}`), `trusted_certificates is empty`},
		"BadCertified": {"It is no certificate.", config(`{ trusted_certificates = ["fleet.crt"] }`), `trusted_certificates holds no certificate`},
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
